package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// StartForget starts a Forget run, or joins the run with the same request that still waits.
func StartForget(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.ForgetRequest,
) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, operation{kind: api.KindForget, workflow: api.WorkflowForget,
		summary: "forget", op: req.Operation, request: &req})
}

// ForgetPreview waits for the selection of a run, and returns what the run would forget.
func ForgetPreview(ctx context.Context, c client.Client, run client.WorkflowRun) (schema.ForgetPreview, error) {
	var preview schema.ForgetPreview
	options := client.UpdateWorkflowOptions{WorkflowID: run.GetID(), UpdateName: api.UpdateSelected,
		UpdateID:     uuid.NewString(),
		WaitForStage: client.WorkflowUpdateStageCompleted}
	err := retryUpdate(ctx, false, func() error { return update(ctx, c, options, &preview) })
	var ended *serviceerror.NotFound
	if errors.As(err, &ended) { // it needed no confirmation
		value, err := c.QueryWorkflow(ctx, run.GetID(), "", api.QueryPreview)
		if err == nil {
			err = value.Get(&preview)
		}
		if err == nil && preview.RunID == "" {
			err = run.Get(ctx, nil) // it failed before it had selected
		}
		return preview, forgetError("preview", err)
	}
	return preview, forgetError("preview", err)
}

// ConfirmForget confirms a run. If the token is refused, the error is schema.ErrTokenMalformed, ErrTokenExpired,
// ErrTokenOther or ErrForgetClosed. A NotFound error of Temporal means that the run has ended.
func ConfirmForget(
	ctx context.Context,
	c client.Client,
	workflowID string,
	in schema.ForgetConfirmation,
) (schema.ForgetApproval, error) {
	var out schema.ForgetApproval
	if err := in.Validate(); err != nil {
		return out, err
	}
	options := client.UpdateWorkflowOptions{WorkflowID: workflowID, UpdateName: api.UpdateConfirm,
		UpdateID: uuid.NewString(),
		Args:     []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted}
	err := retryUpdate(ctx, false, func() error { return update(ctx, c, options, &out) })
	return out, forgetError("confirm", err)
}

// ApproveForget confirms a run with the token that token returns for the run's id. It does nothing if the run needs
// no confirmation or has it.
func ApproveForget(
	ctx context.Context,
	c client.Client,
	workflowID, actor string,
	token func(runID string) (string, error),
) error {
	preview, err := ForgetPreview(ctx, c, c.GetWorkflow(ctx, workflowID, ""))
	if err != nil || preview.State != schema.ForgetPreviewed {
		return err
	}
	confirm, err := token(preview.RunID)
	if err != nil || confirm == "" {
		return err
	}
	_, err = ConfirmForget(ctx, c, workflowID, schema.ForgetConfirmation{Token: confirm, Actor: actor})
	return err
}

// ResumeForget continues a confirmed run whose workflow has ended before it was done, for example because it was
// terminated. It joins a workflow that still runs. The status is that of the run (store.Store, ForgetStatus).
func ResumeForget(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	p schema.Principal,
	status schema.ForgetStatus,
) (client.WorkflowRun, error) {
	rest := api.ForgetRest{Tenant: p.Tenant, Receipt: status.ForgetReceipt, Preview: schema.ForgetPreview{
		RunID: status.RunID, WorkflowID: status.WorkflowID, Mode: status.Mode, State: status.State, Total: status.Total,
		Sample: []string{}, ExpiresAt: status.ExpiresAt, Everywhere: status.Everywhere}}
	run, err := startRun(ctx, c, joinOpenRun(taskQueue, status.WorkflowID, "forget, resumed", OfPrincipal(p)),
		api.WorkflowContinueForget, rest)
	if err != nil {
		return nil, fmt.Errorf("resume forget: %w", err)
	}
	return run, nil
}

// forgetError extracts a refusal from the error of Temporal.
func forgetError(what string, err error) error {
	if err == nil {
		return nil
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == api.ErrTypeTokenRefused {
		var reason string
		if app.Details(&reason) == nil && api.TokenError(reason) != nil {
			return api.TokenError(reason)
		}
	}
	return fmt.Errorf("%s: %w", what, invalidOr(err))
}
