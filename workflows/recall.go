package workflows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

var recalling *activities.Recalling

// changeInvalidRecall marks runs that say whose they are before they refuse an invalid request.
const changeInvalidRecall = "show-invalid-recall"

// Recall is the read path for clients that speak only Temporal; whoever reaches Postgres calls package
// recall. An invalid request fails the run with ErrTypeInvalidRequest before anything is read.
//
// The request and its answer are content, and stand in the history until it is deleted: the answer twice,
// in the marker of the local activity and in the result. They are encrypted when the worker has a payload
// key; a request with ids_only leaves the answer's texts out altogether.
func Recall(ctx workflow.Context, req schema.RecallRequest) (schema.RecallResponse, error) {
	shown := display{lean(ctx)}
	if !shown.lean {
		if err := refuseRecall(ctx, shown, &req); err != nil {
			return schema.RecallResponse{}, err
		}
	}
	// Its text may be of what is erased later, also when it is refused: an erasure finds runs by their tenant.
	shown.begin(ctx, PhaseRecall, "asking", req.Principal)
	var out activities.RecallResult
	info := workflow.GetInfo(ctx)
	// The first run id stays the same over retries and resets: the retrieval is recorded once.
	in := activities.RecallRequest{Key: info.WorkflowExecution.ID + "#" + info.FirstRunID, Request: req}
	if shown.lean {
		in.Misread, in.Unknown, in.Check = req.Misread(), req.Unknown(), true
	}
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, recallOptions), recalling.RecallMemories, in).Get(ctx, &out)
	if err == nil {
		err = invalidRequest(out.Err())
	}
	outcome := OutcomeOK
	switch {
	case err != nil:
		outcome = OutcomeFailed
	case len(out.Meta.Degraded) > 0:
		outcome = OutcomeDegraded
	}
	shown.show(ctx, PhaseDone, fmt.Sprintf("%d memories, %d channels or stages left out", len(out.Results), len(out.Meta.Degraded)), AttrOutcome.ValueSet(outcome))
	if err != nil {
		return schema.RecallResponse{}, err
	}
	return out.RecallResponse, nil
}

// refuseRecall says what is wrong with a request, in a run of the first form.
func refuseRecall(ctx workflow.Context, shown display, req *schema.RecallRequest) error {
	err := invalidRequest(validate(ctx, req))
	if err != nil && workflow.GetVersion(ctx, changeInvalidRecall, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		shown.show(ctx, PhaseDone, "invalid request", append(whose(req.Principal), AttrOutcome.ValueSet(OutcomeFailed))...)
	}
	return err
}

// RecallWorkflowID is the id of the run that answers a request (principalID). The key is a digest: it is
// of all that the request says, so that the same question of the same agent, asked while it is being
// answered, joins that run.
func RecallWorkflowID(r schema.RecallRequest) string {
	return contentID(KindRecall, r.Principal, r)
}

// contentID is the id of a run that only reads, with a digest of the whole request as its key.
func contentID(kind string, p schema.Principal, request any) string {
	encoded, err := json.Marshal(request)
	if err != nil {
		encoded = []byte(err.Error()) // unreachable for a decoded request
	}
	sum := sha256.Sum256(encoded)
	return principalID(kind, p, "content-"+hex.EncodeToString(sum[:16]))
}

// recallStart is how a run of Recall is started. A question that has been answered is asked again.
func recallStart(taskQueue string, req schema.RecallRequest) client.StartWorkflowOptions {
	return readStart(taskQueue, RecallWorkflowID(req), KindRecall, req.Principal)
}

// readStart is how a run that only reads is started: the same request joins a run that is under way.
func readStart(taskQueue, id, kind string, p schema.Principal) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                taskQueue,
		WorkflowExecutionTimeout: recallTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            fmt.Sprintf("%s for %s of %s", kind, p.Agent, p.Tenant),
		TypedSearchAttributes:    ofPrincipal(p),
	}
}

// StartRecall starts a Recall run, or joins the one that is answering the same question. It returns a
// *schema.ValidationError for a request that will never be accepted; Outcome waits for the answer.
func StartRecall(ctx context.Context, c client.Client, taskQueue string, req schema.RecallRequest) (client.WorkflowRun, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, recallStart(taskQueue, req), Recall, req)
	if err != nil {
		return nil, fmt.Errorf("start recall: %w", err)
	}
	return run, nil
}
