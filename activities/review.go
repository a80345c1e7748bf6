package activities

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// Reviewing carries out people's decisions on proposals that the pipeline may not apply automatically.
type Reviewing struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   proposals.WritePolicy // the worker's current policy
	Rules    func() *policy.Policy // classification rules in force; may be nil
	Now      func() time.Time
}

// ReviewRef names the review of one batch.
type ReviewRef struct {
	Tenant  string `json:"tenant"`
	BatchID string `json:"batch_id"`
}

func (r ReviewRef) batch() (uuid.UUID, error) {
	id, err := uuid.Parse(r.BatchID)
	if err != nil {
		return uuid.Nil, temporal.NewNonRetryableApplicationError("batch_id is not an id", api.ErrTypeInvalidRequest,
			nil)
	}
	return id, nil
}

// OpenRequest is the input of OpenReview.
type OpenRequest struct {
	ReviewRef
	WindowSeconds int64 `json:"window_seconds"`
}

// OpenReview returns the state of the review of a batch. It sets the deadline of proposals that have just begun to
// wait, and does not change earlier deadlines.
func (a *Reviewing) OpenReview(ctx context.Context, in OpenRequest) (pipeline.ReviewState, error) {
	batch, err := in.batch()
	if err != nil {
		return pipeline.ReviewState{}, err
	}
	st, err := a.Store.OpenReview(ctx, in.Tenant, batch, time.Duration(in.WindowSeconds)*time.Second, step.Now(a.Now))
	return st, step.Fail(err)
}

// ExpireRequest is a request to expire the proposals of a review.
type ExpireRequest struct {
	ReviewRef
	// Proposals with a deadline at or before Before expire. The workflow sets Before to the time that it waited
	// for, because the clocks of two machines may differ.
	Before time.Time `json:"before"`
}

// ExpireResult says how many proposals have ended.
type ExpireResult struct {
	Expired int `json:"expired"`
	// More means that the attempt ran out of time and the caller must ask again for the rest.
	More bool `json:"more,omitempty"`
}

// ExpireProposals ends proposals that were not decided in time: those that contradict a memory mark it as contested,
// all others change nothing. It works page by page until no proposal is left or partialAfter has passed.
func (a *Reviewing) ExpireProposals(ctx context.Context, in ExpireRequest) (ExpireResult, error) {
	batch, err := in.batch()
	if err != nil {
		return ExpireResult{}, err
	}
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	var out ExpireResult
	page := pipeline.ExpireInput{Tenant: in.Tenant, BatchID: batch, Before: in.Before, Policy: a.Policy,
		Rules: step.RulesInForce(a.Rules), Now: step.Now(a.Now)}
	for until := time.Now().Add(partialAfter); ; {
		ended, err := a.Store.ExpireProposals(ctx, page)
		out.Expired += ended.Ended
		if err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		step.Advance(ctx)
		if !ended.More {
			return out, nil
		}
		if out.More = !time.Now().Before(until); out.More {
			return out, nil
		}
		page.After = ended.Next
	}
}

// ReviewBody is the staged body of a decision.
type ReviewBody struct {
	BatchID string               `json:"batch_id"`
	Request schema.ReviewRequest `json:"request"`
}

// DecideProposal carries out an accepted decision. It embeds an approved fact before the transaction, so that no lock
// is held during the call. If the embedder fails, only the embedding is delayed: the outbox still requests it.
func (a *Reviewing) DecideProposal(ctx context.Context, ref schema.OperationRef) (schema.ReviewResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	var body ReviewBody
	waiting, err := a.Store.Accepted(ctx, ref, &body)
	if err != nil {
		return schema.ReviewResult{}, step.Fail(err)
	}
	in := pipeline.DecideInput{Policy: a.Policy, Now: step.Now(a.Now)}
	if waiting {
		if in, err = a.decision(ctx, body); err != nil {
			return schema.ReviewResult{}, step.Fail(err)
		}
	}
	// Otherwise the decision was carried out before: the store returns its first result.
	result, err := a.Store.DecideProposal(ctx, ref, in)
	return result, step.Fail(err)
}

func (a *Reviewing) decision(ctx context.Context, body ReviewBody) (pipeline.DecideInput, error) {
	r := body.Request
	in := pipeline.DecideInput{Principal: r.Principal, Decision: r.Decision, TargetVersion: r.TargetVersion,
		By: r.By(), Reason: r.Reason,
		Policy: a.Policy, Rules: step.RulesInForce(a.Rules), Now: step.Now(a.Now)}
	var err error
	if in.ProposalID, err = uuid.Parse(r.ProposalID); err != nil {
		return in, temporal.NewNonRetryableApplicationError("proposal_id is not an id", api.ErrTypeInvalidRequest, nil)
	}
	if in.BatchID, err = (ReviewRef{BatchID: body.BatchID}).batch(); err != nil {
		return in, err
	}
	if r.Decision == schema.DecisionApprove {
		in.Embedding, err = a.embed(ctx, r.Principal, in.ProposalID)
	}
	return in, err
}

// embed returns the embedding of a waiting proposal's fact, or nil if the decision needs no embedding.
func (a *Reviewing) embed(ctx context.Context, p schema.Principal, id uuid.UUID) (*pg.Embedding, error) {
	item, err := a.Store.GetReview(ctx, p, id, policy.UpTo(schema.SensitivityHyper)) // the item is not shown to anyone
	if errors.Is(err, pg.ErrNotFound) {
		return nil, nil // the decision will report it
	}
	if err != nil {
		return nil, err
	}
	if item.State != schema.ProposalBlocked || item.Action == schema.ActionDelete || item.Fact == "" ||
		a.Embedder.Model().IncludesSpeakers() { // the item does not name the speaker; the outbox requests the embedding
		return nil, nil
	}
	return step.Embedding(ctx, a.Embedder, item.Fact)
}
