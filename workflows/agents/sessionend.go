package agents

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/sessions"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

// changeCloseAll is the version marker of close: a request to close is answered when all events that arrived before it
// are in an episode. Older runs answered it with the first episode that ended, and left the later events open.
const changeCloseAll = "close-all"

// close makes an episode of the processed events, and answers the callers that requested it.
func (run *sessionRun) close(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	closers := run.closers
	if len(closers) > 0 && run.state.Ended > 0 && run.told > run.state.Ended &&
		workflow.GetVersion(ctx, changeCloseAll, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		closers = nil // they ask for the events after this episode too
	}
	run.closers = run.closers[len(closers):]
	in := sessions.CloseRequest{FirstSeq: run.state.FirstSeq, Why: session.Idle}
	in.SessionRef = run.in.SessionRef
	for _, c := range closers {
		in.Why = session.Finished
		if in.Outcome == "" {
			in.Outcome, in.Summary = c.request.Outcome, c.request.Summary
		}
	}
	run.phase = sessionClosing
	run.Display.Show(ctx, run.phase,
		fmt.Sprintf("%d events, up to %d of the stream", run.state.Events, run.state.LastSeq))
	out, err := closeSession(ctx, in)
	var refused *temporal.ApplicationError
	if in.Outcome+schema.Outcome(in.Summary) != "" && errors.As(err, &refused) &&
		refused.Type() == api.ErrTypeInvalidRequest &&
		workflow.GetVersion(ctx, changeKeepEvents, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		workflow.GetLogger(ctx).Warn("closed without an outcome", "error", err)
		in.Outcome, in.Summary = "", ""
		out, err = closeSession(ctx, in)
	}
	for _, c := range closers {
		c.result, c.err, c.done = out, err, true
	}
	if err != nil {
		return err
	}
	run.result, run.phase = out, sessionOpen
	run.idle, run.state.Ended = false, 0
	run.state.LastSeq = max(run.state.LastSeq, out.LastSeq)
	run.working = schema.WorkingPayload{Kind: schema.TypeWorking, ThreadID: run.working.ThreadID,
		TaskID: run.working.TaskID, State: schema.TaskDone}
	return nil
}

// changeKeepEvents is the version marker of two rules: a signal to close with an invalid outcome closes the session
// without one, and a run that cannot close its session appends the waiting events before it fails. Older runs failed at
// once and lost these events.
const changeKeepEvents = "keep-events"

func closeSession(ctx workflow.Context, in sessions.CloseRequest) (out api.SessionResult, err error) {
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.CloseSessionOptions()),
		sessioning.CloseSession, in).
		Get(ctx, &out)
	return out, err
}

// notClosed ends a run that cannot close its session.
func (run *sessionRun) notClosed(ctx workflow.Context, cause error) (api.SessionResult, error) {
	run.receive()
	if len(run.queue) > 0 &&
		workflow.GetVersion(ctx, changeKeepEvents, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		return run.cancelled(ctx, cause)
	}
	return run.fail(ctx, cause)
}

// over reports whether the run can end after it has closed an episode. Events that arrived meanwhile, or after the
// event that ended the session, begin the next episode.
func (run *sessionRun) over(ctx workflow.Context) (bool, error) {
	if run.told <= run.result.LastSeq && run.settled(ctx) {
		return true, nil
	}
	return false, run.open(ctx)
}

// settled reports whether all callers are answered and no work is left. It must not yield after its last check, so
// that the run ends before another event arrives; the server gives later events to another run.
func (run *sessionRun) settled(ctx workflow.Context) bool {
	run.receive()
	if len(run.queue)+len(run.closers) > 0 || run.told > run.state.LastSeq {
		return false
	}
	drainHandlersOf(ctx, run)
	run.receive()
	return len(run.queue)+len(run.closers) == 0 && run.told <= run.state.LastSeq
}

// drainHandlersOf waits until the handlers whose requests are done have returned. It stops when new work arrives.
func drainHandlersOf(ctx workflow.Context, run *sessionRun) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	err := workflow.Await(ctx, func() bool {
		return len(run.queue)+len(run.closers) > 0 || workflow.AllHandlersFinished(ctx)
	})
	if err != nil {
		// unreachable: the context is never cancelled
		workflow.GetLogger(ctx).Warn("updates not answered", "error", err)
	}
}

// next returns the input of the next run.
func (run *sessionRun) next() api.SessionInput {
	return api.SessionInput{SessionRef: run.in.SessionRef, Settings: run.in.Settings, State: &api.SessionState{
		FirstSeq: run.state.FirstSeq, LastSeq: run.state.LastSeq, Events: run.state.Events, Runs: run.runs,
		Told: run.told, Unreflected: run.unreflected}}
}

func (run *sessionRun) progress() api.SessionProgress {
	waiting := 0
	for _, h := range run.queue {
		waiting += len(h.events)
	}
	return api.SessionProgress{Phase: run.phase, Events: run.state.Events, LastSeq: run.state.LastSeq, Waiting: waiting,
		Refused: run.refused, Runs: run.runs, IdleFrom: run.idleFrom}
}

// cancelled appends the waiting events before the run ends with an error. The session stays open in Postgres, and the
// next event starts a new run.
func (run *sessionRun) cancelled(ctx workflow.Context, cause error) (api.SessionResult, error) {
	run.receive()
	for len(run.queue) > 0 {
		if err := run.append(ctx); err != nil {
			return run.fail(ctx, err)
		}
		run.receive()
	}
	return run.fail(ctx, cause)
}

// fail answers all callers with the error.
func (run *sessionRun) fail(ctx workflow.Context, err error) (api.SessionResult, error) {
	run.failed = err
	return run.finish(ctx, err)
}

func (run *sessionRun) finish(ctx workflow.Context, err error) (api.SessionResult, error) {
	run.phase = sessionDone
	outcome := api.OutcomeOK
	if err != nil {
		outcome = api.OutcomeFailed
	}
	run.Display.Show(ctx, run.phase,
		fmt.Sprintf("%d events, up to %d of the stream", run.result.Events, run.result.LastSeq),
		mneme.AttrOutcome.ValueSet(outcome))
	if err != nil {
		flow.DrainHandlers(ctx)
		return api.SessionResult{}, err
	}
	return run.result, nil
}
