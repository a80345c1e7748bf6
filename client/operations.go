package client

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// StartModify starts a Modify run, or joins the run with the same request.
func StartModify(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.ModifyRequest,
) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, operation{kind: api.KindModify, workflow: api.WorkflowModify,
		summary: "modify", op: req.Operation, request: &req})
}

// StartPut starts a Put run, or joins the run with the same request.
func StartPut(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.PutRequest,
) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, operation{kind: api.KindPut, workflow: api.WorkflowPut,
		summary: "put", op: req.Operation, request: &req})
}

// StartRecover starts a Recover run, or joins the run with the same request.
func StartRecover(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.RecoverRequest,
) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, operation{kind: api.KindRecover, workflow: api.WorkflowRecover,
		summary: "recover", op: req.Operation, request: &req})
}

// StartRevise starts a Revise run, or joins the run with the same request.
func StartRevise(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.ReviseRequest,
) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, operation{kind: api.KindRevise, workflow: api.WorkflowRevise,
		summary: ReviseSummary(req), op: req.Operation, request: &req})
}

// ReviseSummary names the action of a valid request.
func ReviseSummary(req schema.ReviseRequest) string { return "revise: " + string(req.Action) }

// StartFeedback starts a Feedback run, or joins the run with the same request.
func StartFeedback(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	req schema.FeedbackRequest,
) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, operation{kind: api.KindFeedback, workflow: api.WorkflowFeedback,
		summary: "feedback", op: req.Operation, request: &req})
}

// operation is what startOperation starts.
type operation struct {
	kind     string // api.KindPut and so on
	workflow string
	summary  string // shown in Temporal's UI
	op       schema.Operation
	request  interface{ Validate() error }
}

// startOperation starts a run of a valid request, or joins the open run with the same request. With an operation id it
// also finds a completed run that did not fail.
func startOperation(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	o operation,
) (client.WorkflowRun, error) {
	if err := o.request.Validate(); err != nil {
		return nil, err
	}
	if err := schema.CheckEncoded(api.LargeField(o.kind), o.request); err != nil {
		return nil, err
	}
	// for a completed run, startRun returns its handle
	options := OperationStart(taskQueue, o.kind, o.op, o.request, o.summary)
	run, err := startRun(ctx, c, options, o.workflow, o.request)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.kind, err)
	}
	return run, nil
}

// OperationStart returns the options of the run of an operation.
func OperationStart(
	taskQueue, kind string,
	op schema.Operation,
	request any,
	summary string,
) client.StartWorkflowOptions {
	options := joinOpenRun(taskQueue, api.OperationWorkflowID(kind, op, request), summary, OfPrincipal(op.Principal))
	if op.OperationID != "" {
		options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	}
	return options
}

// joinOpenRun returns the options of a workflow that runs once at a time: a start joins the open run.
func joinOpenRun(taskQueue, id, summary string, attributes temporal.SearchAttributes) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            summary,
		TypedSearchAttributes:    attributes,
	}
}

// Outcome waits for a run and returns its result. The error of an invalid request is a *schema.ValidationError.
func Outcome[R any](ctx context.Context, run client.WorkflowRun) (R, error) {
	var result R
	if err := run.Get(ctx, &result); err != nil {
		return result, invalidOr(err)
	}
	return result, nil
}
