package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// applyAdd queues a new memory for insertion, unless its claim contradicts the claim of another memory.
func (w *writing) applyAdd(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	add := w.factMemory(p, nil)
	settled, err := w.settleConflict(ctx, p, v, &add, nil)
	if err != nil || settled {
		return err
	}
	w.add(p, add)
	return nil
}

// factMemory returns the memory that a fact becomes. It has the scope and the visibility of its source unless a
// rule sets others. It is pinned if its source is pinned and says the same.
func (w *writing) factMemory(p *pendingProposal, supersedes *uuid.UUID) commit.NewMemory {
	owner, visibility := w.batch.Owner, w.batch.Visibility
	parent, stored := w.known[p.ParentID]
	if stored {
		owner.Scope, visibility = parent.scope, parent.visibility
	} else {
		parent.trust = 1 // shadow mode: nothing is written
	}
	explained := intake.AdmitFact(p.Fact, intake.FactSource{Principal: owner, Visibility: visibility,
		Trust: parent.trust,
		Candidate: schema.Candidate{SourceKind: p.SourceKind, Speaker: p.Speaker, Session: p.Session,
			OccurredAt: &p.OccurredAt, Refs: p.Refs,
			Tags: p.ParentTags, Sensitivity: p.Sensitivity}}, w.rules)
	cl := explained.Classification
	owner.Scope, visibility = cmp.Or(cl.Scope, owner.Scope), cmp.Or(cl.Visibility, visibility)
	text := normalize.Normalize(p.Fact.Content)
	if parent.neighbor.Pinned && parent.neighbor.Says(text) {
		cl = cl.Pin()
	}
	claim := p.Fact.Claim
	subject, predicate, object := claim.Subject, claim.Predicate, claim.Object
	if claim.IsZero() {
		subject, predicate, object = p.Speaker, schema.PredicateStates, p.Fact.Content
		if subject == "" {
			subject = owner.Agent
		}
	}
	payload := memory.SemanticPayload(subject, predicate, object, claim.Functional)
	payload.RevisionPolicy, payload.Evidence = cl.RevisionPolicy, p.evidence()
	m := commit.NewMemory{
		ID: pg.NewID(), Owner: owner, Visibility: visibility, Classification: cl, Text: text,
		Payload: payload, SourceTrust: cl.SourceTrust, RevisionPolicy: cl.RevisionPolicy,
		Who: p.Speaker, Session: p.Session, Claim: claim, Confidence: cl.Confidence, OccurredAt: p.OccurredAt,
		CreatedBy: w.actor, Refs: p.evidence(), DerivedFrom: &p.ParentID, Supersedes: supersedes,
		Hints:  append([]memory.Hint{}, p.Fact.AllHints()...),
		Reason: w.reasonFor(p), Metadata: w.metadata(p, proposals.Verdict{}),
	}
	maps.Copy(m.Metadata, explained.Metadata())
	if p.Embedding != nil && p.Model != nil {
		v := p.Embedding.Slice()
		m.Embedding = &pg.Embedding{Model: inference.EmbeddingModel{Name: *p.Model, Dimensions: len(v)}, Vector: v}
	}
	return m
}

// insertAdds inserts the new memories of the change and settles their proposals.
func (w *writing) insertAdds(ctx context.Context) error {
	if len(w.adds) == 0 {
		return nil
	}
	if err := w.Flush(ctx); err != nil { // updates and deletes come first, because they free hashes and claims
		return err
	}
	ids, err := w.InsertMemories(ctx, w.adds)
	if err != nil {
		return err
	}
	for i, id := range ids {
		p, add := w.addFor[i], &w.adds[i]
		if id != add.ID {
			if id == p.ParentID { // the source has the same text, and no hints from a model yet
				w.Hint(id, add.Hints)
			}
			w.noteRestatement(p, id)
			if against := contradicts(add); len(against) > 0 && !slices.Contains(against, id) {
				if err := w.contestExisting(ctx, id, p, against); err != nil {
					return err
				}
			}
			replaced := supersededBy(add)
			if len(replaced) == 0 && w.review == nil {
				w.settle(p, proposals.Verdict{State: schema.ProposalSkipped, Reason: proposals.ReasonDuplicate}, &id)
				continue
			}
			if err := w.succeed(ctx, id, p, add, replaced); err != nil {
				return err
			}
		}
		w.settle(p, proposals.Verdict{State: schema.ProposalApplied}, &id)
		if p.Proposal.Action == schema.ActionUpdate {
			w.counts.Updated++
		} else {
			w.counts.Added++
		}
	}
	return nil
}

