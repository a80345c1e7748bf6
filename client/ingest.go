package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// Started is an accepted request.
type Started struct {
	Ack   schema.IngestAck
	RunID string
	ID    string
	Run   client.WorkflowRun // to wait for the whole pipeline
}

// StartIngest sends a request to the Ingest workflow and returns once its candidates are durable. Clients in other
// languages do the same with Update-with-Start, or start the workflow directly.
//
// A repeated request joins the open run of the same request. With an idempotency key it also finds a completed run that
// did not fail, and returns the first acknowledgement. It returns a *schema.ValidationError for an invalid request, and
// for a key that belongs to other contents.
func StartIngest(ctx context.Context, c client.Client, taskQueue string, req schema.IngestRequest) (Started, error) {
	if err := req.Validate(); err != nil {
		return Started{}, err
	}
	if err := schema.CheckEncoded("candidates", req); err != nil {
		return Started{}, err
	}
	options, updateID := IngestStart(taskQueue, req), uuid.NewString()
	var start client.WithStartWorkflowOperation
	var ack schema.IngestAck
	err := retryUpdate(ctx, true, func() error {
		var handle client.WorkflowUpdateHandle
		var err error
		if start, handle, err = startStaging(ctx, c, options, updateID, req); err != nil {
			return fmt.Errorf("start ingest: %w", err)
		}
		if err = handle.Get(ctx, &ack); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
		return nil
	})
	var done *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &done) {
		return finishedIngest(ctx, c, options.ID, req)
	}
	if err != nil {
		return Started{}, invalidOr(err)
	}
	run, err := start.Get(ctx)
	if err != nil {
		return Started{}, fmt.Errorf("start ingest: %w", err)
	}
	return Started{Ack: ack, ID: run.GetID(), RunID: run.GetRunID(), Run: run}, nil
}

// startStaging starts the run and sends the update that stages the candidates. Temporal refuses updates of a run whose
// workers have repeatedly failed or been too slow, until they recover. This function waits for that, as it does if
// there is no worker.
func startStaging(ctx context.Context, c client.Client, options client.StartWorkflowOptions, updateID string,
	req schema.IngestRequest) (client.WithStartWorkflowOperation, client.WorkflowUpdateHandle, error) {
	for {
		start := c.NewWithStartWorkflowOperation(options, api.WorkflowIngest, req)
		handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{UpdateID: updateID, UpdateName: api.UpdateStaged,
				Args: []any{api.ContentDigest(req)}, WaitForStage: client.WorkflowUpdateStageCompleted},
		})
		if WithoutAttributes(err, &options) {
			continue
		}
		var unready *serviceerror.WorkflowNotReady
		if !errors.As(err, &unready) {
			return start, handle, err
		}
		select {
		case <-time.After(unreadyPause):
		case <-ctx.Done():
			return start, handle, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// IngestStart returns the options of an Ingest run.
func IngestStart(taskQueue string, req schema.IngestRequest) client.StartWorkflowOptions {
	options := client.StartWorkflowOptions{
		ID:                       api.IngestWorkflowID(req),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary: fmt.Sprintf("%d candidates from %s of %s", len(req.Candidates),
			req.Principal.Agent, req.Principal.Tenant),
		TypedSearchAttributes: OfPrincipal(req.Principal),
	}
	if req.IdempotencyKey != "" {
		options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	}
	return options
}

// finishedIngest returns the acknowledgement of a run that has ended.
func finishedIngest(ctx context.Context, c client.Client, id string, req schema.IngestRequest) (Started, error) {
	run := c.GetWorkflow(ctx, id, "")
	var result api.IngestResult
	if err := run.Get(ctx, &result); err != nil {
		return Started{}, fmt.Errorf("ingest: %w", invalidOr(err))
	}
	if IsOther(ctx, c, id, run.GetRunID(), api.ContentDigest(req)) {
		return Started{}, schema.OtherRequest("idempotency_key")
	}
	return Started{Ack: result.IngestAck, ID: id, RunID: run.GetRunID(), Run: run}, nil
}

// invalidOr returns the validation error inside an error of Temporal, or the error itself.
func invalidOr(err error) error {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return err
	}
	var invalid schema.ValidationError
	var conflict schema.VersionConflict
	switch {
	case app.Type() == api.ErrTypeInvalidRequest && app.Details(&invalid) == nil && len(invalid.Fields) > 0:
		return &invalid
	case app.Type() == api.ErrTypeVersion && app.Details(&conflict) == nil && conflict.ID != "":
		return &conflict
	}
	return err
}

// StartResume replays a dead job, or joins the open run that replays it.
func StartResume(
	ctx context.Context,
	c client.Client,
	taskQueue string,
	in api.ResumeInput,
) (client.WorkflowRun, error) {
	run, err := startRun(ctx, c, client.StartWorkflowOptions{
		ID:                       api.ResumeWorkflowID(in.Tenant, in.JobID),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "replay dead job " + in.JobID,
		TypedSearchAttributes:    OfTenant(in.Tenant),
	}, api.WorkflowResumeIngest, in)
	if err != nil {
		return nil, fmt.Errorf("retry job: %w", err)
	}
	return run, nil
}

// startRun starts a run. It also works in a namespace without Mneme's search attributes.
func startRun(
	ctx context.Context,
	c client.Client,
	options client.StartWorkflowOptions,
	fn, in any,
) (client.WorkflowRun, error) {
	run, err := c.ExecuteWorkflow(ctx, options, fn, in)
	if WithoutAttributes(err, &options) {
		run, err = c.ExecuteWorkflow(ctx, options, fn, in)
	}
	return run, err
}

// WithoutAttributes removes the search attributes from options if the start was refused because of them, and reports
// whether to retry. The first worker registers the attributes later.
func WithoutAttributes(err error, options *client.StartWorkflowOptions) bool {
	if err == nil || options.TypedSearchAttributes.Size() == 0 ||
		!strings.Contains(strings.ToLower(err.Error()), "search attribute") {
		return false
	}
	options.TypedSearchAttributes = temporal.SearchAttributes{}
	return true
}
