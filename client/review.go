package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// Decide sends a decision to the review of a batch and returns the result. It starts the review if none is running:
// for old proposals, or after a review has ended. With an operation id the same decision may be delivered again and
// returns the first result; without one each call is a separate decision. It returns a *schema.ValidationError for a
// request that will never be accepted, and for an operation id that belongs to another decision on the proposal.
func Decide(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.ReviewRequest,
	batchID string,
) (schema.ReviewResult, error) {
	if err := req.Validate(); err != nil {
		return schema.ReviewResult{}, err
	}
	if _, err := uuid.Parse(batchID); err != nil {
		return schema.ReviewResult{}, &schema.ValidationError{
			Fields: []schema.FieldError{{Field: "batch_id", Problem: "must be an id"}}}
	}
	updateID := uuid.NewString()
	if req.OperationID != "" {
		updateID = api.DecisionUpdateID(req)
	}
	var result schema.ReviewResult
	err := retryUpdate(ctx, true, func() error {
		return decideOnce(ctx, c, taskQueue, req, batchID, updateID, &result)
	})
	return result, invalidOr(err)
}

func decideOnce(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.ReviewRequest,
	batchID, updateID string,
	result *schema.ReviewResult,
) error {
	tenant := req.Principal.Tenant
	// Join the waiting run, or start one if earlier ones have ended.
	start := c.NewWithStartWorkflowOperation(reviewOptions(taskQueue, tenant, batchID,
		enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING),
		api.WorkflowReview, api.ReviewInput{Tenant: tenant, BatchID: batchID})
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{UpdateID: updateID, UpdateName: api.UpdateDecide, Args: []any{req},
			WaitForStage: client.WorkflowUpdateStageCompleted},
	})
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	if err := handle.Get(ctx, result); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	return nil
}

// StartReview starts the review of a batch, unless it is running.
func StartReview(ctx context.Context, c client.Client, taskQueue, tenant, batchID string) error {
	_, err := c.ExecuteWorkflow(ctx, reviewOptions(taskQueue, tenant, batchID,
		enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING),
		api.WorkflowReview, api.ReviewInput{Tenant: tenant, BatchID: batchID})
	return err
}

// RenewReview restarts the review of a batch in a new run, so that the history of the waiting run can be deleted.
func RenewReview(ctx context.Context, c client.Client, taskQueue, tenant, batchID string) error {
	_, err := c.ExecuteWorkflow(ctx, reviewOptions(taskQueue, tenant, batchID,
		enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING),
		api.WorkflowReview, api.ReviewInput{Tenant: tenant, BatchID: batchID})
	return err
}

func reviewOptions(
	taskQueue, tenant, batchID string,
	running enumspb.WorkflowIdConflictPolicy,
) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       api.ReviewWorkflowID(tenant, batchID),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: running,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "review of batch " + batchID,
		TypedSearchAttributes:    OfTenant(tenant),
	}
}
