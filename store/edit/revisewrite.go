package edit

import (
	"context"
	"maps"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// carry writes the planned revision.
func (r *revising) carry(ctx context.Context) error {
	// Memories that stop being live come first, because that frees contents and claims.
	for _, stays := range []bool{false, true} {
		for i := range r.ids {
			if r.plan.Steps[i].Status.Live() == stays {
				if err := r.takeTarget(ctx, i); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case r.named != uuid.Nil:
		if err := r.takeNamed(ctx); err != nil {
			return err
		}
	case r.record != nil:
		if err := r.insertRecord(ctx); err != nil {
			return err
		}
	}
	if r.plan.Narrowed != nil {
		if err := r.insertNarrowed(ctx); err != nil {
			return err
		}
	}
	for _, e := range r.plan.Relations {
		source, err := uuid.Parse(e.Source)
		if err != nil {
			return err // unreachable: they are ids of this revision
		}
		target, err := uuid.Parse(e.Target)
		if err != nil {
			return err
		}
		r.RelateAs(source, commit.Relation{
			Predicate: e.Predicate,
			Target:    target,
			Weight:    1,
			Reason:    r.in.Request.Reason,
		})
	}
	if m, ok := r.rows[r.named]; ok && r.plan.Record.SourceTrust < m.SourceTrust {
		lowered, err := distrustDerived(ctx, r.Change, r.named, r.plan.Record.SourceTrust, r.in.Request.Principal,
			r.metadata(nil))
		if err != nil {
			return err
		}
		for id, version := range lowered {
			if _, ours := r.versions[id]; ours {
				r.versions[id] = version
			}
		}
	}
	if r.in.Request.Winner != "" {
		return r.supportWinner(ctx)
	}
	return r.discardDone(ctx)
}

// discardDone discards a new record whose task is done, as a put of it does (document 004 §6).
func (r *revising) discardDone(ctx context.Context) error {
	if r.record == nil || !revision.TaskDone(*r.in.Request.Record) {
		return nil
	}
	content := r.record.Text.Storage
	version, err := r.ApplyStep(ctx, commit.MemoryRow{ID: r.record.ID, Version: 1, Live: true, Content: content},
		commit.Step{
			Set:      map[string]any{"deleted_at": r.Now},
			Event:    schema.EventDeleted,
			Action:   schema.AuditDelete,
			Old:      &content,
			By:       r.in.Request.By(),
			Reason:   "task ended",
			Metadata: r.metadata(nil),
		})
	r.versions[r.record.ID] = version
	return err
}

// takeTarget carries out the step of the i-th target.
func (r *revising) takeTarget(ctx context.Context, i int) error {
	m, planned := r.rows[r.ids[i]], r.plan.Steps[i]
	s := r.step(planned.Status)
	if planned.Status != m.Status {
		s.Set["status"] = planned.Status
	}
	if planned.Successor != "" {
		s.Set["superseded_by"], s.Set["superseded_at"] = planned.Successor, r.Now
		s.Metadata[memory.HistorySuccessor] = planned.Successor
	} else if record := r.otherSide(); record != uuid.Nil {
		s.Metadata[memory.HistoryOther] = record.String()
	}
	if !s.NowLive {
		s.Old = &m.Content
	}
	version, err := r.ApplyStep(ctx, m, s)
	r.versions[m.ID] = version
	return err
}

// otherSide returns the record of a fork or a contest.
func (r *revising) otherSide() uuid.UUID {
	if r.record != nil {
		return r.record.ID
	}
	return r.named
}

// step returns a step of this revision.
func (r *revising) step(status schema.Status) commit.Step {
	return commit.Step{
		Set:      map[string]any{},
		NowLive:  status.Live(),
		Event:    schema.EventModified,
		Action:   r.plan.Audit,
		By:       r.in.Request.By(),
		Reason:   r.in.Request.Reason,
		Metadata: r.metadata(nil),
	}
}

// takeNamed updates an existing record to its planned state.
func (r *revising) takeNamed(ctx context.Context) error {
	m, p := r.rows[r.named], r.plan.Record
	s := r.step(p.Status)
	s.Set["status"], s.Set["sensitivity"] = p.Status, p.Sensitivity
	if p.SourceTrust < m.SourceTrust { // its new sources are less trusted
		s.Set["source_trust"] = p.SourceTrust
	}
	if p.Pinned && !m.Pinned {
		maps.Copy(s.Set, m.Pin(r.Now))
	}
	if p.Supersedes != "" && m.Supersedes == nil {
		s.Set["supersedes"] = p.Supersedes
	}
	if kept := r.in.Kept; kept != nil {
		s.Set["confidence"], s.Set["tags"] = kept.Confidence, kept.Tags
	}
	version, err := r.ApplyStep(ctx, m, s)
	r.versions[m.ID] = version
	return err
}

// insertRecord inserts the new record as planned.
func (r *revising) insertRecord(ctx context.Context) error {
	m, p := r.record, r.plan.Record
	m.Status, m.Confidence, m.SourceTrust, m.Action = p.Status, p.Confidence, &p.SourceTrust, r.plan.Audit
	m.Classification.Sensitivity = p.Sensitivity
	if p.Pinned {
		m.Classification.Pinned, m.Classification.Importance = true, 1
	}
	if p.Supersedes != "" {
		id, err := uuid.Parse(p.Supersedes)
		if err != nil {
			return err // unreachable: it is the id of a target
		}
		m.Supersedes = &id
		m.Relations = append(m.Relations, commit.Relation{
			Predicate: revision.RelationSupersedes,
			Target:    id,
			Weight:    1,
			Reason:    r.in.Request.Reason,
		})
	}
	ids, err := r.InsertMemories(ctx, []commit.NewMemory{*m})
	if err != nil {
		return err
	}
	if ids[0] != m.ID {
		return pg.ErrConflict // the content has been stored since the check
	}
	r.versions[m.ID] = 1
	return nil
}

// supportWinner adds the evidence to the provenance of a contest's winner.
func (r *revising) supportWinner(ctx context.Context) error {
	id, err := uuid.Parse(r.in.Request.Winner)
	if err != nil {
		return pg.InvalidID("winner")
	}
	return r.addEvidence(ctx, id)
}

// appendProvenanceSQL appends a reference to a memory's provenance, unless the memory has it.
const appendProvenanceSQL = `
	INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
	SELECT @tenant, @id, coalesce(max(position), -1) + 1, @kind, @ref, @hash, @at, @now
	FROM memory_provenance
	WHERE tenant = @tenant AND memory_id = @id
	HAVING NOT coalesce(bool_or(kind = @kind AND ref = @ref), false)`

// addEvidence appends the evidence to a memory's provenance.
func (r *revising) addEvidence(ctx context.Context, id uuid.UUID) error {
	if err := r.Flush(ctx); err != nil { // positions depend on the rows that exist
		return err
	}
	for _, ref := range r.in.Request.Evidence {
		r.Queue.Queue(appendProvenanceSQL, pg.Args{
			"tenant": r.Tenant,
			"id":     id,
			"kind":   ref.Kind,
			"ref":    ref.Ref,
			"hash":   ref.Hash,
			"at":     ref.Timestamp,
			"now":    r.Now,
		})
	}
	return nil
}

// result returns the result of the revision.
func (r *revising) result() schema.ReviseResult {
	out := schema.ReviseResult{Status: schema.ReviseApplied, Action: r.plan.Action, Why: r.plan.Why}
	for i, id := range r.ids {
		out.Targets = append(out.Targets, r.revised(id, r.plan.Steps[i].Status))
	}
	if r.record != nil {
		out.Created = append(out.Created, r.record.ID.String())
		record := r.revised(r.record.ID, r.record.Status)
		out.Record = &record
	}
	if r.named != uuid.Nil {
		record := r.revised(r.named, r.plan.Record.Status)
		out.Record = &record
	}
	if r.plan.Narrowed != nil {
		out.Created = append(out.Created, r.narrowed.String())
	}
	return out
}

// revised is a memory after the revision.
func (r *revising) revised(id uuid.UUID, status schema.Status) schema.RevisedMemory {
	return schema.RevisedMemory{ID: id.String(), Version: r.versions[id], Status: status}
}
