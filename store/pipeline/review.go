package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// ToReview counts the proposals of a range that wait for a person.
func (s *Pipeline) ToReview(ctx context.Context, r schema.Range) (n int, err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT count(*)`+proposalTables+`
			WHERE p.tenant = @tenant
				AND p.batch_id = @batch_id
				AND c.ordinal >= @from
				AND c.ordinal < @to
				AND `+pg.WaitsForReview, rangeArgs(r, nil)).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count proposals to review: %w", err)
	}
	return n, nil
}

// ReviewState is the state of a batch's review.
type ReviewState struct {
	Agent    string     `json:"agent,omitempty"` // the agent of the batch; empty if there is no batch
	Project  string     `json:"project,omitempty"`
	Open     int        `json:"open"`
	Approved int        `json:"approved"`
	Rejected int        `json:"rejected"`
	Expired  int        `json:"expired"`
	NextAt   *time.Time `json:"next_at,omitempty"` // when the next open one expires
}

// OpenReview sets the time at which the waiting proposals of a batch expire, unless they have one, and returns the
// state of the review. A second call does not change that time.
func (s *Pipeline) OpenReview(ctx context.Context, tenant string, batchID uuid.UUID, window time.Duration,
	now time.Time) (ReviewState, error) {
	var st ReviewState
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		if _, err := c.Tx.Exec(ctx, `
			UPDATE proposals p
			SET expires_at = @expires_at
			WHERE p.tenant = @tenant
				AND p.batch_id = @batch_id
				AND p.expires_at IS NULL
				AND `+pg.WaitsForReview,
			pg.Args{"tenant": tenant, "batch_id": batchID, "expires_at": c.Now.Add(window)}); err != nil {
			return err
		}
		found, err := commit.Row[ReviewState](ctx, c.Tx, `
			SELECT b.agent_id AS agent, b.project,
				count(*) FILTER (WHERE `+pg.WaitsForReview+`) AS open,
				count(*) FILTER (WHERE p.state = 'applied' AND `+wasReviewed+`) AS approved,
				count(*) FILTER (WHERE p.state = 'rejected') AS rejected,
				count(*) FILTER (WHERE p.state = 'expired') AS expired,
				min(p.expires_at) FILTER (WHERE `+pg.WaitsForReview+`) AS next_at
			FROM ingest_batches b
				LEFT JOIN proposals p ON p.tenant = b.tenant AND p.batch_id = b.id
			WHERE b.tenant = @tenant AND b.id = @batch_id
			GROUP BY b.agent_id, b.project`,
			pg.Args{"tenant": tenant, "batch_id": batchID})
		st = found
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return ReviewState{}, fmt.Errorf("open review: %w", err)
	}
	return st, nil
}

// DecideInput is a person's decision on a proposal.
type DecideInput struct {
	Principal     schema.Principal
	BatchID       uuid.UUID // of the proposal
	ProposalID    uuid.UUID
	Decision      schema.Decision
	TargetVersion int    // that the reviewer saw; 0: the one that the proposal is based on
	By, Reason    string // for history
	Policy        proposals.WritePolicy
	Rules         *policy.Policy // classification rules in force; nil for none
	Embedding     *pg.Embedding  // of the fact, for an approval; nil: the outbox will request one
	Now           time.Time
}

// reviewing is the state of one approval.
type reviewing struct {
	reason     string // the reviewer's
	memoryID   string // the memory that was written, already existed or was removed
	superseded []string
	why        string
	expired    bool // the review has expired, so the fact is stored as contested
}

// DecideProposal carries out a person's decision in one transaction (document 002 "Shadow Mode vs. Controlled
// Writes": changes that the pipeline may not apply wait for review). An approval is applied to the current rows,
// with the reviewer as actor. The source and the target must be live, the target must have the version that the
// reviewer saw, and both the request's mode and the worker's must allow the change. Otherwise nothing changes and
// the proposal still waits. A second caller gets the first decision.
//
// If another memory makes the claim of an approved fact, the fact replaces it: the reviewer has seen the
// contradiction (document 004 §7 and §12).
func (s *Pipeline) DecideProposal(
	ctx context.Context,
	op schema.OperationRef,
	in DecideInput,
) (schema.ReviewResult, error) {
	result, err := pg.RetryOnConflict(ctx, func() (schema.ReviewResult, error) {
		return RunOnce(ctx, s.DB, op, kindReview, in.Now, func(c *commit.Change) (schema.ReviewResult,
			error) {
			return decideProposal(ctx, c, in)
		})
	})
	if err != nil {
		return result, fmt.Errorf("decide proposal: %w", err)
	}
	return result, nil
}

func decideProposal(ctx context.Context, c *commit.Change, in DecideInput) (schema.ReviewResult, error) {
	result := schema.ReviewResult{ProposalID: in.ProposalID.String()}
	var found bool
	err := c.Tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT`+reviewTables+`
			WHERE p.tenant = @tenant
				AND p.id = @id
				AND p.batch_id = @batch_id
				AND `+mayReview+`)`,
		pg.Args{
			"tenant":   c.Tenant,
			"id":       in.ProposalID,
			"batch_id": in.BatchID,
			"agent":    in.Principal.Agent,
			"project":  in.Principal.Project,
			"grants":   pg.ChangeGrants(in.Principal),
		}).Scan(&found)
	if err != nil {
		return result, err
	}
	if !found {
		result.Status = schema.ReviewNotFound
		return result, nil
	}
	batch, err := readBatch(ctx, c.Tx, c.Tenant, in.BatchID)
	if err != nil {
		return result, err
	}
	// In the order of Write: scope, proposal, claim, memories.
	if err := c.LockScope(ctx, batch.Owner); err != nil {
		return result, err
	}
	standing, err := lockProposal(ctx, c, in.ProposalID)
	if err != nil {
		return result, err
	}
	if standing.answer(&result); result.Status != "" {
		return result, nil
	}
	w := newWriting(c, batch, in.By, in.Rules)
	w.review = &reviewing{reason: in.Reason}
	p := &standing.pendingProposal
	if in.Decision == schema.DecisionReject {
		result.Status, result.State = schema.ReviewRejected, schema.ProposalRejected
		w.settleReview(p, result.State, nil)
		return result, nil
	}
	if err := w.prepareReview(ctx, p, in.Principal); err != nil {
		return result, err
	}
	if w.obstacle(standing, in, &result); result.Status != "" {
		return result, nil
	}
	if e := in.Embedding; e != nil {
		vector := pgvector.NewVector(e.Vector)
		p.Embedding, p.Model = &vector, &e.Model.Name
	}
	result.Status, result.State = schema.ReviewApplied, schema.ProposalApplied
	verdict := proposals.Verdict{State: schema.ProposalApplied}
	if p.Proposal.Action == schema.ActionNone {
		w.settle(p, verdict, nil) // agreed: there is nothing to write
		return result, nil
	}
	if err := w.apply(ctx, p, verdict); err != nil {
		return result, err
	}
	if err := w.insertAdds(ctx); err != nil {
		return result, err
	}
	if err := w.corroborate(ctx); err != nil {
		return result, err
	}
	result.MemoryID, result.Superseded, result.Why = w.review.memoryID, w.review.superseded, w.review.why
	return result, nil
}

