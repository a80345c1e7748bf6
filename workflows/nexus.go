package workflows

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nexus-rpc/sdk-go/nexus"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/temporalnexus"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/advising"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows/agents"
	"github.com/mneme/mneme/workflows/flow"
	"github.com/mneme/mneme/workflows/learn"
)

// nexusHandlers are the operations that agents' workflows in other namespaces call. Each uses the input and the id of
// the workflow that it starts, so it also finds a run that was started without Nexus.
type nexusHandlers struct {
	callers  Callers
	recaller *activities.Recalling
	adviser  *advising.Advising
}

// newNexusService builds the service.
func newNexusService(h nexusHandlers) *nexus.Service {
	service := nexus.NewService(api.NexusService)
	service.MustRegister(h.operations()...)
	return service
}

// operations returns the operations of the service. temporalnexus marks NewTemporalOperation as experimental, but the
// older constructors can neither answer directly nor see which run a cancellation is for.
func (h nexusHandlers) operations() []nexus.RegisterableOperation {
	return []nexus.RegisterableOperation{
		operationOf(h, api.OperationRemember, api.KindIngest, h.remember),
		operationOf(h, api.OperationRecall, api.KindRecall, h.recall),
		operationOf(h, api.OperationGet, api.KindGet, h.get),
		operationOf(h, api.OperationContext, api.KindContext, h.context),
		operationOf(h, api.OperationForget, api.KindForget, h.forget),
		operationOf(h, api.OperationFeedback, api.KindFeedback, h.feedback),
		operationOf(h, api.OperationAppend, api.KindSession, h.append),
		operationOf(h, api.OperationAdvise, api.KindAdvise, h.advise),
		operationOf(h, api.OperationReport, api.KindReport, h.report),
		operationOf(h, api.OperationEraseEvents, api.KindErase, h.eraseEvents),
	}
}

// NexusOperations are the names of the operations that the service has.
func NexusOperations() []string {
	var out []string
	for _, o := range (nexusHandlers{}).operations() {
		out = append(out, o.Name())
	}
	return out
}

type startOperationFunc[I, O any] = func(context.Context, temporalnexus.NexusClient, I,
	temporalnexus.StartTemporalOperationOptions) (temporalnexus.TemporalOperationResult[O], error)

func operationOf[I, O any](h nexusHandlers, name, kind string, start startOperationFunc[I, O]) nexus.Operation[I, O] {
	return temporalnexus.MustNewTemporalOperation(temporalnexus.TemporalOperationOptions[I, O]{
		Name:  name,
		Start: start,
		CancelWorkflowRun: func(ctx context.Context, c client.Client, o temporalnexus.CancelTemporalWorkflowRunOptions,
			_ nexus.CancelOperationOptions) error {
			if err := h.cancellable(ctx, c, kind, o.WorkflowID,
				temporalnexus.GetOperationInfo(ctx).Endpoint); err != nil {
				return err
			}
			return c.CancelWorkflow(ctx, o.WorkflowID, "")
		},
	})
}

// remember starts Ingest, or joins the run of the same request, and completes with its result. With an idempotency key
// it also finds a run that has succeeded, and returns its result.
func (h nexusHandlers) remember(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req schema.IngestRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[api.IngestResult], error) {
	err := h.admit(ctx, &req.Principal, o)
	if err == nil {
		err = refusal(req.Validate())
	}
	if err == nil {
		err = refusal(schema.CheckEncoded("candidates", req))
	}
	if err != nil {
		return temporalnexus.TemporalOperationResult[api.IngestResult]{}, err
	}
	options := mneme.IngestStart("", req)
	var key requestKey
	if req.IdempotencyKey != "" {
		key = requestKey{field: "idempotency_key", digest: api.ContentDigest(req)}
	}
	return attachKeyed(ctx, nc, options, Ingest, req, key)
}

