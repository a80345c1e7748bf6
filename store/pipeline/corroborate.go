package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// restatement is a proposal whose fact a memory already states.
type restatement struct {
	p      *pendingProposal
	record uuid.UUID
}

// evidence returns the references for a fact's provenance: those of its source, or else the source itself.
func (p *pendingProposal) evidence() []schema.Ref {
	if len(p.Refs) > 0 {
		return p.Refs
	}
	return []schema.Ref{proposals.SourceRef(p.SourceKind, p.ParentID.String(), p.OccurredAt)}
}

// noteRestatement records that the source of a proposal repeats a memory.
func (w *writing) noteRestatement(p *pendingProposal, record uuid.UUID) {
	if record != p.ParentID && w.batch.Policy.Mode == schema.ModeControlled {
		w.restatements = append(w.restatements, restatement{p, record})
	}
}

// corroborate relates lasting records to the sources that repeat them, and reinforces the records. A source counts
// once for each record. Through these relations a later change of the record reaches all its sources.
func (w *writing) corroborate(ctx context.Context) error {
	if len(w.restatements) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(w.restatements))
	for i, s := range w.restatements {
		ids[i] = s.record
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	rows, err := w.LockRows(ctx, w.batch.Owner, slices.Compact(ids))
	if err != nil {
		return err
	}
	edges, err := w.edgesFrom(ctx, ids)
	if err != nil {
		return err
	}
	fresh, err := w.relateSources(ctx, rows, edges)
	if err != nil {
		return err
	}
	for _, f := range fresh {
		m := rows[f.record]
		if !m.Live { // another fact of this change has just replaced it
			continue
		}
		if m, err = w.restate(m, f); err != nil {
			return fmt.Errorf("memory %s: %w", m.ID, err)
		}
		rows[f.record] = m
	}
	return nil
}

// edgesFrom counts the edges of memories.
func (w *writing) edgesFrom(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	rows, err := commit.Rows[struct {
		SourceID uuid.UUID
		Edges    int
	}](ctx, w.Tx, `
		SELECT source_id, count(*) AS edges
		FROM memory_links
		WHERE tenant = @tenant AND source_id = ANY(@ids)
		GROUP BY source_id`,
		pg.Args{"tenant": w.Tenant, "ids": ids})
	out := make(map[uuid.UUID]int, len(rows))
	for _, r := range rows {
		out[r.SourceID] = r.Edges
	}
	return out, err
}

// newRelation is a source that was not yet related to a record.
type newRelation struct {
	restatement
	predicate string
}

// relateSources relates the sources to the lasting records among the rows and returns those that were not related
// yet.
func (w *writing) relateSources(ctx context.Context, rows map[uuid.UUID]commit.MemoryRow,
	edges map[uuid.UUID]int) ([]newRelation, error) {
	var asked []newRelation
	var batch pgx.Batch
	for _, s := range w.restatements {
		m, ok := rows[s.record]
		source, stored := w.known[s.p.ParentID]
		if !ok || !stored || !memory.States(m.Type) {
			continue
		}
		t := newRelation{s, proposals.TieOf(proposals.Restated{Trust: m.SourceTrust, Sensitivity: m.Sensitivity,
			Visibility: m.Visibility},
			proposals.Restated{Trust: source.trust, Sensitivity: source.sensitivity, Visibility: source.visibility})}
		from, to := s.record, s.p.ParentID
		if edges[from]++; edges[from] > proposals.MaxSources {
			t.predicate = proposals.RelationRestates
		}
		if t.predicate == proposals.RelationRestates {
			from, to = to, from
		}
		batch.Queue(`
			INSERT INTO memory_links (tenant, source_id, predicate, target_id, weight, created_at)
			VALUES (@tenant, @source, @predicate, @target, 1, @now)
			ON CONFLICT DO NOTHING`,
			pg.Args{"tenant": w.Tenant, "source": from, "predicate": t.predicate, "target": to,
				"now": w.Now})
		asked = append(asked, t)
	}
	var fresh []newRelation
	results := w.Tx.SendBatch(ctx, &batch)
	for _, t := range asked {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close()
			return nil, fmt.Errorf("relate source: %w", err)
		}
		if tag.RowsAffected() == 1 {
			fresh = append(fresh, t)
		}
	}
	return fresh, results.Close()
}

// restate reinforces a locked record because another source repeats it, adds the source's references to the
// record's provenance, and returns the updated record. As with feedback, the version stays the same, because the
// content of the record has not changed.
func (w *writing) restate(m commit.MemoryRow, t newRelation) (commit.MemoryRow, error) {
	r, err := proposals.Restate(m.Rated(), w.Now)
	if err != nil {
		return m, err
	}
	w.Queue.Queue(`
		UPDATE memories
		SET salience = @salience,
			salience_at = @salience_at,
			decay_due_at = @due_at,
			last_reinforced_at = greatest(last_reinforced_at, @at)
		WHERE tenant = @tenant AND id = @id`,
		pg.Args{
			"tenant":      w.Tenant,
			"id":          m.ID,
			"salience":    r.Salience,
			"salience_at": r.SalienceAt,
			"due_at":      r.DueAt,
			"at":          r.At,
		})
	if t.predicate == revision.RelationDerivedFrom {
		for _, ref := range t.p.evidence() {
			w.AddEvidence(m.ID, ref)
		}
	}
	metadata := w.metadata(t.p, proposals.Verdict{})
	metadata["relation"], metadata["salience_before"], metadata["salience_after"] = t.predicate, r.Before, r.After
	w.History(commit.HistoryRow{MemoryID: m.ID, Event: schema.EventModified, By: w.actor, Reason: "said again",
		Action: schema.AuditReinforce, Metadata: metadata})
	m.Salience, m.SalienceAt = r.Salience, r.SalienceAt
	return m, nil
}

// outdated returns those of the memories from which a fact was extracted that has been replaced or retracted since.
// Their text is processed when it is said again, because it may be true again: "I live in Porto."
func (st *staging) outdated(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	var known []uuid.UUID
	for _, id := range ids {
		if !slices.ContainsFunc(st.items, func(it stagedItem) bool { return it.id == id }) {
			known = append(known, id)
		}
	}
	if len(known) == 0 {
		return nil, nil
	}
	return st.IdSet(ctx, `
		SELECT DISTINCT l.target_id
		FROM memory_links l
			JOIN memories m ON m.tenant = l.tenant AND m.id = l.source_id
		WHERE l.tenant = $1
			AND l.target_id = ANY($2)
			AND l.predicate = 'derived_from'
			AND m.type = 'semantic'
			AND m.status IN ('superseded', 'retracted')`, st.Tenant, known)
}
