package client

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
)

// StartReflect starts a Reflect run, or joins the open run of the agent on the stream. It returns a
// *schema.ValidationError for a request that will never be accepted.
func StartReflect(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.ReflectInput,
) (client.WorkflowRun, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, client.StartWorkflowOptions{
		ID:                       api.ReflectWorkflowID(in.Principal, in.Stream),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            fmt.Sprintf("reflection of %s of %s", in.Principal.Agent, in.Principal.Tenant),
		TypedSearchAttributes:    OfPrincipal(in.Principal),
	}, api.WorkflowReflect, in)
	if err != nil {
		return nil, fmt.Errorf("start reflection: %w", err)
	}
	return run, nil
}

// Reflect lets an agent reflect, if a reflection is due, and waits for the end. It joins an open run. If that run
// started before the newest events, these are left to the next reflection.
func Reflect(ctx context.Context, c client.Client, taskQueue string, in api.ReflectInput) (api.ReflectResult, error) {
	run, err := StartReflect(ctx, c, taskQueue, in)
	if err != nil {
		return api.ReflectResult{}, err
	}
	return Outcome[api.ReflectResult](ctx, run)
}
