package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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
// also finds a completed run that did not fail, and returns a *schema.ValidationError if the id is that of another
// request.
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
	options := OperationStart(taskQueue, o.kind, o.op, o.request, o.summary)
	if o.op.OperationID != "" { // the run with this id may be that of another request
		options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
		options.WorkflowExecutionErrorWhenAlreadyStarted = true
	}
	run, err := startRun(ctx, c, options, o.workflow, o.request)
	var there *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &there) {
		if IsOther(ctx, c, options.ID, there.RunId, api.SentDigest(o.request)) {
			return nil, schema.OtherRequest("operation_id")
		}
		return c.GetWorkflow(ctx, options.ID, there.RunId), nil
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.kind, err)
	}
	return run, nil
}

// otherWithin is how long a start waits to learn whose run has its id.
const otherWithin = 5 * time.Second

// IsOther reports whether a run that was found by its key is that of another request, given by its digest. A run that
// does not answer, because no worker runs or because an older version began it, is taken for the right one.
func IsOther(ctx context.Context, c client.Client, workflowID, runID, digest string) bool {
	return isOther(ctx, c, digest, client.QueryWorkflowWithOptionsRequest{WorkflowID: workflowID, RunID: runID})
}

// IsOpenOther is IsOther for the open run with an id, if there is one.
func IsOpenOther(ctx context.Context, c client.Client, workflowID, digest string) bool {
	return isOther(ctx, c, digest, client.QueryWorkflowWithOptionsRequest{WorkflowID: workflowID,
		QueryRejectCondition: enumspb.QUERY_REJECT_CONDITION_NOT_OPEN})
}

func isOther(ctx context.Context, c client.Client, digest string, query client.QueryWorkflowWithOptionsRequest) bool {
	ctx, cancel := context.WithTimeout(ctx, otherWithin)
	defer cancel()
	query.QueryType, query.Args = api.QueryRequest, []any{digest}
	answer, err := c.QueryWorkflowWithOptions(ctx, &query)
	var same bool
	return err == nil && answer.QueryResult != nil && answer.QueryResult.Get(&same) == nil && !same
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