// recall answers directly if it can. If that takes too long for a handler, or fails temporarily, the Recall workflow
// takes over. The retrieval has the id of the request, which is the same for a repeated delivery.
func (h nexusHandlers) recall(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req schema.RecallRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[schema.RecallResponse], error) {
	var none temporalnexus.TemporalOperationResult[schema.RecallResponse]
	if err := h.admit(ctx, &req.Principal, o); err != nil {
		return none, err
	}
	if err := refusal(req.Validate()); err != nil {
		return none, err
	}
	answer, err := inHandler(ctx, h.recaller.RecallMemories,
		activities.RecallRequest{Key: "nexus#" + o.RequestID, Request: req})
	if err == nil {
		return temporalnexus.NewSyncResult(answer.RecallResponse), nil
	}
	if err := neverAccepted(err); err != nil {
		return none, err
	}
	temporalnexus.GetLogger(ctx).Warn("recall handed over to a workflow", "error", err)
	return attach(ctx, nc, mneme.RecallStart("", req), Recall, req)
}

// get answers directly if it can, as recall does.
func (h nexusHandlers) get(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req schema.GetRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[schema.GetResponse], error) {
	var none temporalnexus.TemporalOperationResult[schema.GetResponse]
	if err := h.admit(ctx, &req.Principal, o); err != nil {
		return none, err
	}
	if err := refusal(req.Validate()); err != nil {
		return none, err
	}
	answer, err := inHandler(ctx, h.recaller.GetRecords, activities.GetRequest{Request: req})
	if err == nil {
		err = answer.Err()
	}
	if err == nil {
		return temporalnexus.NewSyncResult(answer.GetResponse), nil
	}
	if err := neverAccepted(err); err != nil {
		return none, err
	}
	temporalnexus.GetLogger(ctx).Warn("get handed over to a workflow", "error", err)
	return attach(ctx, nc, mneme.GetStart("", req), Get, req)
}

// context answers directly if it can, as recall does.
func (h nexusHandlers) context(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req ledger.ContextRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[ledger.ContextResponse], error) {
	var none temporalnexus.TemporalOperationResult[ledger.ContextResponse]
	if err := h.admit(ctx, &req.Principal, o); err != nil {
		return none, err
	}
	if err := refusal(req.Validate()); err != nil {
		return none, err
	}
	answer, err := inHandler(ctx, h.recaller.BuildContext, activities.ContextRequest{Request: req})
	if err == nil {
		err = answer.Err()
	}
	if err == nil {
		return temporalnexus.NewSyncResult(answer.ContextResponse), nil
	}
	if err := neverAccepted(err); err != nil {
		return none, err
	}
	temporalnexus.GetLogger(ctx).Warn("context handed over to a workflow", "error", err)
	return attach(ctx, nc, mneme.ContextStart("", req), agents.Context, req)
}

// advise answers directly if it can, as recall does. The advice has the id of the request.
func (h nexusHandlers) advise(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req api.AdviseRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[api.AdviseResponse], error) {
	var none temporalnexus.TemporalOperationResult[api.AdviseResponse]
	if err := h.admit(ctx, &req.Principal, o); err != nil {
		return none, err
	}
	if err := refusal(req.Validate()); err != nil {
		return none, err
	}
	answer, err := inHandler(ctx, h.adviser.Advise, advising.AdviseRequest{Key: "nexus#" + o.RequestID, Request: req})
	if err == nil {
		err = answer.Err()
	}
	if err == nil {
		return temporalnexus.NewSyncResult(answer.AdviseResponse), nil
	}
	if err := neverAccepted(err); err != nil {
		return none, err
	}
	temporalnexus.GetLogger(ctx).Warn("advise handed over to a workflow", "error", err)
	return attach(ctx, nc, mneme.AdviseStart("", req), learn.Advise, req)
}

// report starts Report, or joins the run of the same report, and completes with its result.
func (h nexusHandlers) report(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req api.ReportRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[api.ReportResult], error) {
	err := h.admit(ctx, &req.Principal, o)
	if err == nil {
		err = refusal(req.Validate())
	}
	if err != nil {
		return temporalnexus.TemporalOperationResult[api.ReportResult]{}, err
	}
	return attach(ctx, nc, mneme.ReportStart("", req), learn.Report, req)
}

