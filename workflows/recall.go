package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

var recalling *activities.Recalling

// changeInvalidRecall marks runs that show their principal before they refuse an invalid request.
const changeInvalidRecall = "show-invalid-recall"

// Recall is the read path for clients that speak only Temporal; a program that reaches Postgres calls package
// recall. An invalid request fails the run with ErrTypeInvalidRequest before anything is read.
//
// The request and its answer contain content, and are in the history until it is deleted. The answer is there twice: in
// the marker of the local activity and in the result. They are encrypted if the worker has a payload key. With
// ids_only, the answer has no texts.
func Recall(ctx workflow.Context, req schema.RecallRequest) (schema.RecallResponse, error) {
	shown := flow.Display{Lean: flow.Lean(ctx)}
	if !shown.Lean {
		if err := refuseRecall(ctx, shown, &req); err != nil {
			return schema.RecallResponse{}, err
		}
	}
	// Its text may be erased later, even if the request is refused: an erasure finds runs by their tenant.
	shown.Begin(ctx, api.PhaseRecall, "asking", req.Principal)
	var out activities.RecallResult
	info := workflow.GetInfo(ctx)
	// The first run id stays the same over retries and resets: the retrieval is recorded once.
	in := activities.RecallRequest{Key: info.WorkflowExecution.ID + "#" + info.FirstRunID, Request: req}
	if shown.Lean {
		in.Misread, in.Unknown, in.Check = req.Misread(), req.Unknown(), true
	}
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, flow.RecallOptions),
		recalling.RecallMemories, in).Get(ctx, &out)
	if err == nil {
		err = flow.InvalidRequest(out.Err())
	}
	outcome := api.OutcomeOK
	switch {
	case err != nil:
		outcome = api.OutcomeFailed
	case len(out.Meta.Degraded) > 0:
		outcome = api.OutcomeDegraded
	}
	shown.Show(ctx, api.PhaseDone, fmt.Sprintf("%d memories, %d channels or stages omitted",
		len(out.Results), len(out.Meta.Degraded)), mneme.AttrOutcome.ValueSet(outcome))
	if err != nil {
		return schema.RecallResponse{}, err
	}
	return out.RecallResponse, nil
}

// refuseRecall reports the errors of a request, in a run of the first form.
func refuseRecall(ctx workflow.Context, shown flow.Display, req *schema.RecallRequest) error {
	err := flow.InvalidRequest(flow.Validate(ctx, req))
	if err != nil && workflow.GetVersion(ctx, changeInvalidRecall, workflow.DefaultVersion,
		1) != workflow.DefaultVersion {
		shown.Show(ctx, api.PhaseDone, "invalid request", append(mneme.Whose(req.Principal),
			mneme.AttrOutcome.ValueSet(api.OutcomeFailed))...)
	}
	return err
}
