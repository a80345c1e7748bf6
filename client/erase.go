package client

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
)

// EraseEventsStart returns the options of a run of EraseEvents.
func EraseEventsStart(taskQueue string, req api.EraseEventsRequest) client.StartWorkflowOptions {
	what := fmt.Sprintf("%d events", len(req.IDs))
	if req.All {
		what = "all events of a user"
	}
	return client.StartWorkflowOptions{
		ID:                       api.EraseEventsWorkflowID(req),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "erase " + what + " of " + req.Tenant,
		TypedSearchAttributes:    OfTenant(req.Tenant),
	}
}

// StartEraseEvents starts a run that permanently empties events of the ledger, and deletes the histories of the
// sessions that may have carried them. A second call for the same events joins a run that is still open.
func StartEraseEvents(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req api.EraseEventsRequest,
) (client.WorkflowRun, error) {
	run, err := startRun(ctx, c, EraseEventsStart(taskQueue, req), api.WorkflowEraseEvents, req)
	if err != nil {
		return nil, fmt.Errorf("erase events: %w", err)
	}
	return run, nil
}

// EraseEvents is StartEraseEvents, and waits for the result.
func EraseEvents(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req api.EraseEventsRequest,
) (api.EraseEventsResult, error) {
	run, err := StartEraseEvents(ctx, c, taskQueue, req)
	if err != nil {
		return api.EraseEventsResult{}, err
	}
	var out api.EraseEventsResult
	if err := run.Get(ctx, &out); err != nil {
		return api.EraseEventsResult{}, fmt.Errorf("erase events: %w", invalidOr(err))
	}
	return out, nil
}
