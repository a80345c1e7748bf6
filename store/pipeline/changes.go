package pipeline

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// applyContest stores a fact and marks it and the memory that it probably changes as contested (document 004 §7). A
// person or later evidence decides which one is right.
func (w *writing) applyContest(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	target := *p.TargetID
	add := w.factMemory(p, nil)
	add.Status = schema.StatusContested
	add.Relations = append(add.Relations, commit.Relation{Predicate: revision.RelationContradicts, Target: target,
		Weight: 1, Reason: p.Proposal.Reason})
	if err := w.contest(ctx, target, p, v); err != nil {
		return err
	}
	add.Contests = []uuid.UUID{target}
	w.add(p, add)
	return nil
}

// contestSource contests the target with the source of the fact, because the source is a lasting record with the
// same words.
func (w *writing) contestSource(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	for _, id := range []uuid.UUID{*p.TargetID, p.ParentID} {
		if err := w.contest(ctx, id, p, v); err != nil {
			return err
		}
	}
	w.Relate(p.ParentID, revision.RelationContradicts, *p.TargetID)
	w.Relate(*p.TargetID, revision.RelationContradicts, p.ParentID)
	w.settle(p, v, &p.ParentID)
	w.counts.Updated++
	return nil
}

// contest marks a memory as contested.
func (w *writing) contest(ctx context.Context, id uuid.UUID, p *pendingProposal, v proposals.Verdict) error {
	was := w.known[id]
	if was.standing.Status == schema.StatusContested {
		return nil
	}
	version, err := w.ApplyStep(ctx, commit.MemoryRow{ID: id, Version: was.version, Live: was.live}, commit.Step{
		Set: map[string]any{"status": schema.StatusContested}, NowLive: was.live, Event: schema.EventModified,
		Action: schema.AuditContest,
		By:     w.actor, Reason: "contested: " + w.reasonFor(p), Metadata: w.metadata(p, v)})
	if err != nil {
		return err
	}
	was.version, was.standing.Status, was.neighbor.Status = version, schema.StatusContested, schema.StatusContested
	w.known[id] = was
	return nil
}

// supersedeAlso supersedes the other memories that alsoSaid has found.
func (w *writing) supersedeAlso(ctx context.Context, p *pendingProposal, v proposals.Verdict, add *commit.NewMemory,
	also []uuid.UUID) error {
	for _, id := range also {
		if err := w.supersede(ctx, id, p, v, add); err != nil {
			return err
		}
		add.Relations = append(add.Relations, commit.Relation{Predicate: revision.RelationSupersedes, Target: id,
			Weight: 1, Reason: p.Proposal.Reason})
	}
	return nil
}

// alsoSaid returns the other memories that say the same as the target, and earlier ones that say more about its value,
// except one that says the fact itself. They are locked. Those that are pinned or no longer live are left out: recall
// marks these as outdated. Kept are those that the fact may not change: if there are any, the whole change waits for a
// review. A review has not locked the memories before, and a person may change all of them.
func (w *writing) alsoSaid(ctx context.Context, p *pendingProposal) (also, kept []uuid.UUID, err error) {
	details, err := w.details(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	all := append(slices.Clone(p.Also), details...)
	var unlocked []uuid.UUID
	for _, id := range all {
		if _, known := w.known[id]; !known {
			unlocked = append(unlocked, id)
		}
	}
	if len(unlocked) > 0 {
		if err := w.lockRows(ctx, unlocked, "UPDATE"); err != nil {
			return nil, nil, err
		}
	}
	text := normalize.Normalize(p.Fact.Content)
	for i, id := range all {
		was, more := w.known[id], i >= len(p.Also)
		if more && (was.neighbor.OccurredAt.After(p.OccurredAt) || was.neighbor.Says(text)) {
			continue
		}
		if was.live && !was.neighbor.Pinned && id != *p.TargetID && !slices.Contains(also, id) {
			also = append(also, id)
		}
	}
	if w.review != nil {
		return also, nil, nil
	}
	kept, err = w.kept(ctx, p, slices.Clone(also))
	return also, kept, err
}

// applyRetract retracts the target, the memories that say the same, and those that say more about the target's value,
// without a replacement.
func (w *writing) applyRetract(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	target := *p.TargetID
	also, kept, err := w.alsoSaid(ctx, p)
	if err != nil {
		return err
	}
	if len(kept) > 0 { // the retracted statement would stay current in another memory
		w.settle(p, proposals.Verdict{State: schema.ProposalBlocked, Reason: proposals.ReasonRevisionPolicy,
			ReviewNeeded: true, ContradictionRisk: v.ContradictionRisk}, &kept[0])
		return nil
	}
	for _, id := range append([]uuid.UUID{target}, also...) {
		if err := w.retire(ctx, id, p, v, commit.Step{Set: map[string]any{"status": schema.StatusRetracted},
			Event:  schema.EventModified,
			Action: schema.AuditRetract, Reason: w.reasonFor(p)}); err != nil {
			return err
		}
	}
	w.settle(p, v, &target)
	w.counts.Updated++
	return nil
}

var staleSQL = commit.NewBulk("tenant text, id uuid", `
	UPDATE proposals
	SET state = 'stale', outcome = '`+proposals.ReasonCandidatesChanged+`'
	WHERE tenant = (@tenant::text[])[1] AND id = ANY(@id::uuid[])`)

// decideAgain leaves a proposal to the next round, because the memories that it was based on have changed. So are the
// later proposals of this write that seem to change its fact.
func (w *writing) decideAgain(p *pendingProposal) {
	w.Add(staleSQL, pg.Args{"tenant": w.Tenant, "id": p.ID})
	w.counts.Stale++
	if cl := p.Fact.Claim; cl.Functional && !cl.IsZero() {
		w.deferred[claimName(cl)] = true
	}
	w.added.Add(p.Fact.Content, p.Speaker, p.OccurredAt)
}

// changesAdded reports whether a fact seems to change a fact that this write adds or leaves to the next round. Then the
// next round decides the proposal, too, with that fact among the neighbours.
func (w *writing) changesAdded(p *pendingProposal) bool {
	return w.review == nil && w.added.Changed(p.Fact, p.OccurredAt)
}

// add queues a new memory for insertion.
func (w *writing) add(p *pendingProposal, m commit.NewMemory) {
	w.adds, w.addFor = append(w.adds, m), append(w.addFor, p)
	if w.review == nil {
		w.added.Add(m.Text.Storage, m.Who, m.OccurredAt)
	}
}
