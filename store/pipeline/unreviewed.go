package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// actorExpiry is the actor in history for a review that has expired.
const actorExpiry = "review-policy"

// ExpireInput is a request to end the proposals of a batch whose review has expired.
type ExpireInput struct {
	Tenant  string
	BatchID uuid.UUID
	Before  time.Time             // only proposals that expire at or before this time
	Policy  proposals.WritePolicy // what the worker allows now
	Rules   *policy.Policy        // classification rules in force; nil for none
	After   uuid.UUID             // the last proposal of the previous page; zero at the start
	Limit   int                   // of proposals; 0: ExpirePage
	Now     time.Time
}

// ExpirePage is the number of proposals that one call ends. Each contradicting proposal has its own transaction.
const ExpirePage = 100

// Expired is the outcome of a page.
type Expired struct {
	Ended int       // by this call
	Next  uuid.UUID // the last of the page, if More is set
	More  bool
}

// ExpireProposals ends the proposals of a batch whose review has expired, one page in order of their ids. A fact that
// contradicts a memory is kept with it, both marked as contested (proposals.ContestUnreviewed). Every other proposal
// is discarded. Each leaves a row in the history of its source. Calling it again ends the rest.
func (s *Pipeline) ExpireProposals(ctx context.Context, in ExpireInput) (Expired, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out Expired
	page, err := s.unreviewed(ctx, in)
	if err != nil || len(page) == 0 {
		return out, err
	}
	out.Next, out.More = page[len(page)-1].ID, len(page) == cmp.Or(in.Limit, ExpirePage)
	var rest, over []uuid.UUID
	for _, p := range page {
		if proposals.MayContradict(p.Action, p.Outcome) {
			rest = append(rest, p.ID)
		} else {
			over = append(over, p.ID)
		}
	}
	if len(over) > 0 {
		if out.Ended, err = s.discard(ctx, in, over); err != nil {
			return out, fmt.Errorf("expire proposals: %w", err)
		}
	}
	for _, id := range rest { // one transaction each, so that a failure undoes only one
		var ended bool
		err := pg.RetryChange(ctx, func() error {
			return commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) (err error) {
				ended, err = expireOne(ctx, c, id, in)
				return err
			})
		})
		if err != nil {
			return out, fmt.Errorf("expire proposal %s: %w", id, err)
		}
		if ended {
			out.Ended++
		}
	}
	return out, nil
}

// unreviewedProposal is a proposal whose review has expired.
type unreviewedProposal struct {
	ID      uuid.UUID
	Action  schema.Action
	Outcome string
}

// unreviewed reads the next page of such proposals.
func (s *Pipeline) unreviewed(ctx context.Context, in ExpireInput) (page []unreviewedProposal, err error) {
	err = s.Read(ctx, in.Tenant, func(tx pgx.Tx) error {
		page, err = commit.Rows[unreviewedProposal](ctx, tx, `
			SELECT p.id, p.action, p.outcome
			FROM proposals p
			WHERE p.tenant = @tenant
				AND p.batch_id = @batch_id
				AND p.expires_at <= @before
				AND p.id > @after
				AND `+pg.WaitsForReview+`
			ORDER BY p.id
			LIMIT @limit`,
			pg.Args{
				"tenant":   in.Tenant,
				"batch_id": in.BatchID,
				"before":   in.Before.UTC(),
				"after":    in.After,
				"limit":    cmp.Or(in.Limit, ExpirePage),
			})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read proposals that expire: %w", err)
	}
	return page, nil
}

// discard ends proposals that contradict no memory, in one transaction. It skips those decided in the meantime.
func (s *Pipeline) discard(ctx context.Context, in ExpireInput, ids []uuid.UUID) (n int, err error) {
	err = commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) error {
		ended, err := commit.Rows[struct {
			ID          uuid.UUID
			CandidateID uuid.UUID
			MemoryID    uuid.UUID
			Action      schema.Action
			Ordinal     int
			Fact        memory.Fact
		}](ctx, c.Tx, `
			UPDATE proposals p
			SET state = 'expired', memory_id = NULL, reviewed_by = @by, review_reason = @reason, reviewed_at = @now
			FROM memory_candidates c
			WHERE p.tenant = @tenant
				AND p.batch_id = @batch_id
				AND p.expires_at <= @before
				AND c.tenant = p.tenant
				AND c.id = p.candidate_id
				AND p.id = ANY(@ids)
				AND `+pg.WaitsForReview+`
			RETURNING p.id, p.candidate_id, c.memory_id, p.action, p.ordinal, p.fact`,
			pg.Args{
				"tenant":   in.Tenant,
				"batch_id": in.BatchID,
				"before":   in.Before.UTC(),
				"ids":      ids,
				"by":       actorExpiry,
				"reason":   proposals.NotReviewed,
				"now":      c.Now,
			})
		for _, e := range ended {
			p := pendingProposal{ID: e.ID, CandidateID: e.CandidateID, ParentID: e.MemoryID, Ordinal: e.Ordinal,
				Fact: e.Fact}
			metadata := map[string]any{"proposalId": p.ID, "candidateId": p.CandidateID, "proposedAction": e.Action,
				"batchId": in.BatchID, "expired": true}
			p.whichFact(metadata)
			c.History(commit.HistoryRow{MemoryID: p.ParentID, Event: schema.EventNone, By: actorExpiry,
				Reason: proposals.NotReviewed, Metadata: metadata})
		}
		n = len(ended)
		return err
	})
	return n, err
}

