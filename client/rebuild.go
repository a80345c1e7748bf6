package client

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
)

// StartRebuild starts the comparison of derived data with a tenant's ledger, or joins the open run of the same kind.
func StartRebuild(ctx context.Context, c client.Client, taskQueue string,
	in api.RebuildRequest) (client.WorkflowRun, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	summary := "rebuild data derived from the ledger"
	if in.Verify {
		summary = "compare derived data with the ledger"
	}
	run, err := startRun(ctx, c, client.StartWorkflowOptions{
		ID:                       api.RebuildWorkflowID(in),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            summary,
		TypedSearchAttributes:    OfTenant(in.Tenant),
	}, api.WorkflowRebuild, in)
	if err != nil {
		return nil, fmt.Errorf("start rebuild: %w", err)
	}
	return run, nil
}
