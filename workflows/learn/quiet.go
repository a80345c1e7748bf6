package learn

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/learning"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/workflows/flow"
)

// SignalsPerRun is after how many signals a run that waits goes on as a new one, unless Temporal suggests it before. It
// is a variable for tests alone.
var SignalsPerRun = 1_000

// ConsolidateWhenQuiet consolidates one scope once it has enough new evidence and has then been quiet. Activities that
// write episodes start it when there is enough, and tell it of more by signal: the signals say nothing but that it must
// look. It waits until the scope is quiet, has Consolidate run as a child, and ends when there is not enough evidence
// left.
//
// A run over the scope that fails is started again, a few times with growing waits; then the schedule does it. Where
// the scope is being consolidated already, this one waits and looks again.
func ConsolidateWhenQuiet(ctx workflow.Context,
	in api.ConsolidateWhenQuietInput) (api.ConsolidateWhenQuietResult, error) {
	run := &quietRun{Display: flow.Display{Lean: true}, in: in,
		signals: workflow.GetSignalChannel(ctx, api.SignalEvidence)}
	if in.SoFar != nil {
		run.out = *in.SoFar
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.ConsolidateWhenQuietResult, error) {
		return run.out, nil
	}); err != nil {
		return run.out, err
	}
	err := run.loop(ctx)
	if workflow.IsContinueAsNewError(err) || ctx.Err() != nil {
		return run.out, err
	}
	outcome := api.OutcomeOK
	if err != nil {
		outcome = api.OutcomeFailed
	}
	run.Show(ctx, api.PhaseDone, run.details(), mneme.AttrOutcome.ValueSet(outcome))
	return run.out, err
}

type quietRun struct {
	flow.Display
	in      api.ConsolidateWhenQuietInput
	out     api.ConsolidateWhenQuietResult
	signals workflow.ReceiveChannel
}

// loop waits, consolidates and looks again, until nothing is due. It does not yield between looking for signals and its
// end: the server refuses to end a run that has a signal which it has not seen.
func (run *quietRun) loop(ctx workflow.Context) error {
	before := "" // the watermark before the last run
	for ran := false; ; {
		run.drain()
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() { // with no quiet time it may never wait
			return run.renew(ctx)
		}
		due, err := run.look(ctx)
		if err != nil {
			return err
		}
		if run.in.Failures == 0 {
			stuck := ran && due.Mark == before // the run took nothing in: another one would not either
			if !due.Enough || stuck {
				if run.signals.Len() == 0 || stuck {
					return nil
				}
				continue
			}
			if due.Wait > 0 {
				if err := run.wait(ctx, api.PhaseQuiet, due.Wait); err != nil {
					return err
				}
				continue
			}
		} else if err := run.wait(ctx, api.PhaseRetry, flow.RetryWait<<(run.in.Failures-1)); err != nil {
			return err
		}
		before = due.Mark
		if ran, err = run.consolidate(ctx); err != nil {
			return err
		}
	}
}

func (run *quietRun) look(ctx workflow.Context) (learning.DueResult, error) {
	var due learning.DueResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("look for new evidence", flow.InfrastructureAttempts)), learns.EvidenceDue,
		run.in.LearnScope).Get(ctx, &due)
	run.out.New = due.New
	return due, err
}

// consolidate has the scope consolidated. It reports whether a run of its own has succeeded.
func (run *quietRun) consolidate(ctx workflow.Context) (bool, error) {
	run.Show(ctx, api.PhaseLearn, run.details())
	options := learnChild(run.in.LearnScope, api.ConsolidateWorkflowID(run.in.LearnScope), "consolidate a scope")
	options.ParentClosePolicy = enumspb.PARENT_CLOSE_POLICY_ABANDON // it is of use by itself
	var done api.LearnResult
	err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), api.WorkflowConsolidate,
		api.LearnInput{LearnScope: run.in.LearnScope}).Get(ctx, &done)
	var there *temporal.ChildWorkflowExecutionAlreadyStartedError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.As(err, &there), temporal.IsWorkflowExecutionAlreadyStartedError(err):
		run.in.Failures = 0 // the other run does the same
		return false, run.wait(ctx, api.PhaseLearn, flow.BusyWait)
	case err != nil:
		run.out.Failed++
		if run.in.Failures++; run.in.Failures >= flow.QuietAttempts {
			return false, err
		}
		workflow.GetLogger(ctx).Warn("consolidation failed and will be started again", "error", err)
		return false, nil
	}
	run.in.Failures = 0
	run.out.Consolidated++
	if done.Changes() > 0 {
		run.out.Changed++
	}
	return true, nil
}

// wait waits, and goes on as a new run where the history has become long.
func (run *quietRun) wait(ctx workflow.Context, phase string, d time.Duration) error {
	run.Wait(ctx, phase, fmt.Sprintf("%s; waits for %s", run.details(), d.Round(time.Second)))
	long := func() bool {
		return run.signals.Len() >= SignalsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	}
	renew, err := workflow.AwaitWithTimeout(ctx, d, long)
	if err != nil || !renew {
		return err
	}
	run.drain()
	return run.renew(ctx)
}

// renew continues as a new run, with what this one knows. What the signals told of is in the database.
func (run *quietRun) renew(ctx workflow.Context) error {
	next := run.in
	next.Runs, next.SoFar = run.in.Runs+1, &run.out
	return flow.ContinueAsNew(ctx, ConsolidateWhenQuiet, next)
}

// drain takes the signals that are there. They say nothing but that the run must look, which it does next.
func (run *quietRun) drain() {
	for run.signals.ReceiveAsync(nil) {
	}
}

func (run *quietRun) details() string {
	return fmt.Sprintf("%d new independent episodes; %d runs, %d changed something, %d failed", run.out.New,
		run.out.Consolidated, run.out.Changed, run.out.Failed)
}
