package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// ReviewInput names the batch whose proposals wait for a person.
type ReviewInput struct {
	Tenant  string `json:"tenant"`
	BatchID string `json:"batch_id"`
	// ExpiresAfterSeconds is how long a proposal waits for a decision; 0 means ReviewWindow. It counts
	// for proposals that begin to wait with this run, not for those that wait already.
	ExpiresAfterSeconds int64 `json:"expires_after_seconds,omitempty"`

	strict
}

// ReviewProgress answers QueryProgress, and is the result of a run. It counts over all runs of a batch.
type ReviewProgress struct {
	Open     int        `json:"open"`
	Approved int        `json:"approved"`
	Rejected int        `json:"rejected"`
	Expired  int        `json:"expired"`
	NextAt   *time.Time `json:"next_at,omitempty"` // when the next open proposal expires
}

var reviewing *activities.Reviewing

// Review waits for people to decide on the proposals that an ingest could not apply by itself
// (document 002 "Shadow Mode vs. Controlled Writes"): those that a rule held back, and contradictions.
// The update UpdateDecide carries one decision out and returns what became of it. The run ends when no
// proposal of the batch is open. Those that no one decided in time are given up, except contradictions: both
// sides are kept and marked as contested.
//
// A run holds no state of its own: what is open stands in Postgres, so that a decision finds its
// proposal also when an earlier run has ended or was never there (Decide starts one). The reviewer's
// words come in once, with the update; no other content passes through the history.
//
// A decision that it has accepted is carried out before the run ends, also when the run is cancelled.
func Review(ctx workflow.Context, in ReviewInput) (ReviewProgress, error) {
	run := &review{display: display{lean(ctx)}, in: in, ref: activities.ReviewRef{Tenant: in.Tenant, BatchID: in.BatchID}}
	if err := run.setup(ctx); err != nil {
		return ReviewProgress{}, err
	}
	err := invalidRequest(in.misread())
	if !run.lean {
		err = invalidRequest(validate(ctx, &in))
	}
	if err == nil {
		err = run.work(ctx)
	}
	if err != nil {
		drainHandlers(ctx)
		return ReviewProgress{}, err
	}
	return run.finish(ctx), nil
}

// work ends without an error when nothing is open.
func (run *review) work(ctx workflow.Context) error {
	for {
		run.moved = false
		if err := run.look(ctx); err != nil {
			return err
		}
		if run.progress.Open == 0 {
			drainHandlers(ctx)
			if run.moved {
				continue
			}
			return nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			drainHandlers(ctx)
			return continueAsNew(ctx, Review, run.in)
		}
		if err := run.wait(ctx); err != nil {
			return err
		}
	}
}

// review is one run at work.
type review struct {
	display
	in       ReviewInput
	ref      activities.ReviewRef
	progress ReviewProgress
	moved    bool // a decision has come since the run last looked
	shown    bool
}

func (run *review) setup(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (ReviewProgress, error) { return run.progress, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateDecide, run.decide, workflow.UpdateHandlerOptions{
		Validator: func(_ workflow.Context, req schema.ReviewRequest) error { return run.check(req) }})
}

// check refuses a decision before it enters the history.
func (run *review) check(req schema.ReviewRequest) error {
	err := req.Validate()
	if err == nil && req.Principal.Tenant != run.in.Tenant {
		err = &schema.ValidationError{Fields: []schema.FieldError{{Field: "principal.tenant", Problem: "is not that of the review"}}}
	}
	return invalidRequest(err)
}

// look learns from Postgres where the review stands.
func (run *review) look(ctx workflow.Context) error {
	window := run.in.ExpiresAfterSeconds
	if window <= 0 {
		window = int64(ReviewWindow / time.Second)
	}
	var st pipeline.ReviewState
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, storeOptions("see what is open", reviewAttempts)), reviewing.OpenReview,
		activities.OpenRequest{ReviewRef: run.ref, WindowSeconds: window}).Get(ctx, &st)
	if err != nil {
		return err
	}
	run.progress = ReviewProgress{Open: st.Open, Approved: st.Approved, Rejected: st.Rejected, Expired: st.Expired, NextAt: st.NextAt}
	if run.shown {
		workflow.SetCurrentDetails(ctx, run.details())
		return nil
	}
	run.shown = true
	of := schema.Principal{Tenant: run.in.Tenant, Agent: st.Agent, Project: st.Project}
	if !run.lean || run.progress.Open > 0 {
		run.display.wait(ctx, PhaseReview, run.counts(), whose(of)...)
	}
	return nil
}

func (run *review) counts() string {
	p := run.progress
	out := fmt.Sprintf("%d open, %d approved, %d rejected, %d expired", p.Open, p.Approved, p.Rejected, p.Expired)
	if p.NextAt != nil {
		out += "; the next expires at " + p.NextAt.UTC().Format(time.RFC3339)
	}
	return out
}

func (run *review) details() string { return "**" + PhaseReview + "**: " + run.counts() }

// wait ends when a decision has come, or when proposals have expired and are given up.
func (run *review) wait(ctx workflow.Context) error {
	next := run.progress.NextAt
	if next == nil { // unreachable: what is open expires
		return workflow.Await(ctx, func() bool { return run.moved })
	}
	left := next.Sub(workflow.Now(ctx))
	if left > 0 {
		decided, err := workflow.AwaitWithTimeout(ctx, left, func() bool { return run.moved })
		if err != nil || decided {
			return err
		}
	}
	// What it leaves when its time is over is still open, and over, when the run looks again.
	options := embedOptions("give up what nobody decided", reviewAttempts)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), reviewing.ExpireProposals,
		activities.ExpireRequest{ReviewRef: run.ref, Before: *next}).Get(ctx, nil)
}

