package workflows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/workflows/flow"
)

var sweeping *activities.Sweeping

// batchesPerSweep bounds one activity, and batchesPerRun one run of the workflow, which then continues as new.
const (
	batchesPerSweep = 400
	batchesPerRun   = 40_000
)

// runSweep runs activities until everything that was due when the run began is processed. It may be cancelled at any
// time: committed batches stay, and the next run does the rest.
func runSweep(ctx workflow.Context, in api.SweepInput, what string, fn, self any) (api.SweepResult, error) {
	shown := flow.Display{Lean: flow.Lean(ctx)}
	if !shown.Lean {
		if err := flow.InvalidRequest(flow.Validate(ctx, &in)); err != nil {
			return api.SweepResult{}, err
		}
	} else if err := flow.Strict(ctx, &in); err != nil {
		return api.SweepResult{}, err
	}
	out := api.SweepResult{Counts: map[string]int{}}
	if in.Sofar != nil {
		out = *in.Sofar
	}
	at := workflow.Now(ctx)
	if in.At != nil {
		at = *in.At
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.SweepResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	info := workflow.GetInfo(ctx)
	request := activities.SweepRequest{Run: info.WorkflowExecution.ID + "#" + info.FirstRunID,
		At: at, Tenant: in.Tenant, BatchSize: in.BatchSize, MaxBatches: batchesPerSweep}
	attributes := []temporal.SearchAttributeUpdate{}
	if _, ok := workflow.GetTypedSearchAttributes(ctx).GetKeyword(mneme.AttrTenant); in.Tenant != "" &&
		(!shown.Lean || !ok && len(in.Tenant) <= flow.MaxAttribute) {
		attributes = append(attributes, mneme.AttrTenant.ValueSet(in.Tenant))
	}
	shown.Show(ctx, api.PhaseSweep, what, attributes...)
	began := out.Batches
	for !out.Done {
		if out.Batches-began >= batchesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return out, flow.ContinueAsNew(ctx, self, api.SweepInput{Tenant: in.Tenant, BatchSize: in.BatchSize,
				Sofar: &out, At: &at})
		}
		request.Cursor = out.Cursor
		var part api.SweepResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.SweepOptions(what)),
			fn, request).Get(ctx, &part); err != nil {
			shown.Show(ctx, api.PhaseSweep, sweepCounts(what, out), mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
			return out, err
		}
		out = out.Add(part) //workflowcheck:ignore: sums over a map are the same in any order
		shown.Show(ctx, api.PhaseSweep, sweepCounts(what, out))
	}
	outcome := api.OutcomeOK
	if len(out.Held) > 0 {
		outcome = api.OutcomeHeld
	}
	if n := out.Counts["failed"]; n > 0 { // the others are swept; an operator has to look
		shown.Show(ctx, api.PhaseDone, sweepCounts(what, out), mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
		return out, temporal.NewNonRetryableApplicationError(fmt.Sprintf(
			"%d tenants could not be swept: the worker's log says why", n), api.ErrTypeTenantsFailed, nil, out.Failed)
	}
	shown.Show(ctx, api.PhaseDone, sweepCounts(what, out), mneme.AttrOutcome.ValueSet(outcome))
	return out, nil
}

// sweepCounts describes what a sweep has done, in a fixed order.
func sweepCounts(what string, out api.SweepResult) string {
	var parts []string
	names := slices.Sorted(maps.Keys(out.Counts)) //workflowcheck:ignore: sorted
	for _, name := range names {
		if out.Counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", out.Counts[name], lifecycle.CountName(name)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to do"}
	}
	return fmt.Sprintf("%s, %d tenants: %s", what, out.Tenants, strings.Join(parts, ", "))
}

// DecaySweep removes faded memories (document 004 §11): it reads the memories that are due, and deletes, archives or
// keeps each, as lifecycle.JudgeDue decides. Its cost depends on the number of due memories, not of stored ones.
func DecaySweep(ctx workflow.Context, in api.SweepInput) (api.SweepResult, error) {
	return runSweep(ctx, in, "remove faded memories", sweeping.SweepDecay, DecaySweep)
}

// RetentionPurge permanently removes data that was kept for as long as its policy says (document 002 "Retention
// Worker"): tenant by tenant, in the order of lifecycle.PurgeSteps, each batch in a separate short transaction.
func RetentionPurge(ctx workflow.Context, in api.SweepInput) (api.SweepResult, error) {
	return runSweep(ctx, in, "purge expired data", sweeping.PurgeExpired, RetentionPurge)
}
