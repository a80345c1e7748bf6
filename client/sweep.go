package client

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
)

// StartDecaySweep starts a sweep, or joins the open one: there is one at a time for a tenant, and one for all
// tenants.
func StartDecaySweep(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.SweepInput,
) (client.WorkflowRun, error) {
	return startSweep(ctx, c, taskQueue, api.DecaySweepID, api.WorkflowDecaySweep, in, "remove faded memories")
}

// startSweep starts a sweep of all tenants, or of one tenant under its own id.
func startSweep(
	ctx context.Context,
	c client.Client,
	taskQueue, id string,
	fn string,
	in api.SweepInput,
	summary string,
) (client.WorkflowRun, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var attributes temporal.SearchAttributes
	if in.Tenant != "" {
		id, summary, attributes = api.WorkflowID(id, in.Tenant), summary+" of one tenant", OfTenant(in.Tenant)
	}
	run, err := startRun(ctx, c, joinOpenRun(taskQueue, id, summary, attributes), fn, in)
	if err != nil {
		return nil, fmt.Errorf("start sweep: %w", err)
	}
	return run, nil
}

// StartRetentionPurge starts a purge, or joins the open one.
func StartRetentionPurge(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.SweepInput,
) (client.WorkflowRun, error) {
	return startSweep(ctx, c, taskQueue, api.RetentionPurgeID, api.WorkflowRetentionPurge, in, "purge expired data")
}

// StartDrift starts a check, or joins the open one.
func StartDrift(ctx context.Context, c client.Client, taskQueue string, in api.DriftInput) (client.WorkflowRun, error) {
	run, err := c.ExecuteWorkflow(ctx, joinOpenRun(taskQueue, api.DriftWorkflowID(in.Index),
		"compare the vector index "+in.Index+" with Postgres", temporal.SearchAttributes{}), api.WorkflowDriftCheck, in)
	if err != nil {
		return nil, fmt.Errorf("start drift check: %w", err)
	}
	return run, nil
}

// StartReindex starts a rebuild, or joins the open one.
func StartReindex(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.ReindexInput,
) (client.WorkflowRun, error) {
	run, err := c.ExecuteWorkflow(ctx, joinOpenRun(taskQueue, api.ReindexWorkflowID(in.Index),
		"rebuild the vector index "+in.Index, temporal.SearchAttributes{}), api.WorkflowReindex, in)
	if err != nil {
		return nil, fmt.Errorf("start reindex: %w", err)
	}
	return run, nil
}