// lockedProposal is a proposal as a review finds it, locked until commit.
type lockedProposal struct {
	pendingProposal
	state         schema.ProposalState
	outcome       string
	targetVersion int
	memoryID      *uuid.UUID
	reviewedBy    string
}

func lockProposal(ctx context.Context, c *commit.Change, id uuid.UUID) (*lockedProposal, error) {
	l, err := commit.Row[struct {
		proposalRow
		State         schema.ProposalState
		Outcome       string
		TargetVersion int
		MemoryID      *uuid.UUID
		ReviewedBy    string
	}](ctx, c.Tx, `
		SELECT `+proposalColumns+`,
			p.state, p.outcome, coalesce(p.target_version, 0) AS target_version, p.memory_id, p.reviewed_by`+
		proposalTables+`
		WHERE p.tenant = @tenant AND p.id = @id
		FOR UPDATE OF p`, pg.Args{"tenant": c.Tenant, "id": id})
	if err != nil {
		return nil, err
	}
	return &lockedProposal{pendingProposal: l.pending(), state: l.State, outcome: l.Outcome,
		targetVersion: l.TargetVersion, memoryID: l.MemoryID, reviewedBy: l.ReviewedBy}, nil
}

// answer sets the outcome of a proposal. The status stays empty if the proposal waits for a decision.
func (l *lockedProposal) answer(r *schema.ReviewResult) {
	r.State = l.state
	if l.memoryID != nil && l.state != schema.ProposalBlocked {
		r.MemoryID = l.memoryID.String()
	}
	switch l.state {
	case schema.ProposalBlocked:
		if l.outcome == proposals.ReasonShadowMode || l.outcome == proposals.ReasonMutationsFrozen {
			r.Status, r.Why = schema.ReviewFrozen, "it was ingested in a mode that applies no changes"
		}
	case schema.ProposalExpired:
		r.Status, r.Why = schema.ReviewExpired, proposals.NotReviewed
		if r.MemoryID != "" {
			r.Why += ": both are kept, as contested"
		}
	case schema.ProposalApplied, schema.ProposalRejected, schema.ProposalSkipped:
		r.Status, r.Why = schema.ReviewDecided, fmt.Sprintf("%s by the pipeline", l.state)
		if l.reviewedBy != "" {
			r.Why = fmt.Sprintf("%s by %s", l.state, l.reviewedBy)
		}
	default: // proposed or stale: the pipeline is still working on it
		r.Status, r.Why = schema.ReviewNotFound, "the pipeline has not decided whether it needs a review"
	}
}