// supersededBy lists the memories that a new memory supersedes.
func supersededBy(m *commit.NewMemory) []uuid.UUID {
	var out []uuid.UUID
	if m.Supersedes != nil {
		out = append(out, *m.Supersedes)
	}
	for _, r := range m.Relations {
		if r.Predicate == revision.RelationSupersedes {
			out = append(out, r.Target)
		}
	}
	return out
}

// succeed makes an existing memory with the content of an add the successor of the memories that the add
// superseded.
func (w *writing) succeed(ctx context.Context, id uuid.UUID, p *pendingProposal, add *commit.NewMemory,
	replaced []uuid.UUID) error {
	for _, old := range replaced {
		// The version stays the same. This change has already superseded the memory, with a successor that was then
		// not inserted. No reader has seen that version, and history records one step.
		w.Queue.Queue(`
			UPDATE memories
			SET superseded_by = @successor
			WHERE tenant = @tenant AND id = @id`,
			pg.Args{"tenant": w.Tenant, "id": old, "successor": id})
		w.Relate(id, revision.RelationSupersedes, old)
	}
	if w.review != nil && w.review.why == "" {
		w.review.why = proposals.ReasonDuplicate
	}
	return w.keepPinned(ctx, id, p, add.Classification.Pinned)
}

// applyUpdate supersedes the target, which is kept and marked as superseded. The new memory points to it.
func (w *writing) applyUpdate(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	target := *p.TargetID
	stated := proposals.SourceStates(p.Fact, w.known[p.ParentID].neighbor)
	switch {
	case v.Change != memory.ChangeContest:
	case stated:
		return w.contestSource(ctx, p, v)
	default:
		return w.applyContest(ctx, p, v)
	}
	also, kept, err := w.alsoSaid(ctx, p)
	if err != nil {
		return err
	}
	if len(kept) > 0 { // a memory with the old value would stay current
		w.settle(p, proposals.Verdict{State: schema.ProposalBlocked, Reason: proposals.ReasonActiveFactExists,
			ReviewNeeded: true, ContradictionRisk: true}, &kept[0])
		return nil
	}
	if stated { // the source is the successor
		successor := commit.NewMemory{ID: p.ParentID}
		if err := w.supersede(ctx, target, p, v, &successor); err != nil {
			return err
		}
		if err := w.supersedeAlso(ctx, p, v, &successor, also); err != nil {
			return err
		}
		for _, old := range append([]uuid.UUID{target}, supersededBy(&successor)...) {
			w.Relate(p.ParentID, revision.RelationSupersedes, old)
		}
		if !p.Fact.Claim.IsZero() {
			w.Claim(p.ParentID, p.Fact.Claim)
		}
		w.Hint(p.ParentID, append(p.Fact.AllHints(), successor.Hints...))
		if err := w.keepPinned(ctx, p.ParentID, p, successor.Classification.Pinned); err != nil {
			return err
		}
		w.settle(p, v, &p.ParentID)
		w.counts.Updated++
		return nil
	}
	add := w.factMemory(p, &target)
	settled, err := w.settleConflict(ctx, p, v, &add, also)
	if err != nil || settled {
		return err
	}
	if err := w.supersede(ctx, target, p, v, &add); err != nil {
		return err
	}
	if err := w.supersedeAlso(ctx, p, v, &add, also); err != nil {
		return err
	}
	w.add(p, add)
	return nil
}

