package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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

// change is what is known about the facts of a stored text that were replaced or retracted since.
type change struct {
	Source uuid.UUID   // the memory of the text
	Until  time.Time   // when the last statement about these facts was made
	Others []uuid.UUID // the sources of the facts that came after them
}

// changedSources finds, as source, the sources among @ids with changed facts, and the sources of the facts that
// replaced these, one after the other. It leaves out a source
//   - whose facts are current again, or were only merged with facts that say the same,
//   - with a fact that something else than a statement changed: a correction by a person or an agent stays.
var changedSources = `
	WITH RECURSIVE fact AS (
		SELECT l.target_id AS source, m.id, m.status, m.live, m.superseded_by, m.occurred_at
		FROM memory_links l
			CROSS JOIN ` + pg.ByKey("m", "@tenant", "l.source_id") + `
		WHERE l.tenant = @tenant
			AND l.target_id = ANY(@ids)
			AND l.predicate = 'derived_from'
			AND m.type = 'semantic'
			AND m.status IN ('superseded', 'retracted')
		UNION
		SELECT f.source, m.id, m.status, m.live, m.superseded_by, m.occurred_at
		FROM fact f
			CROSS JOIN ` + pg.ByKey("m", "@tenant", "f.superseded_by") + `
	), told AS MATERIALIZED (
		SELECT f.*, h.changed_by, h.action, h.created_at AS changed_at, s.sources
		FROM fact f
			LEFT JOIN LATERAL (
				SELECT h.changed_by, h.action, h.created_at
				FROM memory_history h
				WHERE h.tenant = @tenant
					AND h.memory_id = f.id
					AND h.action IN ('revise', 'fork', 'merge', 'retract', 'resolve')
				ORDER BY h.seq DESC
				LIMIT 1) h ON f.status IN ('superseded', 'retracted'),
			LATERAL (
				SELECT coalesce(array_agg(l.target_id), '{}') AS sources
				FROM memory_links l
				WHERE l.tenant = @tenant AND l.source_id = f.id AND l.predicate = 'derived_from') s
	), source AS MATERIALIZED (
		SELECT t.source,
			greatest(max(t.occurred_at), max(t.changed_at) FILTER (WHERE t.status = 'retracted')) AS until,
			ARRAY(
				SELECT DISTINCT o
				FROM told x, unnest(x.sources) o
				WHERE x.source = t.source AND o <> t.source) AS others
		FROM told t
		GROUP BY t.source
		HAVING bool_or(t.superseded_by IS NULL AND NOT (t.live AND t.source = ANY(t.sources)))
			AND coalesce(bool_and(coalesce(t.changed_by, '') = ANY(@statements))
				FILTER (WHERE t.status IN ('superseded', 'retracted')), false)
			AND coalesce(bool_or(t.action <> 'merge')
				FILTER (WHERE t.status IN ('superseded', 'retracted')), false)
	)`

// statements are the actors whose changes follow from statements.
var statements = []string{actorPipeline, commit.ActorConsolidation}

// changesSQL returns changedSources, except those that were processed after the last change or are being processed: a
// memory has one open job.
var changesSQL = changedSources + `, said AS (
		SELECT s.source, s.others, greatest(s.until, (
			SELECT max(c.occurred_at)
			FROM memory_candidates c
			WHERE c.tenant = @tenant AND c.memory_id = ANY(s.others))) AS until
		FROM source s
	)
	SELECT source, until, others
	FROM said s
	WHERE NOT EXISTS (
			SELECT
			FROM memory_candidates c
			WHERE c.tenant = @tenant
				AND c.memory_id = s.source
				AND c.state IN ('staged', 'done')
				AND c.occurred_at > s.until)
		AND NOT EXISTS (
			SELECT
			FROM jobs j
			WHERE j.tenant = @tenant
				AND j.kind = @kind
				AND j.memory_id = s.source
				AND j.` + pg.JobIsOpen + `)`