// prepareReview locks everything that an approved proposal changes: the scopes of its memories, the claim of its
// fact, and the memories.
func (w *writing) prepareReview(ctx context.Context, p *pendingProposal, principal schema.Principal) error {
	ids := []uuid.UUID{p.ParentID}
	if p.TargetID != nil {
		ids = append(ids, *p.TargetID)
	}
	if err := w.LockScopesOf(ctx, principal, ids); err != nil {
		return err
	}
	if cl := p.Fact.Claim; cl.Functional && !cl.IsZero() {
		owner, visibility := w.batch.Owner, w.batch.Visibility
		err := w.Tx.QueryRow(ctx, `
			SELECT scope, visibility
			FROM memories
			WHERE tenant = $1 AND id = $2`, w.Tenant, p.ParentID).Scan(&owner.Scope, &visibility)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := w.LockClaims(ctx, []commit.ClaimOf{{Owner: owner, Visibility: visibility, Subject: cl.Subject,
			Predicate: cl.Predicate}}); err != nil {
			return err
		}
	}
	if p.TargetID != nil {
		if err := w.LockContests(ctx, append(slices.Clone(p.Also), *p.TargetID), ids...); err != nil {
			return err
		}
	}
	return w.lockRows(ctx, ids, "UPDATE")
}

// obstacle sets the result if something prevents an approval.
func (w *writing) obstacle(l *lockedProposal, in DecideInput, r *schema.ReviewResult) {
	conflict := func(format string, args ...any) {
		r.Status, r.Why = schema.ReviewVersionConflict, fmt.Sprintf(format, args...)
	}
	if in.Policy.Narrow(w.batch.Policy.Mode, false, nil).MutationsFrozen() {
		r.Status, r.Why = schema.ReviewFrozen, "the worker's or the request's mode applies no changes"
		return
	}
	if source, ok := w.known[l.ParentID]; !ok || !source.live {
		conflict("the source %s is no longer live", l.ParentID)
		return
	}
	if normalize.Normalize(l.Fact.Content).Normalized == "" {
		conflict("the text of the proposal no longer exists")
		return
	}
	if l.TargetID == nil || l.Proposal.Action != schema.ActionUpdate && l.Proposal.Action != schema.ActionDelete {
		return
	}
	seen := l.targetVersion
	if in.TargetVersion > 0 {
		seen = in.TargetVersion
	}
	target, ok := w.known[*l.TargetID]
	if ok {
		r.CurrentVersion = target.version
	}
	switch {
	case !ok:
		conflict("the target %s is gone", l.TargetID)
	case !target.live:
		conflict("the target %s is no longer live", l.TargetID)
	case target.version != seen:
		conflict("the target %s has version %d, not %d", l.TargetID, target.version, seen)
	default:
		r.CurrentVersion = 0
	}
}

// settleReview records a person's decision in the proposal's row and in the history of its source. The row keeps
// the reason for the review.
func (w *writing) settleReview(p *pendingProposal, state schema.ProposalState, memoryID *uuid.UUID) {
	if w.review.expired {
		state = schema.ProposalExpired
	}
	w.Queue.Queue(`
		UPDATE proposals
		SET state = @state,
			memory_id = @memory_id,
			reviewed_by = @by,
			review_reason = @reason,
			reviewed_at = @now,
			written_at = CASE WHEN @state = 'applied' THEN @now::timestamptz ELSE written_at END,
			embedding = NULL,
			embedding_model = NULL
		WHERE tenant = @tenant AND id = @id`,
		pg.Args{
			"tenant":    w.Tenant,
			"id":        p.ID,
			"state":     state,
			"memory_id": memoryID,
			"by":        w.actor,
			"reason":    w.review.reason,
			"now":       w.Now,
		})
	metadata := w.metadata(p, proposals.Verdict{State: state})
	metadata["decision"] = state
	p.whichFact(metadata)
	if w.review.expired {
		metadata["expired"] = true
		delete(metadata, "reviewed")
	}
	if memoryID != nil {
		w.review.memoryID = memoryID.String()
		metadata["memory_id"] = w.review.memoryID
	}
	w.History(commit.HistoryRow{MemoryID: p.ParentID, Event: schema.EventNone, By: w.actor, Reason: w.review.reason,
		Metadata: metadata})
}
