package workflows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

// Kinds of operations: the first part of their workflow ids.
const (
	KindPut      = "put"
	KindRevise   = "revise"
	KindModify   = "modify"
	KindForget   = "forget"
	KindRecover  = "recover"
	KindReview   = "review"
	KindFeedback = "feedback"
	KindIngest   = "ingest" // of IngestWorkflowID
	KindRecall   = "recall" // of RecallWorkflowID
	KindGet      = "get"    // of GetWorkflowID
)

var accepting *activities.Accepting

// operation is a request that one activity carries out in one transaction.
type operation struct {
	kind    string
	common  schema.Operation
	request request
	step    any // the activity: takes an activities.OperationRef and returns the result
	summary string
	// release empties what may be large in the request: the SDK keeps the request while the workflow runs. May be nil.
	release func()
}

// request is what an operation is started with.
type request interface {
	Validate() error              // in clients and activities; in workflows of runs of the first form
	Misread() []schema.FieldError // what reading it found wrong
}

// outcome is what runOperation needs to know of a result.
type outcome interface {
	// Summary is a word for the search attribute MnemeOutcome.
	Summary() string
	// Changed lists the memories whose index entries are to be brought up to date.
	Changed() []string
}

// runOperation takes a request through staging, its one activity and the index. The request is the
// only place in the history that carries content.
func runOperation[R outcome](ctx workflow.Context, op operation) (R, error) {
	var result R
	shown := display{lean(ctx)}
	if !shown.lean {
		if err := invalidRequest(op.request.Validate()); err != nil { //workflowcheck:ignore: it encodes payloads to measure them, which gives the same every time
			return result, err
		}
	}
	p := op.common.Principal
	shown.begin(ctx, PhaseWrite, op.summary, p)
	ref, err := accept(ctx, op, shown.lean)
	op.request = nil // it is in Postgres
	if op.release != nil {
		op.release()
	}
	if err == nil {
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, embedOptions(op.summary, infrastructureAttempts)), op.step, ref).Get(ctx, &result)
	}
	if err != nil {
		shown.show(ctx, PhaseDone, op.summary, AttrOutcome.ValueSet(OutcomeFailed))
		if ref.ID != "" {
			drop(ctx, ref)
		}
		return result, err
	}
	indexChanged(ctx, p.Tenant, result.Changed())
	shown.show(ctx, PhaseDone, op.summary+": "+result.Summary(), AttrOutcome.ValueSet(result.Summary()))
	return result, nil
}

// accept stages the request's body and returns the reference that activities take. It ends before a
// cancellation is looked at: a body that arrives behind drop would stay. Of a request that is refused there is
// nothing to drop, and the reference is empty.
func accept(ctx workflow.Context, op operation, check bool) (activities.OperationRef, error) {
	ref := activities.OperationRef{Tenant: op.common.Principal.Tenant, ID: operationKey(ctx, op.common), WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}
	if op.common.OperationID != "" {
		ref.Others = otherKeys(ref.ID, op.kind, op.common.Principal, op.common.OperationID)
	}
	body, err := json.Marshal(op.request) //workflowcheck:ignore: encoding a struct gives the same bytes every time
	if err != nil {
		return ref, temporal.NewNonRetryableApplicationError("the request cannot be encoded", activities.ErrTypeInvalidRequest, nil)
	}
	in := activities.AcceptRequest{Operation: ref, Kind: op.kind, Body: body, Check: check}
	if check {
		in.Misread = op.request.Misread()
	} else if err := schema.CheckEncodedSize(activities.LargeField(op.kind), len(body)); err != nil {
		return ref, invalidRequest(err)
	}
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	options := stageOptions
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
		return activities.OperationRef{}, invalidRequest(err)
	}
	return ref, nil
}

// drop deletes the body of a request that this run has not carried out and will not, whether it is
// cancelled or has failed. What cannot be dropped is swept later.
func drop(ctx workflow.Context, ref activities.OperationRef) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	options := stageOptions
	options.Summary = "drop the request"
	if err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), accepting.Drop, ref).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("request not dropped", "error", err)
	}
}

// operationKey keys what the operation writes. With an operation id it outlives the namespace's
// retention; without one every new run is an operation of its own. The first run id stays the same
// over retries, resets and continue-as-new.
func operationKey(ctx workflow.Context, op schema.Operation) string {
	info := workflow.GetInfo(ctx)
	if op.OperationID != "" {
		return info.WorkflowExecution.ID
	}
	return info.WorkflowExecution.ID + "#" + info.FirstRunID
}

// otherKeys are the keys under which other versions of the program have carried out the operation of a key that its
// caller chose.
func otherKeys(id, kind string, p schema.Principal, key string) []string {
	owner := ownerOf(p)
	return without(bothForms(id, boundedID(kind, owner, key), plainID(kind, owner, key)), id)
}

func without(keys []string, own string) (others []string) {
	for _, key := range keys {
		if key != own {
			others = append(others, key)
		}
	}
	return others
}

// indexChanged brings the index up to date. Its failure reverts nothing: the outbox keeps the change
// and SyncIndex makes up for it.
func indexChanged(ctx workflow.Context, tenant string, ids []string) {
	if len(ids) == 0 {
		return
	}
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, embedOptions("index", changedAttempts)), indexing.IndexMemories,
		activities.MemoriesRequest{Tenant: tenant, IDs: ids}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("index put off", "error", err)
	}
}

// invalidRequest turns what Validate says into a failure that is not retried.
func invalidRequest(err error) error {
	if err == nil {
		return nil
	}
	var invalid *schema.ValidationError
	errors.As(err, &invalid)
	return temporal.NewNonRetryableApplicationError(err.Error(), activities.ErrTypeInvalidRequest, nil, invalid)
}

// OperationWorkflowID is the id of the run of an operation (principalID), the key being the
// operation id or, without one, a digest of the request.
func OperationWorkflowID(kind string, op schema.Operation, request any) string {
	key := op.OperationID
	if key == "" {
		encoded, err := json.Marshal(request)
		if err != nil {
			encoded = []byte(err.Error()) // unreachable for a decoded request
		}
		sum := sha256.Sum256(encoded)
		key = "content-" + hex.EncodeToString(sum[:16])
	}
	return principalID(kind, op.Principal, key)
}

// startOperation starts a run, or joins the one that has the request already. With an operation id it
// also finds one that has ended, unless that failed: its result is the first one.
func startOperation(ctx context.Context, c client.Client, taskQueue, kind string, op schema.Operation, invalid error, fn, request any, summary string) (client.WorkflowRun, error) {
	if invalid != nil {
		return nil, invalid
	}
	if err := schema.CheckEncoded(activities.LargeField(kind), request); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, operationStart(taskQueue, kind, op, request, summary), fn, request) // of a run that has ended, it returns the handle
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", kind, err)
	}
	return run, nil
}

// operationStart is how the run of an operation is started.
func operationStart(taskQueue, kind string, op schema.Operation, request any, summary string) client.StartWorkflowOptions {
	options := client.StartWorkflowOptions{
		ID:                       OperationWorkflowID(kind, op, request),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            summary,
		TypedSearchAttributes:    ofPrincipal(op.Principal),
	}
	if op.OperationID != "" {
		options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	}
	return options
}

// Outcome waits for a run and returns its result. A request that was refused is a
// *schema.ValidationError.
func Outcome[R any](ctx context.Context, run client.WorkflowRun) (R, error) {
	var result R
	if err := run.Get(ctx, &result); err != nil {
		return result, invalidOr(err)
	}
	return result, nil
}