// applyDelete soft-deletes the target.
func (w *writing) applyDelete(ctx context.Context, p *pendingProposal, v proposals.Verdict) error {
	target := *p.TargetID
	if p.Proposal.Change == memory.ChangeRetract { // whether the pipeline or a person applies it
		return w.applyRetract(ctx, p, v)
	}
	if err := w.retire(ctx, target, p, v, commit.Step{Set: map[string]any{"deleted_at": w.Now},
		Event: schema.EventDeleted, Action: schema.AuditDelete,
		Reason: w.reasonFor(p)}); err != nil {
		return err
	}
	w.settle(p, v, &target)
	w.counts.Deleted++
	return nil
}

// supersede retires a memory in favour of its successor. The successor inherits a pin: only a person may replace a
// pinned memory, and that decision does not unpin it.
func (w *writing) supersede(ctx context.Context, id uuid.UUID, p *pendingProposal, v proposals.Verdict,
	successor *commit.NewMemory) error {
	if w.known[id].neighbor.Pinned {
		successor.Classification = successor.Classification.Pin()
	}
	if old := w.known[id]; proposals.MayRepeat(w.readersOf(p, successor),
		proposals.Readers{Sensitivity: old.sensitivity, Visibility: old.visibility}) {
		successor.Hints = append(successor.Hints, proposals.SuccessorHint(old.neighbor)...)
	}
	reason := "superseded: " + p.Proposal.Reason
	if w.review != nil {
		reason = w.review.reason
		w.review.superseded = append(w.review.superseded, id.String())
	}
	return w.retire(ctx, id, p, v, commit.Step{Set: map[string]any{"status": schema.StatusSuperseded,
		"superseded_by": successor.ID, "superseded_at": w.Now},
		Event: schema.EventModified, Action: schema.AuditRevise, Reason: reason})
}

// readersOf returns what decides who may read a successor: a new memory, or the source of the proposal.
func (w *writing) readersOf(p *pendingProposal, successor *commit.NewMemory) proposals.Readers {
	if source, ok := w.known[p.ParentID]; ok && successor.ID == p.ParentID {
		return proposals.Readers{Sensitivity: source.sensitivity, Visibility: source.visibility}
	}
	return proposals.Readers{Sensitivity: successor.Classification.Sensitivity, Visibility: successor.Visibility}
}

// retire carries out the step by which a memory stops being live. The row is locked, and it was live in the version
// that the proposal may act on.
func (w *writing) retire(ctx context.Context, id uuid.UUID, p *pendingProposal, v proposals.Verdict,
	s commit.Step) error {
	was := w.known[id]
	s.Old, s.By, s.Metadata = &was.neighbor.Content, w.actor, w.metadata(p, v)
	version, err := w.ApplyStep(ctx, commit.MemoryRow{ID: id, Version: was.version, Live: was.live}, s)
	if err != nil {
		return err
	}
	was.version, was.live = version, false
	w.known[id] = was // later proposals of this change were decided on the earlier version
	return nil
}

// keepPinned pins an existing memory that became the successor of a pinned one.
func (w *writing) keepPinned(ctx context.Context, id uuid.UUID, p *pendingProposal, pinned bool) error {
	if !pinned {
		return nil
	}
	// The memory is the owner's, because the content of another owner is not a duplicate.
	rows, err := w.LockRows(ctx, w.batch.Owner, []uuid.UUID{id})
	if err != nil {
		return err
	}
	m, ok := rows[id]
	if !ok {
		return fmt.Errorf("memory %s: %w", id, pg.ErrNotFound) // unreachable: it is held until commit
	}
	if m.Pinned {
		return nil
	}
	_, err = w.ApplyStep(ctx, m, commit.Step{
		Set:     m.Pin(w.Now),
		NowLive: m.Live, Event: schema.EventModified, Action: schema.AuditModify, By: w.actor, Reason: w.reasonFor(p),
		Metadata: w.metadata(p, proposals.Verdict{})})
	return err
}