// neverAccepted returns the refusal of a request that fails permanently, and nil for any other failure.
func neverAccepted(err error) error {
	if app := new(temporal.ApplicationError); errors.As(err, &app) && app.NonRetryable() {
		return &nexus.HandlerError{Type: nexus.HandlerErrorTypeBadRequest, Message: app.Message(), Cause: app}
	}
	return nil
}

// inHandler reads within the time that a handler has.
func inHandler[I, O any](ctx context.Context, read func(context.Context, I) (O, error), in I) (O, error) {
	budget := flow.RecallInHandler
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(deadline)-flow.StartMargin)
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	return read(ctx, in)
}

// forget starts Forget and completes with its receipt. If the request needs a confirmation, the run waits for one,
// which cannot come by Nexus: its token would be in the caller's history. A workflow can therefore softly forget
// memories by id without a confirmation; people confirm everything else.
func (h nexusHandlers) forget(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req schema.ForgetRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[schema.ForgetReceipt], error) {
	err := h.admit(ctx, &req.Principal, o)
	if err == nil {
		err = refusal(req.Validate())
	}
	if err == nil {
		err = refusal(schema.CheckEncoded(api.LargeField(api.KindForget), req))
	}
	if err != nil {
		return temporalnexus.TemporalOperationResult[schema.ForgetReceipt]{}, err
	}
	options := mneme.OperationStart("", api.KindForget, req.Operation, req, "forget")
	var key requestKey
	if req.OperationID != "" {
		key = requestKey{field: "operation_id", digest: api.SentDigest(&req)}
	}
	return attachKeyed(ctx, nc, options, Forget, req, key)
}

// feedback starts Feedback, or joins the run of the same request, and completes with its result.
func (h nexusHandlers) feedback(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req schema.FeedbackRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[schema.FeedbackResult], error) {
	err := h.admit(ctx, &req.Principal, o)
	if err == nil {
		err = refusal(req.Validate())
	}
	if err == nil {
		err = refusal(schema.CheckEncoded(api.LargeField(api.KindFeedback), req))
	}
	if err != nil {
		return temporalnexus.TemporalOperationResult[schema.FeedbackResult]{}, err
	}
	options := mneme.OperationStart("", api.KindFeedback, req.Operation, req, "feedback")
	var key requestKey
	if req.OperationID != "" {
		key = requestKey{field: "operation_id", digest: api.SentDigest(&req)}
	}
	return attachKeyed(ctx, nc, options, Feedback, req, key)
}

// append adds events of a session to the ledger and answers directly. Repeated events add nothing, because each has
// an id.
func (h nexusHandlers) append(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req api.AppendRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[api.AppendResult], error) {
	var none temporalnexus.TemporalOperationResult[api.AppendResult]
	if err := h.admit(ctx, &req.Principal, o); err != nil {
		return none, err
	}
	queue := temporalnexus.GetOperationInfo(ctx).TaskQueue
	out, err := mneme.AppendEvents(ctx, nc.GetWorkflowClient(), queue, req)
	var invalid *schema.ValidationError
	if errors.As(err, &invalid) {
		return none, refusal(invalid)
	}
	if err != nil { // the server repeats the request
		return none, &nexus.HandlerError{Type: nexus.HandlerErrorTypeUnavailable, Message: "not appended now"}
	}
	return temporalnexus.NewSyncResult(out), nil
}

func (h nexusHandlers) admit(
	ctx context.Context,
	p *schema.Principal,
	o temporalnexus.StartTemporalOperationOptions,
) error {
	return h.callers.admit(p, callerOf(temporalnexus.GetOperationInfo(ctx).Endpoint, o.Links))
}

// cancellable checks that the run of a token may be cancelled with it. Tokens are not signed, so a token must not reach
// runs of other operations or, if callers are bound, of other tenants.
func (h nexusHandlers) cancellable(ctx context.Context, c client.Client, kind, workflowID, endpoint string) error {
	if !strings.HasPrefix(workflowID, kind+"/") || strings.Count(workflowID, "/") < 2 {
		return &nexus.HandlerError{Type: nexus.HandlerErrorTypeBadRequest,
			Message: "the token is not of this operation"}
	}
	tenant, ok := api.TenantOfID(workflowID)
	if !ok && h.callers.Bound() {
		var err error
		if tenant, err = tenantOfRun(ctx, c, workflowID); err != nil {
			return err
		}
	}
	return h.callers.admitCancel(tenant, endpoint)
}

