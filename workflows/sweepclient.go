package workflows

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// StartDecaySweep starts a sweep, or joins the one that is under way: one at a time for a tenant, and one for
// all of them.
func StartDecaySweep(ctx context.Context, c client.Client, taskQueue string, in SweepInput) (client.WorkflowRun, error) {
	return startSweep(ctx, c, taskQueue, DecaySweepID, WorkflowDecaySweep, in, "take away what has faded")
}

// startSweep starts a sweep under its id, or under the tenant's.
func startSweep(ctx context.Context, c client.Client, taskQueue, id string, fn string, in SweepInput, summary string) (client.WorkflowRun, error) {
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

// StartRetentionPurge starts a purge, or joins the one that is under way.
func StartRetentionPurge(ctx context.Context, c client.Client, taskQueue string, in SweepInput) (client.WorkflowRun, error) {
	return startSweep(ctx, c, taskQueue, RetentionPurgeID, WorkflowRetentionPurge, in, "purge what is over")
}

// StartDrift starts a check, or joins the one that is under way.
func StartDrift(ctx context.Context, c client.Client, taskQueue string, in DriftInput) (client.WorkflowRun, error) {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       DriftWorkflowID(in.Index),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "compare the vector index " + in.Index + " with Postgres",
	}, WorkflowDriftCheck, in)
	if err != nil {
		return nil, fmt.Errorf("start drift check: %w", err)
	}
	return run, nil
}

// StartReindex starts a rebuild, or joins the one that is under way.
func StartReindex(ctx context.Context, c client.Client, taskQueue string, in ReindexInput) (client.WorkflowRun, error) {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       ReindexWorkflowID(in.Index),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "rebuild the vector index " + in.Index,
	}, WorkflowReindex, in)
	if err != nil {
		return nil, fmt.Errorf("start reindex: %w", err)
	}
	return run, nil
}
