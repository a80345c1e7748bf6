package workflows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
)

var sweeping *activities.Sweeping

// batchesPerSweep bounds one activity, and batchesPerRun one run of the workflow: with its history it ends
// there, and goes on as a new one.
const (
	batchesPerSweep = 400
	batchesPerRun   = 40_000
)

// runSweep has activities sweep until nothing is left of what was due when the run began. It may be cancelled
// at any time: what is committed stays, and the next run does the rest.
func runSweep(ctx workflow.Context, in SweepInput, what string, fn, self any) (activities.SweepResult, error) {
	shown := display{lean(ctx)}
	if !shown.lean {
		if err := invalidRequest(validate(ctx, &in)); err != nil {
			return activities.SweepResult{}, err
		}
	} else if err := invalidRequest(in.MisreadErr()); err != nil {
		return activities.SweepResult{}, err
	}
	out := activities.SweepResult{Counts: map[string]int{}}
	if in.Sofar != nil {
		out = *in.Sofar
	}
	at := workflow.Now(ctx)
	if in.At != nil {
		at = *in.At
	}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (activities.SweepResult, error) { return out, nil }); err != nil {
		return out, err
	}
	info := workflow.GetInfo(ctx)
	request := activities.SweepRequest{Run: info.WorkflowExecution.ID + "#" + info.FirstRunID, At: at, Tenant: in.Tenant, BatchSize: in.BatchSize, MaxBatches: batchesPerSweep}
	attributes := []temporal.SearchAttributeUpdate{}
	if _, ok := workflow.GetTypedSearchAttributes(ctx).GetKeyword(AttrTenant); in.Tenant != "" && (!shown.lean || !ok && len(in.Tenant) <= maxAttribute) {
		attributes = append(attributes, AttrTenant.ValueSet(in.Tenant))
	}
	shown.show(ctx, PhaseSweep, what, attributes...)
	began := out.Batches
	for !out.Done {
		if out.Batches-began >= batchesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return out, continueAsNew(ctx, self, SweepInput{Tenant: in.Tenant, BatchSize: in.BatchSize, Sofar: &out, At: &at})
		}
		request.Cursor = out.Cursor
		var part activities.SweepResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, sweepOptions(what)), fn, request).Get(ctx, &part); err != nil {
			shown.show(ctx, PhaseSweep, sweepCounts(what, out), AttrOutcome.ValueSet(OutcomeFailed))
			return out, err
		}
		out = out.Add(part) //workflowcheck:ignore: sums over a map are the same in any order
		shown.show(ctx, PhaseSweep, sweepCounts(what, out))
	}
	outcome := OutcomeOK
	if len(out.Held) > 0 {
		outcome = OutcomeHeld
	}
	if n := out.Counts["failed"]; n > 0 { // the others are swept; somebody has to look
		shown.show(ctx, PhaseDone, sweepCounts(what, out), AttrOutcome.ValueSet(OutcomeFailed))
		return out, temporal.NewNonRetryableApplicationError(fmt.Sprintf("%d tenants could not be swept: the worker's log says why", n), activities.ErrTypeTenantsFailed, nil, out.Failed)
	}
	shown.show(ctx, PhaseDone, sweepCounts(what, out), AttrOutcome.ValueSet(outcome))
	return out, nil
}

// sweepCounts says what a sweep has done, in one order.
func sweepCounts(what string, out activities.SweepResult) string {
	var parts []string
	names := slices.Sorted(maps.Keys(out.Counts)) //workflowcheck:ignore: sorted
	for _, name := range names {
		if out.Counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", out.Counts[name], strings.ReplaceAll(name, "_", " ")))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to do"}
	}
	return fmt.Sprintf("%s, %d tenants: %s", what, out.Tenants, strings.Join(parts, ", "))
}
