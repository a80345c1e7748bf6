package workflows

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// DecaySweep takes away what has faded (document 004 §11): it reads what has fallen due, and makes a
// tombstone of it, archives it or keeps it, as lifecycle.JudgeDue says. Its cost follows what is due, not what
// is stored.
func DecaySweep(ctx workflow.Context, in SweepInput) (SweepResult, error) {
	return runSweep(ctx, in, "take away what has faded", sweeping.SweepDecay, DecaySweep)
}

// DecaySweepID is the workflow id of a sweep of every tenant; schedules add their time to it.
const DecaySweepID = "decay-sweep"

// StartDecaySweep starts a sweep, or joins the one that is under way: one at a time for a tenant, and one for
// all of them.
func StartDecaySweep(ctx context.Context, c client.Client, taskQueue string, in SweepInput) (client.WorkflowRun, error) {
	return startSweep(ctx, c, taskQueue, DecaySweepID, DecaySweep, in, "take away what has faded")
}

// startSweep starts a sweep under its id, or under the tenant's.
func startSweep(ctx context.Context, c client.Client, taskQueue, id string, fn any, in SweepInput, summary string) (client.WorkflowRun, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var attributes temporal.SearchAttributes
	if in.Tenant != "" {
		id, summary, attributes = workflowID(id, in.Tenant), summary+" of one tenant", ofTenant(in.Tenant)
	}
	run, err := startRun(ctx, c, client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            summary,
		TypedSearchAttributes:    attributes,
	}, fn, in)
	if err != nil {
		return nil, fmt.Errorf("start sweep: %w", err)
	}
	return run, nil
}
