package workflows

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows/flow"
)

var reviewing *activities.Reviewing

// Review waits for people to decide on the proposals that an ingest could not apply automatically (document 002
// "Shadow Mode vs. Controlled Writes"): those that a rule held back, and contradictions. The update UpdateDecide
// carries out one decision and returns its result. The run ends when no proposal of the batch is open. Proposals that
// are not decided in time are discarded, except contradictions: both sides are kept and marked as contested.
//
// A run holds no state. Open proposals are in Postgres, so that a decision finds its proposal even if an
// earlier run has ended or never existed (Decide starts one). The history contains the reviewer's words, in the update,
// and no other content.
//
// An accepted decision is carried out before the run ends, even if the run is cancelled.
func Review(ctx workflow.Context, in api.ReviewInput) (api.ReviewProgress, error) {
	run := &review{Display: flow.Display{Lean: flow.Lean(ctx)}, in: in,
		ref: activities.ReviewRef{Tenant: in.Tenant, BatchID: in.BatchID}}
	if err := run.setup(ctx); err != nil {
		return api.ReviewProgress{}, err
	}
	err := flow.Strict(ctx, &in)
	if err == nil {
		err = run.work(ctx)
	}
	if err != nil {
		flow.DrainHandlers(ctx)
		return api.ReviewProgress{}, err
	}
	return run.finish(ctx), nil
}

// work ends without an error when nothing is open.
func (run *review) work(ctx workflow.Context) error {
	for {
		run.moved = false
		if err := run.readState(ctx); err != nil {
			return err
		}
		if run.progress.Open == 0 {
			flow.DrainHandlers(ctx)
			if run.moved {
				continue
			}
			return nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			flow.DrainHandlers(ctx)
			return flow.ContinueAsNew(ctx, Review, run.in)
		}
		if err := run.wait(ctx); err != nil {
			return err
		}
	}
}

// review is the state of one run.
type review struct {
	flow.Display
	in       api.ReviewInput
	ref      activities.ReviewRef
	progress api.ReviewProgress
	moved    bool // a decision has come since the run last read the state
	shown    bool
}

func (run *review) setup(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.ReviewProgress, error) {
		return run.progress, nil
	}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, api.UpdateDecide, run.decide, workflow.UpdateHandlerOptions{
		Validator: func(_ workflow.Context, req schema.ReviewRequest) error { return run.check(req) }})
}

// check refuses a decision before it enters the history.
func (run *review) check(req schema.ReviewRequest) error {
	err := req.Validate()
	if err == nil && req.Principal.Tenant != run.in.Tenant {
		err = &schema.ValidationError{Fields: []schema.FieldError{{Field: "principal.tenant",
			Problem: "is not that of the review"}}}
	}
	return flow.InvalidRequest(err)
}

// readState reads the state of the review from Postgres.
func (run *review) readState(ctx workflow.Context) error {
	window := run.in.ExpiresAfterSeconds
	if window <= 0 {
		window = int64(flow.ReviewWindow / time.Second)
	}
	var st pipeline.ReviewState
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.StoreOptions("read open proposals",
		flow.ReviewAttempts)),
		reviewing.OpenReview,
		activities.OpenRequest{ReviewRef: run.ref, WindowSeconds: window}).Get(ctx, &st)
	if err != nil {
		return err
	}
	run.progress = api.ReviewProgress{Open: st.Open, Approved: st.Approved, Rejected: st.Rejected,
		Expired: st.Expired, NextAt: st.NextAt}
	if run.shown {
		workflow.SetCurrentDetails(ctx, run.details())
		return nil
	}
	run.shown = true
	of := schema.Principal{Tenant: run.in.Tenant, Agent: st.Agent, Project: st.Project}
	if !run.Lean || run.progress.Open > 0 {
		run.Display.Wait(ctx, api.PhaseReview, run.counts(), mneme.Whose(of)...)
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

func (run *review) details() string { return "**" + api.PhaseReview + "**: " + run.counts() }

// wait returns when a decision has come, or when proposals have expired and are discarded.
func (run *review) wait(ctx workflow.Context) error {
	next := run.progress.NextAt
	if next == nil { // unreachable: open proposals expire
		return workflow.Await(ctx, func() bool { return run.moved })
	}
	left := next.Sub(workflow.Now(ctx))
	if left > 0 {
		decided, err := workflow.AwaitWithTimeout(ctx, left, func() bool { return run.moved })
		if err != nil || decided {
			return err
		}
	}
	// Proposals that an attempt leaves when its time is over are still open and expired at the next check.
	options := flow.EmbedOptions("expire undecided proposals", flow.ReviewAttempts)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), reviewing.ExpireProposals,
		activities.ExpireRequest{ReviewRef: run.ref, Before: *next}).Get(ctx, nil)
}

// decide carries out one decision. Its key is its operation id or, without one, the id of the update: a decision that
// is delivered again after a lost acknowledgement finds its first result, in this run or in a later one. Another
// decision with the same operation id is refused. It ends before a cancellation is handled.
func (run *review) decide(ctx workflow.Context, req schema.ReviewRequest) (schema.ReviewResult, error) {
	defer func() { run.moved = true }()
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	info := workflow.GetInfo(ctx)
	ref := run.decisionRef(info.WorkflowExecution.ID, workflow.GetCurrentUpdateInfo(ctx).ID, req)
	var result schema.ReviewResult
	decision := activities.ReviewBody{BatchID: run.in.BatchID, Request: req}
	body, err := json.Marshal(decision) //workflowcheck:ignore: encoding a struct gives the same bytes every time
	if err != nil {
		return result, temporal.NewNonRetryableApplicationError("the request cannot be encoded",
			api.ErrTypeInvalidRequest, nil)
	}
	options := flow.StageOptions
	options.Summary = "accept the decision"
	err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), accepting.Accept,
		activities.AcceptRequest{Operation: ref, Kind: api.KindReview, Body: body}).Get(ctx, nil)
	if err != nil {
		return result, err
	}
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.EmbedOptions(string(req.Decision)+" "+req.ProposalID, flow.InfrastructureAttempts)),
		reviewing.DecideProposal, ref).Get(ctx, &result)
	if err != nil {
		drop(ctx, ref)
		return result, err
	}
	indexChanged(ctx, run.in.Tenant, result.Changed())
	return result, nil
}

// decisionRef identifies a decision by its run, its proposal, and its operation id or its update. It also has the keys
// under which another version of the program may have carried it out.
func (run *review) decisionRef(id, updateID string, req schema.ReviewRequest) schema.OperationRef {
	return schema.OperationRef{Tenant: run.in.Tenant, WorkflowID: id, ID: api.DecisionKey(id, updateID, req),
		Others: api.EarlierDecisionKeys(id, updateID, run.in.BatchID, req)}
}

// finish shows how the review ended.
func (run *review) finish(ctx workflow.Context) api.ReviewProgress {
	outcome := api.OutcomeReviewed
	if run.progress.Expired > 0 {
		outcome = api.OutcomeExpired
	}
	run.Display.Show(ctx, api.PhaseDone, run.counts(), mneme.AttrOutcome.ValueSet(outcome))
	return run.progress
}