// restageRepeated stages duplicates whose text may be true again: "I live in Porto." after "I live in Lima now.". Their
// facts were replaced or retracted, and they say when they were said: after the last statement about these facts, those
// of this batch included. Without a time, they may come from a transcript that is sent again.
func (st *staging) restageRepeated(ctx context.Context) error {
	latest := map[uuid.UUID]int{} // by memory
	for i, it := range st.items {
		if it.state != stateDuplicate || it.replayed || it.candidate.OccurredAt == nil {
			continue
		}
		k, ok := latest[it.memoryID]
		if !ok || it.candidate.OccurredAt.After(*st.items[k].candidate.OccurredAt) {
			latest[it.memoryID] = i
		}
	}
	for _, it := range st.items {
		delete(latest, it.id) // the batch stores this memory
	}
	again, err := st.changes(ctx, latest)
	if err != nil || len(again) == 0 {
		return err
	}
	// Two requests with the same text run one after the other, so that the second sees the job of the first.
	keys := make([]string, 0, len(again))
	for id := range again {
		keys = append(keys, "again/"+id.String())
	}
	if err := st.LockOperations(ctx, keys); err != nil {
		return err
	}
	if again, err = st.changes(ctx, again); err != nil {
		return err
	}
	for id, i := range again {
		it := &st.items[i]
		it.state = stateStaged
		st.History(commit.HistoryRow{MemoryID: id, Event: schema.EventNone,
			By:       "agent:" + st.in.Request.Principal.Agent,
			Reason:   "said again after a fact from it was replaced or retracted: its facts are decided again",
			Metadata: map[string]any{"batch_id": st.batchID, "candidate_id": it.id}})
	}
	return nil
}

// changes returns those of the items, by memory, that were said after the last change of their facts.
func (st *staging) changes(ctx context.Context, items map[uuid.UUID]int) (map[uuid.UUID]int, error) {
	if len(items) == 0 {
		return nil, nil
	}
	found, err := commit.Rows[change](ctx, st.Tx, changesSQL, pg.Args{"tenant": st.Tenant, "kind": kindIngest,
		"statements": statements, "ids": slices.Collect(maps.Keys(items))})
	out := map[uuid.UUID]int{}
	for _, c := range found {
		at := *st.items[items[c.Source]].candidate.OccurredAt
		statedLater := slices.ContainsFunc(st.items, func(it stagedItem) bool {
			return slices.Contains(c.Others, it.memoryID) && !occurredAt(&it.candidate, st.Now).Before(at)
		})
		if at.After(c.Until) && !statedLater {
			out[c.Source] = items[c.Source]
		}
	}
	return out, err
}

// repeatedSQL finds the duplicates of a range that may be true again, because a statement that stands before them in
// their batch has changed the facts of their memory, and no later statement has: the last "I live in Porto." of "I live
// in Porto.", "I live in Lima now.", "I live in Porto.". Of the duplicates of one memory it returns the last one.
var repeatedSQL = changedSources + `
	SELECT DISTINCT ON (d.memory_id) d.id, d.memory_id
	FROM source s
		JOIN memory_candidates d ON d.tenant = @tenant AND d.id = ANY(@candidates) AND d.memory_id = s.source
	WHERE d.state = 'duplicate'
		AND d.occurred_at >= s.until
		AND EXISTS (
			SELECT
			FROM memory_candidates c
			WHERE c.tenant = @tenant
				AND c.batch_id = d.batch_id
				AND c.memory_id = ANY(s.others)
				AND c.state = 'done')
		AND NOT EXISTS (
			SELECT
			FROM memory_candidates c
			WHERE c.tenant = @tenant
				AND (c.memory_id = ANY(s.others) OR c.memory_id = d.memory_id AND c.state IN ('staged', 'done'))
				AND (c.occurred_at > d.occurred_at
					OR c.occurred_at = d.occurred_at AND (c.batch_id <> d.batch_id AND c.memory_id <> d.memory_id
						OR c.batch_id = d.batch_id AND c.ordinal > d.ordinal)))
		AND NOT EXISTS (
			SELECT
			FROM jobs j
			WHERE j.tenant = @tenant
				AND j.kind = @kind
				AND j.memory_id = d.memory_id
				AND j.` + pg.JobIsOpen + `)
		AND NOT EXISTS (
			SELECT
			FROM memory_history h
			WHERE h.tenant = @tenant
				AND h.memory_id = d.memory_id
				AND h.metadata->>'candidate_id' = d.id::text
				AND h.metadata ? 'replayed')
	ORDER BY d.memory_id, d.occurred_at DESC, d.ordinal DESC`

