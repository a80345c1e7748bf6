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

// SignalsPerRun is the number of signals after which a waiting run continues as new, unless Temporal suggests it
// earlier. It is a variable only for tests.
var SignalsPerRun = 1_000

// ConsolidateWhenQuiet consolidates one scope when it has enough new evidence and no more has arrived for a while.
// Activities that write episodes start it, and send a signal without data when there is more evidence. It waits until
// the scope is quiet, runs Consolidate as a child, and ends when there is not enough evidence left.
//
// If Consolidate fails, it is started again a few times with growing waits; then the schedule takes over. If another
// run is consolidating the scope, this one waits and checks again.
func ConsolidateWhenQuiet(ctx workflow.Context,
	in api.ConsolidateWhenQuietInput) (api.ConsolidateWhenQuietResult, error) {
	if err := flow.Strict(ctx, &in); err != nil {
		return api.ConsolidateWhenQuietResult{}, err
	}
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

// loop waits, consolidates and checks again, until nothing is due. It does not yield between its last check for signals
// and its end: the server does not let a run end before it has received every signal.
func (run *quietRun) loop(ctx workflow.Context) error {
	before := "" // the watermark before the last run
	for ran := false; ; {
		run.drain()
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() { // with no quiet time it may never wait
			return run.renew(ctx)
		}
		due, err := run.readEvidence(ctx)
		if err != nil {
			return err
		}
		if run.in.Failures == 0 {
			stuck := ran && due.Mark == before // the run consolidated nothing, and neither would another one
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

// readEvidence reads how much new evidence the scope has, and when a run is due.
func (run *quietRun) readEvidence(ctx workflow.Context) (learning.DueResult, error) {
	var due learning.DueResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("look for new evidence", flow.InfrastructureAttempts)), learns.EvidenceDue,
		run.in.LearnScope).Get(ctx, &due)
	run.out.New = due.New
	return due, err
}

// consolidate runs Consolidate for the scope, and reports whether its own run succeeded.
func (run *quietRun) consolidate(ctx workflow.Context) (bool, error) {
	run.Show(ctx, api.PhaseLearn, run.details())
	options := learnChild(run.in.LearnScope, api.ConsolidateWorkflowID(run.in.LearnScope), "consolidate a scope")
	options.ParentClosePolicy = enumspb.PARENT_CLOSE_POLICY_ABANDON // its result is useful even if this run ends
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

// wait waits, and continues as new if the history has become long.
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

// renew continues as new with the state of this run. The evidence that signals announced is in the database.
func (run *quietRun) renew(ctx workflow.Context) error {
	next := run.in
	next.Runs, next.SoFar = run.in.Runs+1, &run.out
	return flow.ContinueAsNew(ctx, ConsolidateWhenQuiet, next)
}

// drain takes the waiting signals. They have no data: the run checks the database next.
func (run *quietRun) drain() {
	for run.signals.ReceiveAsync(nil) {
	}
}

func (run *quietRun) details() string {
	return fmt.Sprintf("%d new independent episodes; %d runs, %d changed something, %d failed", run.out.New,
		run.out.Consolidated, run.out.Changed, run.out.Failed)
}
