package agents

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/sessions"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows/flow"
)

// RecordSession records a session that has ended, in one request. It appends the events to the ledger and closes the
// session at once. A repeated delivery returns the same episode.
func RecordSession(ctx workflow.Context, req api.RecordRequest) (api.SessionResult, error) {
	digest := api.RecordDigest(req) //workflowcheck:ignore: encoding a struct gives the same bytes every time
	if err := flow.AnswerWhose(ctx, digest, flow.Reading(api.RecordDigest)); err != nil {
		return api.SessionResult{}, err
	}
	show := flow.Display{Lean: true}
	show.Begin(ctx, sessionOpen, "appending", req.Principal)
	if err := flow.Strict(ctx, &req); err != nil {
		return api.SessionResult{}, err
	}
	local := workflow.WithLocalActivityOptions(ctx, flow.SessionOptions("append the session"))
	ref := req.SessionRef
	var opened sessions.State
	err := workflow.ExecuteLocalActivity(local, sessioning.OpenSession,
		api.SessionInput{SessionRef: ref}).Get(ctx, &opened)
	if err != nil {
		return api.SessionResult{}, err
	}
	var out sessions.AppendResult
	err = workflow.ExecuteLocalActivity(local, sessioning.AppendSessionEvents, sessions.AppendRequest{Session: ref,
		Known: opened.Changed, Parts: [][]ledger.Event{req.Events}}).Get(ctx, &out)
	if err != nil {
		return api.SessionResult{}, err
	}
	in := sessions.CloseRequest{FirstSeq: out.State.FirstSeq, Why: session.Finished, Handed: true}
	in.SessionRef = ref
	refused := out.Parts[0].Refused
	if refused == nil {
		in.Outcome = req.Outcome
	} else if out.State.Events > 0 { // it was open before
		return api.SessionResult{}, flow.InvalidRequest(refused)
	}
	show.Show(ctx, sessionClosing, "making the episode")
	var result api.SessionResult
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.CloseSessionOptions()),
		sessioning.CloseSession, in).
		Get(ctx, &result)
	if err == nil && refused != nil {
		err = flow.InvalidRequest(refused)
	}
	return result, err
}