// repeatedJob is the condition that a job j was opened by SaidAgain and has not begun.
const repeatedJob = `(j.state = 'pending' AND j.created_at > (
		SELECT b.created_at
		FROM ingest_batches b
		WHERE b.tenant = @tenant AND b.id = @batch_id))`

// SaidAgain stages the duplicates of a completed range that may be true again, and returns the number of candidates
// that have to be processed for this reason. A batch is decided as if each statement had been made once; only then is
// it known which statements changed others. A second call changes nothing and returns the same number, until the
// candidates are processed.
func (s *Pipeline) SaidAgain(ctx context.Context, r schema.Range, now time.Time) (waiting int, err error) {
	err = commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		rows, err := commit.Rows[repeated](ctx, c.Tx, `
			SELECT id, memory_id
			FROM memory_candidates
			WHERE tenant = @tenant AND batch_id = @batch_id AND ordinal >= @from AND ordinal < @to AND state = 'duplicate'
			ORDER BY memory_id, id`, rangeArgs(r, nil))
		if err != nil {
			return err
		}
		if rows, err = findRepeated(ctx, c, rows); err != nil {
			return err
		}
		if len(rows) > 0 {
			keys := make([]string, 0, len(rows))
			for _, d := range rows {
				keys = append(keys, "again/"+d.MemoryID.String()) // as restageRepeated
			}
			if err := c.LockOperations(ctx, keys); err != nil {
				return err
			}
			if rows, err = findRepeated(ctx, c, rows); err != nil {
				return err
			}
		}
		for _, d := range rows {
			if err := stageAgain(ctx, c, r, d); err != nil {
				return err
			}
		}
		return c.Tx.QueryRow(ctx, `
			WITH `+candidatesInRange+`
			SELECT count(*)
			FROM jobs j
			WHERE j.tenant = @tenant
				AND j.batch_id = @batch_id
				AND j.candidate_id = ANY(ARRAY(SELECT id FROM c WHERE state = 'staged'))
				AND `+repeatedJob, rangeArgs(r, nil)).Scan(&waiting)
	})
	if err != nil {
		return 0, fmt.Errorf("statements said again: %w", err)
	}
	return waiting, nil
}

// repeated is a duplicate of the memory.
type repeated struct{ ID, MemoryID uuid.UUID }

func findRepeated(ctx context.Context, c *commit.Change, rows []repeated) ([]repeated, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var candidates, ids []uuid.UUID
	for _, d := range rows {
		candidates, ids = append(candidates, d.ID), append(ids, d.MemoryID)
	}
	return commit.Rows[repeated](ctx, c.Tx, repeatedSQL, pg.Args{"tenant": c.Tenant, "kind": kindIngest,
		"statements": statements, "candidates": candidates, "ids": ids})
}

// stageAgain stages a duplicate and opens its job.
func stageAgain(ctx context.Context, c *commit.Change, r schema.Range, d repeated) error {
	_, err := c.Tx.Exec(ctx, `
		WITH staged AS (
			UPDATE memory_candidates
			SET state = 'staged'
			WHERE tenant = @tenant AND id = @id AND state = 'duplicate'
			RETURNING tenant, id, batch_id, memory_id
		)
		INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id, max_attempts,
			created_at, updated_at)
		SELECT s.tenant, @job, @kind, @state, @phase, s.batch_id, s.id, s.memory_id, b.workflow_id,
			coalesce((SELECT max(j.max_attempts) FROM jobs j WHERE j.tenant = @tenant AND j.batch_id = @batch_id), 1),
			greatest(@now, b.created_at + interval '1 microsecond'), @now
		FROM staged s
			JOIN ingest_batches b ON b.tenant = s.tenant AND b.id = s.batch_id`,
		pg.Args{"tenant": c.Tenant, "batch_id": r.BatchID, "id": d.ID, "job": pg.NewID(), "kind": kindIngest,
			"state": schema.JobPending, "phase": schema.PhaseExtract, "now": c.Now})
	if err != nil {
		return err
	}
	c.History(commit.HistoryRow{MemoryID: d.MemoryID, Event: schema.EventNone, By: actorPipeline,
		Reason:   "said again after a fact from it was replaced in the same batch: its facts are decided again",
		Metadata: map[string]any{"batch_id": r.BatchID, "candidate_id": d.ID}})
	return nil
}
