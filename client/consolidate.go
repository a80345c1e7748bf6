package client

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
)

// StartConsolidate starts a run of learning over one scope, or joins the open one: a scope has one run at a time. It
// returns a *schema.ValidationError for an input that will never be accepted; Outcome waits for the result.
func StartConsolidate(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.LearnInput,
) (client.WorkflowRun, error) {
	if err := in.ValidateScope(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, joinOpenRun(taskQueue, api.ConsolidateWorkflowID(in.LearnScope), "consolidate a scope",
		OfTenant(in.Tenant)), api.WorkflowConsolidate, in)
	if err != nil {
		return nil, fmt.Errorf("start consolidation: %w", err)
	}
	return run, nil
}

// TellEvidence signals new evidence to the run that waits for a scope to be quiet. It starts the run if necessary.
func TellEvidence(ctx context.Context, c client.Client, taskQueue string, scope api.LearnScope) error {
	id := api.ConsolidateWhenQuietID(scope)
	options := joinOpenRun(taskQueue, id, "consolidate a scope when it is quiet", OfTenant(scope.Tenant))
	in := api.ConsolidateWhenQuietInput{LearnScope: scope}
	for {
		_, err := c.SignalWithStartWorkflow(ctx, id, api.SignalEvidence, nil, options,
			api.WorkflowConsolidateWhenQuiet, in)
		if WithoutAttributes(err, &options) {
			continue
		}
		if err != nil {
			return fmt.Errorf("tell of evidence: %w", err)
		}
		return nil
	}
}

// StartConsolidateAll starts a run of learning over all scopes with new evidence, of one tenant or of all, or joins
// the open one: there is one run at a time for a tenant, and one for all tenants.
func StartConsolidateAll(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.ConsolidateAllInput,
) (client.WorkflowRun, error) {
	id, attributes := api.ConsolidateAllID, temporal.SearchAttributes{}
	if in.Tenant != "" {
		id, attributes = api.WorkflowID(id, in.Tenant), OfTenant(in.Tenant)
	}
	run, err := startRun(ctx, c, joinOpenRun(taskQueue, id, "consolidate scopes", attributes),
		api.WorkflowConsolidateAll, in)
	if err != nil {
		return nil, fmt.Errorf("start consolidation: %w", err)
	}
	return run, nil
}