// decide carries out one decision. It is keyed by the update's id: a decision delivered again after a
// lost acknowledgement finds its first result, in this run or in a later one. It ends before a
// cancellation is looked at.
func (run *review) decide(ctx workflow.Context, req schema.ReviewRequest) (schema.ReviewResult, error) {
	defer func() { run.moved = true }()
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	info := workflow.GetInfo(ctx)
	ref := run.decisionRef(info.WorkflowExecution.ID, workflow.GetCurrentUpdateInfo(ctx).ID, req)
	var result schema.ReviewResult
	body, err := json.Marshal(activities.ReviewBody{BatchID: run.in.BatchID, Request: req}) //workflowcheck:ignore: encoding a struct gives the same bytes every time
	if err != nil {
		return result, temporal.NewNonRetryableApplicationError("the request cannot be encoded", activities.ErrTypeInvalidRequest, nil)
	}
	options := stageOptions
	options.Summary = "accept the decision"
	err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), accepting.Accept,
		activities.AcceptRequest{Operation: ref, Kind: KindReview, Body: body}).Get(ctx, nil)
	if err != nil {
		return result, err
	}
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, embedOptions(string(req.Decision)+" "+req.ProposalID, infrastructureAttempts)),
		reviewing.DecideProposal, ref).Get(ctx, &result)
	if err != nil {
		drop(ctx, ref)
		return result, err
	}
	indexChanged(ctx, run.in.Tenant, result.Changed())
	return result, nil
}

// decisionRef names a decision by its run, its proposal and its update. Another version of the program may have
// carried it out under another form of the ids.
func (run *review) decisionRef(id, updateID string, req schema.ReviewRequest) activities.OperationRef {
	ref := activities.OperationRef{Tenant: run.in.Tenant, WorkflowID: id, ID: id + "/" + req.ProposalID + "/" + updateID}
	plain := plainID(KindReview, idEscaper.Replace(run.in.Tenant), run.in.BatchID)
	chosen := req.OperationID + "/" + req.ProposalID
	var keys []string
	for _, form := range bothForms(id, ReviewWorkflowID(run.in.Tenant, run.in.BatchID), plain) {
		for _, update := range bothForms(updateID, boundedUpdateID(chosen), chosen) {
			keys = append(keys, form+"/"+req.ProposalID+"/"+update)
		}
	}
	ref.Others = without(keys, ref.ID)
	return ref
}

// finish says how the review ended.
func (run *review) finish(ctx workflow.Context) ReviewProgress {
	outcome := OutcomeReviewed
	if run.progress.Expired > 0 {
		outcome = OutcomeExpired
	}
	run.display.show(ctx, PhaseDone, run.counts(), AttrOutcome.ValueSet(outcome))
	return run.progress
}

// Decide hands a decision to the review of a batch and returns what became of it. A review that is not
// there is started: of old proposals, or of one that has ended. With an operation id the same decision
// may be delivered again and finds the first result; without one each call is a decision of its own.
// It returns a *schema.ValidationError for a request that will never be accepted.
func Decide(ctx context.Context, c client.Client, taskQueue string, req schema.ReviewRequest, batchID string) (schema.ReviewResult, error) {
	if err := req.Validate(); err != nil {
		return schema.ReviewResult{}, err
	}
	if _, err := uuid.Parse(batchID); err != nil {
		return schema.ReviewResult{}, &schema.ValidationError{Fields: []schema.FieldError{{Field: "batch_id", Problem: "must be an id"}}}
	}
	updateID := uuid.NewString()
	if req.OperationID != "" {
		updateID = boundedUpdateID(req.OperationID + "/" + req.ProposalID)
	}
	var result schema.ReviewResult
	err := retryUpdate(ctx, true, func() error {
		return decideOnce(ctx, c, taskQueue, req, batchID, updateID, &result)
	})
	return result, invalidOr(err)
}

func decideOnce(ctx context.Context, c client.Client, taskQueue string, req schema.ReviewRequest, batchID, updateID string, result *schema.ReviewResult) error {
	tenant := req.Principal.Tenant
	// Joining the run that waits, or starting one behind those that have ended.
	start := c.NewWithStartWorkflowOperation(reviewOptions(taskQueue, tenant, batchID, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING),
		Review, ReviewInput{Tenant: tenant, BatchID: batchID})
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{UpdateID: updateID, UpdateName: UpdateDecide, Args: []any{req},
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

// renewReview starts the review of a batch anew, in place of the run that waits: what that one carried is
// to go.
func renewReview(ctx context.Context, c client.Client, taskQueue, tenant, batchID string) error {
	_, err := c.ExecuteWorkflow(ctx, reviewOptions(taskQueue, tenant, batchID, enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING),
		Review, ReviewInput{Tenant: tenant, BatchID: batchID})
	return err
}

func reviewOptions(taskQueue, tenant, batchID string, running enumspb.WorkflowIdConflictPolicy) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       ReviewWorkflowID(tenant, batchID),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: running,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "review of batch " + batchID,
		TypedSearchAttributes:    ofTenant(tenant),
	}
}