// expireOne ends a proposal and reports whether it was still waiting. It locks in the same order as a decision.
func expireOne(ctx context.Context, c *commit.Change, id uuid.UUID, in ExpireInput) (bool, error) {
	batch, err := readBatch(ctx, c.Tx, c.Tenant, in.BatchID)
	if err != nil {
		return false, err
	}
	if err := c.LockScope(ctx, batch.Owner); err != nil {
		return false, err
	}
	l, err := lockProposal(ctx, c, id)
	if err != nil {
		return false, err
	}
	var decided schema.ReviewResult
	if l.answer(&decided); decided.Status != "" {
		return false, nil
	}
	w := newWriting(c, batch, actorExpiry, in.Rules)
	w.review = &reviewing{reason: proposals.NotReviewed, expired: true}
	p := &l.pendingProposal
	var against []uuid.UUID
	if !in.Policy.Narrow(batch.Policy.Mode, false, nil).MutationsFrozen() {
		if against, err = w.contradicted(ctx, l); err != nil {
			return false, err
		}
	}
	if len(against) == 0 {
		w.settleReview(p, schema.ProposalExpired, nil)
		return true, nil
	}
	w.review.reason += ": both are kept, as contested"
	if err := w.contestUnreviewed(ctx, p, against); err != nil {
		return false, err
	}
	if err := w.insertAdds(ctx); err != nil {
		return false, err
	}
	return true, w.corroborate(ctx)
}

// contradicted returns the memories that an unreviewed proposal contradicts, the target first.
func (w *writing) contradicted(ctx context.Context, l *lockedProposal) ([]uuid.UUID, error) {
	p := &l.pendingProposal
	if err := w.prepareReview(ctx, p, w.batch.Owner); err != nil {
		return nil, err
	}
	if source, ok := w.known[p.ParentID]; !ok || !source.live {
		return nil, nil // its source was deleted
	}
	var against []uuid.UUID
	contradicts := func(id uuid.UUID, claims bool) {
		m, ok := w.known[id]
		if !ok || !m.live || id == p.ParentID {
			return
		}
		if proposals.ContestUnreviewed(proposals.Unreviewed{Proposal: p.Proposal, Outcome: l.outcome,
			Fact: p.Fact.Content, Retracts: p.Fact.Retracts, Existing: m.neighbor.Content,
			Changed: m.version != l.targetVersion, Claims: claims}) {
			against = append(against, id)
		}
	}
	hash := normalize.Normalize(p.Fact.Content).Hash
	holders := map[uuid.UUID]bool{}
	if cl := p.Fact.Claim; cl.Functional && !cl.IsZero() {
		add := w.factMemory(p, nil)
		found, err := w.factHolders(ctx, cl, add.Owner, add.Visibility)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			holders[h.ID] = !memory.SameContent(h.Hash, hash) && !sameObject(h.Object, cl.Object)
		}
	}
	if p.TargetID != nil {
		contradicts(*p.TargetID, holders[*p.TargetID])
		delete(holders, *p.TargetID)
	}
	ids := make([]uuid.UUID, 0, len(holders))
	for id, other := range holders {
		if other {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		if err := w.lockRows(ctx, ids, "UPDATE"); err != nil { // which sorts them
			return nil, err
		}
	}
	for _, id := range ids {
		contradicts(id, true)
	}
	return against, nil
}

// contestUnreviewed stores a fact and marks it and the memories that it contradicts as contested.
func (w *writing) contestUnreviewed(ctx context.Context, p *pendingProposal, against []uuid.UUID) error {
	contested := proposals.Verdict{State: schema.ProposalExpired, ContradictionRisk: true}
	if proposals.SourceStates(p.Fact, w.known[p.ParentID].neighbor) { // the source is the other side
		if err := w.contestExisting(ctx, p.ParentID, p, against); err != nil {
			return err
		}
		w.settleReview(p, schema.ProposalExpired, &p.ParentID)
		return nil
	}
	add := w.factMemory(p, nil)
	add.Status, add.Contests = schema.StatusContested, against
	for _, id := range against {
		if err := w.contest(ctx, id, p, contested); err != nil {
			return err
		}
		add.Relations = append(add.Relations, commit.Relation{Predicate: revision.RelationContradicts, Target: id,
			Weight: 1, Reason: w.review.reason})
	}
	w.add(p, add)
	return nil
}

// contestExisting marks an existing memory, and those that it contradicts, as contested.
func (w *writing) contestExisting(ctx context.Context, id uuid.UUID, p *pendingProposal, against []uuid.UUID) error {
	if err := w.lockRows(ctx, []uuid.UUID{id}, "UPDATE"); err != nil {
		return err
	}
	for _, side := range append([]uuid.UUID{id}, against...) {
		if err := w.contest(ctx, side, p, proposals.Verdict{ContradictionRisk: true}); err != nil {
			return err
		}
	}
	for _, other := range against {
		w.Relate(id, revision.RelationContradicts, other)
		w.Relate(other, revision.RelationContradicts, id)
	}
	return nil
}

// contradicts lists the memories that contest a new memory.
func contradicts(m *commit.NewMemory) []uuid.UUID {
	var out []uuid.UUID
	for _, r := range m.Relations {
		if r.Predicate == revision.RelationContradicts {
			out = append(out, r.Target)
		}
	}
	return out
}
