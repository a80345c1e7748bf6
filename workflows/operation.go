package workflows

import (
	"encoding/json"
	"reflect"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

var accepting *activities.Accepting

// operation is a request that one activity carries out in one transaction.
type operation struct {
	kind    string
	common  schema.Operation
	request request
	step    any // the activity: takes a schema.OperationRef and returns the result
	summary string
	// release empties the large fields of the request, because the SDK keeps the request while the workflow runs. May
	// be nil.
	release func()
}

// request is the input of an operation.
type request interface {
	Validate() error              // in clients and activities; in workflows of runs of the first form
	Misread() []schema.FieldError // problems found when it was decoded
}

// outcome is the part of a result that runOperation needs.
type outcome interface {
	// Summary is a word for the search attribute MnemeOutcome.
	Summary() string
	// Changed lists the memories whose index entries have to be updated.
	Changed() []string
}

// runOperation stages a request, runs its one activity and updates the index. In the history, only the request contains
// content.
func runOperation[R outcome](ctx workflow.Context, op operation) (R, error) {
	var result R
	shown := flow.Display{Lean: flow.Lean(ctx)}
	if !shown.Lean {
		// workflowcheck:ignore: it encodes payloads to measure them, which gives the same every time
		if err := flow.InvalidRequest(op.request.Validate()); err != nil {
			return result, err
		}
	}
	p := op.common.Principal
	if op.common.OperationID != "" {
		//workflowcheck:ignore: encoding a struct gives the same bytes every time
		digest, read := api.OperationDigest(op.request), operationReader(op.request)
		if err := flow.AnswerWhose(ctx, digest, read); err != nil {
			return result, err
		}
	}
	shown.Begin(ctx, api.PhaseWrite, op.summary, p)
	ref, err := accept(ctx, op, shown.Lean)
	op.request = nil // it is in Postgres
	if op.release != nil {
		op.release()
	}
	if err == nil {
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.EmbedOptions(op.summary,
			flow.InfrastructureAttempts)),
			op.step, ref).Get(ctx, &result)
	}
	if err != nil {
		shown.Show(ctx, api.PhaseDone, op.summary, mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
		if ref.ID != "" {
			drop(ctx, ref)
		}
		return result, err
	}
	indexChanged(ctx, p.Tenant, result.Changed())
	shown.Show(ctx, api.PhaseDone, op.summary+": "+result.Summary(), mneme.AttrOutcome.ValueSet(result.Summary()))
	return result, nil
}

// operationReader returns the argument read of flow.AnswerWhose for requests of the type of a request, given as a
// pointer. It does not keep the request.
func operationReader(like any) func(request []byte) (string, error) {
	read := reflect.TypeOf(like).Elem()
	return flow.Reading(func(body json.RawMessage) string { return api.DigestOfType(read, body) })
}

// accept stages the request's body and returns the reference that activities take. It ends before a cancellation is
// handled, because a body that arrives after drop would stay. For a refused request there is nothing to drop, and the
// reference is empty.
func accept(ctx workflow.Context, op operation, check bool) (schema.OperationRef, error) {
	ref := schema.OperationRef{Tenant: op.common.Principal.Tenant, ID: operationKey(ctx, op.common),
		WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}
	if op.common.OperationID != "" {
		ref.Others = api.EarlierOperationKeys(ref.ID, op.kind, op.common.Principal, op.common.OperationID)
	}
	body, err := json.Marshal(op.request) //workflowcheck:ignore: encoding a struct gives the same bytes every time
	if err != nil {
		return ref, temporal.NewNonRetryableApplicationError("the request cannot be encoded", api.ErrTypeInvalidRequest,
			nil)
	}
	in := activities.AcceptRequest{Operation: ref, Kind: op.kind, Body: body, Check: check}
	if check {
		in.Misread = op.request.Misread()
	} else if err := schema.CheckEncodedSize(api.LargeField(op.kind), len(body)); err != nil {
		return ref, flow.InvalidRequest(err)
	}
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	options := flow.StageOptions
	options.Summary = "accept the request"
	accepted := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), accepting.Accept, in)
	if !check {
		return ref, accepted.Get(ctx, nil)
	}
	var refusal activities.Refusal
	if err := accepted.Get(ctx, &refusal); err != nil {
		return ref, err
	}
	if err := refusal.Err(); err != nil {
		return schema.OperationRef{}, flow.InvalidRequest(err)
	}
	return ref, nil
}

// drop deletes the body of a request that this run will not carry out, because it was cancelled or has failed. A body
// that cannot be dropped is swept later.
func drop(ctx workflow.Context, ref schema.OperationRef) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	options := flow.StageOptions
	options.Summary = "drop the request"
	if err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options),
		accepting.Drop, ref).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("request not dropped", "error", err)
	}
}

// operationKey is the key under which the operation is stored. With an operation id it outlives the namespace's
// retention; without one every new run is a separate operation. The first run id stays the same over retries, resets
// and continue-as-new.
func operationKey(ctx workflow.Context, op schema.Operation) string {
	info := workflow.GetInfo(ctx)
	if op.OperationID != "" {
		return info.WorkflowExecution.ID
	}
	return info.WorkflowExecution.ID + "#" + info.FirstRunID
}

// indexChanged updates the index. Its failure reverts nothing: the outbox keeps the change and SyncIndex writes it
// later.
func indexChanged(ctx workflow.Context, tenant string, ids []string) {
	if len(ids) == 0 {
		return
	}
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.EmbedOptions("index", flow.ChangedAttempts)),
		indexer.IndexMemories,
		indexing.MemoriesRequest{Tenant: tenant, IDs: ids}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("index put off", "error", err)
	}
}
