package client

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// GetStart returns the options with which a Get run is started. Its id depends on the request.
func GetStart(taskQueue string, req schema.GetRequest) client.StartWorkflowOptions {
	return readStart(taskQueue, api.GetWorkflowID(req), api.KindGet, req.Principal)
}

// StartGet starts a Get run, or joins the open run of the same request. It returns a *schema.ValidationError for a
// request that will never be accepted; Outcome waits for the records.
func StartGet(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.GetRequest,
) (client.WorkflowRun, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, GetStart(taskQueue, req), api.WorkflowGet, req)
	if err != nil {
		return nil, fmt.Errorf("start get: %w", err)
	}
	return run, nil
}

// ContextStart returns the options of a Context run.
func ContextStart(taskQueue string, req ledger.ContextRequest) client.StartWorkflowOptions {
	return readStart(taskQueue, api.ContextWorkflowID(req), api.KindContext, req.Principal)
}

// StartContext starts a Context run, or joins the open run of the same request. It returns a *schema.ValidationError
// for a request that will never be accepted; Outcome waits for the context.
func StartContext(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req ledger.ContextRequest,
) (client.WorkflowRun, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, ContextStart(taskQueue, req), api.WorkflowContext, req)
	if err != nil {
		return nil, fmt.Errorf("start context: %w", err)
	}
	return run, nil
}

// RecallStart returns the options of a Recall run. A completed run with the same question is not reused.
func RecallStart(taskQueue string, req schema.RecallRequest) client.StartWorkflowOptions {
	return readStart(taskQueue, api.RecallWorkflowID(req), api.KindRecall, req.Principal)
}

// readStart returns the options of a run that only reads: the same request joins an open run.
func readStart(taskQueue, id, kind string, p schema.Principal) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                taskQueue,
		WorkflowExecutionTimeout: RecallTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            fmt.Sprintf("%s for %s of %s", kind, p.Agent, p.Tenant),
		TypedSearchAttributes:    OfPrincipal(p),
	}
}

// StartRecall starts a Recall run, or joins the open run of the same question. It returns a *schema.ValidationError
// for a request that will never be accepted; Outcome waits for the answer.
func StartRecall(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.RecallRequest,
) (client.WorkflowRun, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, RecallStart(taskQueue, req), api.WorkflowRecall, req)
	if err != nil {
		return nil, fmt.Errorf("start recall: %w", err)
	}
	return run, nil
}

// RecallTimeout is the time limit of a recall. After it, the recall fails and the caller can retry.
const RecallTimeout = time.Minute
