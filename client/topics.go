package client

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
)

// StartRefreshTopic starts the refresh of a standing question, or joins the open one: a topic has one run at a time.
// It returns a *schema.ValidationError for an input that will never be accepted; Outcome waits for the result.
func StartRefreshTopic(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.RefreshTopicInput,
) (client.WorkflowRun, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, joinOpenRun(taskQueue, api.RefreshTopicWorkflowID(in.Tenant, in.Topic),
		"refresh a standing question", OfTenant(in.Tenant)), api.WorkflowRefreshTopic, in)
	if err != nil {
		return nil, fmt.Errorf("start refresh of a topic: %w", err)
	}
	return run, nil
}

// StartRefreshTopics starts a sweep over standing questions, or joins the open one: there is one at a time for a
// tenant, and one for all tenants.
func StartRefreshTopics(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.RefreshTopicsInput,
) (client.WorkflowRun, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	id, attributes := api.RefreshTopicsID, temporal.SearchAttributes{}
	if in.Tenant != "" {
		id, attributes = api.WorkflowID(id, in.Tenant), OfTenant(in.Tenant)
	}
	run, err := startRun(ctx, c, joinOpenRun(taskQueue, id, "refresh standing questions", attributes),
		api.WorkflowRefreshTopics, in)
	if err != nil {
		return nil, fmt.Errorf("start refresh of topics: %w", err)
	}
	return run, nil
}