// tenantOfRun reads the tenant of a run from its search attributes, because the id may be hashed.
func tenantOfRun(ctx context.Context, c client.Client, workflowID string) (string, error) {
	found, err := c.DescribeWorkflow(ctx, workflowID, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return "", forbidden() // as for a run of another tenant
	}
	if err != nil {
		return "", &nexus.HandlerError{Type: nexus.HandlerErrorTypeUnavailable, Message: "the run cannot be read now"}
	}
	tenant, ok := found.TypedSearchAttributes.GetKeyword(mneme.AttrTenant)
	if !ok {
		return "", forbidden()
	}
	return tenant, nil
}

// requestKey is the field of a request that names its run, with a digest of the request. The zero value is for requests
// without a key.
type requestKey struct{ field, digest string }

// refuseOpen refuses a request whose key is that of the open run of another request.
func (k requestKey) refuseOpen(ctx context.Context, nc temporalnexus.NexusClient, id string) error {
	if k.digest != "" && mneme.IsOpenOther(ctx, nc.GetWorkflowClient(), id, k.digest) {
		return refusal(schema.OtherRequest(k.field))
	}
	return nil
}

// refuseEnded refuses a request whose key is that of the run of another request, which has ended.
func (k requestKey) refuseEnded(ctx context.Context, nc temporalnexus.NexusClient, id, runID string) error {
	if k.digest != "" && mneme.IsOther(ctx, nc.GetWorkflowClient(), id, runID, k.digest) {
		return refusal(schema.OtherRequest(k.field))
	}
	return nil
}

// attach is attachKeyed for a request without a key.
func attach[I, O any](
	ctx context.Context,
	nc temporalnexus.NexusClient,
	options client.StartWorkflowOptions,
	fn func(workflow.Context, I) (O, error),
	in I,
) (temporalnexus.TemporalOperationResult[O], error) {
	return attachKeyed(ctx, nc, options, fn, in, requestKey{})
}

// attachKeyed starts a run that completes the operation, or attaches the operation to the open run. If the run has
// ended and may not start again, its result is the operation's. A key of another request is refused.
func attachKeyed[I, O any](
	ctx context.Context,
	nc temporalnexus.NexusClient,
	options client.StartWorkflowOptions,
	fn func(workflow.Context, I) (O, error),
	in I,
	key requestKey,
) (temporalnexus.TemporalOperationResult[O], error) {
	if err := key.refuseOpen(ctx, nc, options.ID); err != nil {
		return temporalnexus.TemporalOperationResult[O]{}, err
	}
	out, err := temporalnexus.StartWorkflow(ctx, nc, options, fn, in)
	if mneme.WithoutAttributes(err, &options) {
		out, err = temporalnexus.StartWorkflow(ctx, nc, options, fn, in)
	}
	var ended *serviceerror.WorkflowExecutionAlreadyStarted
	if !errors.As(err, &ended) {
		return out, err
	}
	if err := key.refuseEnded(ctx, nc, options.ID, ended.RunId); err != nil {
		return out, err
	}
	var result O
	if err := nc.GetWorkflowClient().GetWorkflow(ctx, options.ID, "").Get(ctx, &result); err != nil {
		// Only a successful run may not start again, so the server has failed here.
		return out, &nexus.HandlerError{Type: nexus.HandlerErrorTypeUnavailable,
			Message: "the first result cannot be read now"}
	}
	return temporalnexus.NewSyncResult(result), nil
}

// refusal turns an error of Validate into a failure that is not retried. It names fields, never values.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	return &nexus.HandlerError{Type: nexus.HandlerErrorTypeBadRequest, Message: err.Error(),
		Cause: flow.InvalidRequest(err)}
}
