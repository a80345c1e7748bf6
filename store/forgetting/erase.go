package forgetting

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// reasonForgotten is the outcome of proposals that go with a memory.
const reasonForgotten = "forgotten"

// remove takes the batch's memories away for good: with force the rows too, with erase all texts, and
// what stays is an empty row. What refers goes before what is referred to (document 002 "Retention
// Worker": graph links, embeddings, the memory, then history).
func (f *Forgetting) remove(ctx context.Context) error {
	if err := f.NoteLostText(ctx, f.live); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{f.removeFromGraph, f.blankRevised, f.removeDependents,
		f.blankPipeline, f.dropStaged, f.BlankResults, f.removeRows} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement whose first parameters are the tenant and the memories, and counts what it
// touched on the receipt.
func (f *Forgetting) exec(ctx context.Context, place, sql string, more ...any) error {
	tag, err := f.Tx.Exec(ctx, sql, append([]any{f.Tenant, f.Gone}, more...)...)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	f.Run.Receipt.Remove(place, int(tag.RowsAffected()))
	return nil
}

// removeFromGraph takes back what the memories say of entities.
func (f *Forgetting) removeFromGraph(ctx context.Context) error {
	u, err := Unlink(ctx, f.Change, f.Gone, 0)
	if err != nil {
		return err
	}
	r := &f.Run.Receipt
	r.Remove("memory_entity_relations", u.Said)
	r.Remove("entity_relations", u.Edges)
	r.Remove("memory_entity_mentions", u.Mentions)
	r.Remove("entities", u.Entities)
	r.Remove("entity_claims", u.Claims)
	return nil
}

// unlinked counts what memories said of entities and is taken back.
type unlinked struct {
	Said     int // of edges
	Edges    int // without a source
	Mentions int
	Entities int // that nothing mentions any more
	Claims   int
}

// Rows is how many of the memories' own rows are gone.
func (u unlinked) Rows() int { return u.Said + u.Mentions + u.Claims }

// Unlink takes back what memories say of entities: edges, mentions, claims, and the entities that nothing
// mentions any more. Counts fall by exactly what these memories had added. With a limit it takes back so
// many rows at most, edges first, because they hold the entities.
func Unlink(ctx context.Context, c *commit.Change, memories []uuid.UUID, limit int) (unlinked, error) {
	var u unlinked
	var ends, mentioned []uuid.UUID
	left := func() any { // NULL means no limit
		if limit <= 0 {
			return nil
		}
		return limit - u.Rows()
	}
	err := c.Tx.QueryRow(ctx, `
		WITH chosen AS (
			SELECT memory_id, source_id, relationship, target_id FROM memory_entity_relations WHERE tenant = $1
			AND memory_id = ANY($2)
			ORDER BY memory_id, source_id, relationship, target_id LIMIT $4
		), gone AS (
			DELETE FROM memory_entity_relations d USING chosen c WHERE d.tenant = $1
				AND (d.memory_id, d.source_id, d.relationship, d.target_id) = (c.memory_id, c.source_id, c.relationship,
					c.target_id)
			RETURNING d.source_id, d.relationship, d.target_id
		), per AS (SELECT source_id, relationship, target_id, count(*) AS n FROM gone GROUP BY 1, 2, 3
		), locked AS (
			SELECT r.source_id, r.relationship, r.target_id, r.mentions, per.n FROM entity_relations r
			JOIN per USING (source_id, relationship, target_id)
			WHERE r.tenant = $1 ORDER BY r.source_id, r.relationship, r.target_id FOR UPDATE OF r
		), dropped AS (
			DELETE FROM entity_relations r USING locked l
			WHERE r.tenant = $1 AND (r.source_id, r.relationship, r.target_id) = (l.source_id, l.relationship,
				l.target_id) AND l.mentions <= l.n RETURNING 1
		), kept AS (
			UPDATE entity_relations r SET mentions = r.mentions - l.n, updated_at = $3 FROM locked l
			WHERE r.tenant = $1 AND (r.source_id, r.relationship, r.target_id) = (l.source_id, l.relationship,
				l.target_id) AND l.mentions > l.n
		)
		SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM dropped),
			(SELECT coalesce(array_agg(DISTINCT e), '{}') FROM gone, unnest(ARRAY[source_id, target_id]) e)`, c.Tenant,
		memories, c.Now, left()).Scan(&u.Said, &u.Edges, &ends)
	if err != nil {
		return u, fmt.Errorf("entity relations: %w", err)
	}
	err = c.Tx.QueryRow(ctx, `
		WITH chosen AS (SELECT memory_id, entity_id FROM memory_entity_mentions WHERE tenant = $1
			AND memory_id = ANY($2) ORDER BY memory_id, entity_id LIMIT $4),
		gone AS (DELETE FROM memory_entity_mentions d USING chosen c WHERE d.tenant = $1 AND d.memory_id = c.memory_id
			AND d.entity_id = c.entity_id RETURNING d.entity_id),
		per AS (SELECT entity_id, count(*) AS n FROM gone GROUP BY 1),
		locked AS (SELECT e.id, per.n FROM entities e JOIN per ON per.entity_id = e.id WHERE e.tenant = $1
			ORDER BY e.canonical_name FOR UPDATE OF e),
		counted AS (UPDATE entities e SET mentions = e.mentions - l.n, updated_at = $3 FROM locked l WHERE e.tenant = $1
			AND e.id = l.id)
		SELECT (SELECT count(*) FROM gone), (SELECT coalesce(array_agg(entity_id), '{}') FROM per)`, c.Tenant, memories,
		c.Now, left()).Scan(&u.Mentions, &mentioned)
	if err != nil {
		return u, fmt.Errorf("entity mentions: %w", err)
	}
	// An edge that another memory says needs its ends, mentioned or not.
	tag, err := c.Tx.Exec(ctx, `DELETE FROM entities e WHERE e.tenant = $1 AND e.id = ANY($2) AND e.mentions = 0
		AND NOT EXISTS (SELECT FROM memory_entity_relations r WHERE r.tenant = $1 AND r.source_id = e.id)
		AND NOT EXISTS (SELECT FROM memory_entity_relations r WHERE r.tenant = $1 AND r.target_id = e.id)`, c.Tenant,
		append(ends, mentioned...))
	if err != nil {
		return u, fmt.Errorf("entities: %w", err)
	}
	u.Entities = int(tag.RowsAffected())
	tag, err = c.Tx.Exec(ctx, `
		WITH chosen AS (SELECT memory_id, subject, predicate FROM entity_claims WHERE tenant = $1
			AND memory_id = ANY($2) ORDER BY memory_id, subject, predicate LIMIT $3)
		DELETE FROM entity_claims d USING chosen c WHERE d.tenant = $1
		AND (d.memory_id, d.subject, d.predicate) = (c.memory_id, c.subject, c.predicate)`,
		c.Tenant, memories, left())
	if err != nil {
		return u, fmt.Errorf("entity claims: %w", err)
	}
	u.Claims = int(tag.RowsAffected())
	return u, nil
}

// blankRevised takes reason and evidence of the revisions that made the memories out of the history of
// what they revised. The relations still lead there.
func (f *Forgetting) blankRevised(ctx context.Context) error {
	var n int
	err := f.Tx.QueryRow(ctx, `
		WITH revised AS (
			SELECT target_id AS id FROM memory_relations WHERE tenant = $1 AND source_id = ANY($2)
			UNION SELECT source_id FROM memory_relations WHERE tenant = $1 AND target_id = ANY($2)
			UNION SELECT id FROM memories WHERE tenant = $1 AND superseded_by = ANY($2)
		)
		SELECT coalesce(mneme_erase_evidence($2, array_agg(id)), 0) FROM revised WHERE id <> ALL($2)`, f.Tenant,
		f.Gone).Scan(&n)
	if err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	f.Run.Receipt.Remove("memory_history", n)
	return nil
}

// BlankResults takes the names that callers gave to the memories out of the results of their puts.
func (f *Forgetting) BlankResults(ctx context.Context) error {
	var n int
	if err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_external($1)`, f.Gone).Scan(&n); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	f.Run.Receipt.Remove("operations", n)
	return nil
}

// removeDependents removes the rows that belong to a memory.
func (f *Forgetting) removeDependents(ctx context.Context) error {
	if err := f.exec(ctx, "memory_embeddings", `DELETE FROM memory_embeddings WHERE tenant = $1
		AND memory_id = ANY($2)`); err != nil {
		return err
	}
	if err := f.exec(ctx, "memory_hints", `DELETE FROM memory_hints WHERE tenant = $1
		AND memory_id = ANY($2)`); err != nil {
		return err
	}
	relations := `UPDATE memory_relations SET reason = '' WHERE tenant = $1
		AND (source_id = ANY($2) OR target_id = ANY($2)) AND reason <> ''`
	if f.Run.Mode == schema.ForgetForce {
		relations = `DELETE FROM memory_relations WHERE tenant = $1 AND (source_id = ANY($2) OR target_id = ANY($2))`
	}
	if err := f.exec(ctx, "memory_relations", relations); err != nil {
		return err
	}
	if err := f.exec(ctx, "memory_provenance", `DELETE FROM memory_provenance WHERE tenant = $1
		AND memory_id = ANY($2)`); err != nil {
		return err
	}
	if err := f.exec(ctx, "memory_versions", `DELETE FROM memory_versions WHERE tenant = $1
		AND memory_id = ANY($2)`); err != nil {
		return err
	}
	rows, err := f.Tx.Query(ctx, `DELETE FROM memory_artifacts WHERE tenant = $1 AND memory_id = ANY($2)
		RETURNING sha256`, f.Tenant, f.Gone)
	if err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(sums) == 0 {
		return err
	}
	f.Run.Receipt.Remove("memory_artifacts", len(sums))
	n, err := DropArtifacts(ctx, f.Change, sums)
	f.Run.Receipt.Remove("artifacts", n)
	return err
}

// DropArtifacts deletes those of the artifacts that no memory names any more.
func DropArtifacts(ctx context.Context, c *commit.Change, sums [][]byte) (int, error) {
	tag, err := c.Tx.Exec(ctx, `DELETE FROM artifacts a WHERE a.tenant = $1 AND a.sha256 = ANY($2)
		AND NOT EXISTS (SELECT FROM memory_artifacts x WHERE x.tenant = $1 AND x.sha256 = a.sha256)`, c.Tenant, sums)
	if err != nil {
		return 0, fmt.Errorf("artifacts: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// RemovePart removes what commits with memories, so many rows at most, and returns how many there were: fewer
// than the limit when nothing is left. A memory may have grown a thousand times, and be what a hundred thousand
// others come from.
func RemovePart(ctx context.Context, c *commit.Change, memories []uuid.UUID, limit int) (int, error) {
	removed := 0
	// Each memory's rows are looked up by themselves, so that a part costs what it removes, and not what there is.
	// They are asked for in the order of an index: where one memory has most of a table's rows, Postgres would
	// rather read the table.
	chosen := func(table, of, key, order string) string {
		return `WITH chosen AS (SELECT x.* FROM unnest($2::uuid[]) m(id) CROSS JOIN LATERAL (
				SELECT ` + key + ` FROM ` + table + ` WHERE tenant = $1 AND ` + of + ` = m.id ORDER BY ` + order +
			` LIMIT $3) x LIMIT $3)
			DELETE FROM ` + table + ` d USING chosen c WHERE d.tenant = $1`
	}
	const edge = ` AND d.source_id = c.source_id AND d.predicate = c.predicate AND d.target_id = c.target_id`
	for _, remove := range []string{
		chosen("memory_versions", "memory_id", "memory_id, version", "version") + ` AND d.memory_id = c.memory_id
			AND d.version = c.version`,
		chosen("memory_relations", "source_id", "source_id, predicate, target_id", "predicate, target_id") + edge,
		chosen("memory_relations", "target_id", "source_id, predicate, target_id", "predicate") + edge,
		chosen("memory_provenance", "memory_id", "memory_id, position", "position") + ` AND d.memory_id = c.memory_id
			AND d.position = c.position`,
		chosen("memory_hints", "memory_id", "memory_id, position", "position") + ` AND d.memory_id = c.memory_id
			AND d.position = c.position`,
	} {
		tag, err := c.Tx.Exec(ctx, remove, c.Tenant, memories, limit-removed)
		if err != nil {
			return removed, fmt.Errorf("dependent rows of memories: %w", err)
		}
		if removed += int(tag.RowsAffected()); removed >= limit {
			return removed, nil
		}
	}
	rows, err := c.Tx.Query(ctx, chosen("memory_artifacts", "memory_id", "memory_id, sha256", "sha256")+`
		AND d.memory_id = c.memory_id AND d.sha256 = c.sha256 RETURNING d.sha256`,
		c.Tenant, memories, limit-removed)
	if err != nil {
		return removed, fmt.Errorf("artifacts: %w", err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(sums) == 0 {
		return removed, err
	}
	_, err = DropArtifacts(ctx, c, sums)
	return removed + len(sums), err
}

// dropStaged deletes requests that were never carried out and may hold a text of the memories. Only who asks
// for an erasure has it cost others their requests; a purge leaves them to SweepStaged.
func (f *Forgetting) dropStaged(ctx context.Context) error {
	return f.exec(ctx, "staged_requests", `DELETE FROM staged_requests r WHERE r.tenant = $1
		AND (r.created_at < $4 OR r.created_at < $3
		AND EXISTS (SELECT FROM unnest($2::uuid[]) x(id) WHERE position(x.id::text IN r.body::text) > 0))`,
		f.Now.Add(-pipeline.AbandonedAfter), f.Now.Add(-pipeline.StaleAfter))
}

// removeHistory takes the texts out of history. The actor, the action and the time stay.
func (f *Forgetting) removeHistory(ctx context.Context) error {
	var n int
	if err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_history($1, $2)`, f.Gone, f.Now).Scan(&n); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	f.Run.Receipt.Remove("memory_history", n)
	return nil
}

// removeRows deletes the memories, or empties them, and ends their history: it may lose its texts when
// the memory has, and then a last row says who did it.
func (f *Forgetting) removeRows(ctx context.Context) error {
	metadata, err := f.metadata()
	if err != nil {
		return err
	}
	// The new hash is of nothing that could be guessed: not of the text, and not of no text.
	action, remove, args := schema.AuditErase, `
		UPDATE memories m SET content = '', normalized_content = '', content_hash = sha256(uuid_send(gen_random_uuid())
			|| uuid_send(gen_random_uuid())),
			payload = '{}', tags = '{}', who = '', safe_summary = '', subject = NULL, predicate = NULL, object = NULL,
			conditions = NULL, conditions_hash = '',
			external_id = NULL, key_id = NULL, embedding_id = NULL, decay_due_at = NULL,
			deleted_at = coalesce(m.deleted_at, $3), erased_at = $3, updated_at = $3, version = m.version + 1
		WHERE m.tenant = $1 AND m.id = ANY($2) RETURNING m.id, m.version, ''`, []any{f.Tenant, f.Gone, f.Now}
	if f.Run.Mode == schema.ForgetForce { // without a row, history says whose it was: it is the agent's to read
		action, remove, args = schema.AuditDelete, `DELETE FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2)
			RETURNING m.id, m.version + 1, m.agent_id`, args[:2]
	}
	rows, err := f.Tx.Query(ctx, remove, args...)
	if err != nil {
		return fmt.Errorf("memories: %w", err)
	}
	var ids []uuid.UUID
	var versions []int32
	var owners []string
	var id uuid.UUID
	var version int32
	var owner string
	_, err = pgx.ForEachRow(rows, []any{&id, &version, &owner}, func() error {
		ids, versions, owners = append(ids, id), append(versions, version), append(owners, owner)
		return nil
	})
	if err != nil {
		return fmt.Errorf("memories: %w", err)
	}
	f.Run.Receipt.Remove("memories", len(ids))
	if err := f.removeHistory(ctx); err != nil {
		return err
	}
	_, err = f.Tx.Exec(ctx, `
		WITH removed AS (SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::integer[], $5::text[]) x(id, entry, version,
			owner)), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
				version)
			SELECT $1, r.entry, r.id, 'deleted', $7, $8, $9::jsonb || CASE r.owner WHEN '' THEN '{}'
			ELSE jsonb_build_object('agent', r.owner) END, $6, $10, r.version
			FROM removed r
		)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) SELECT $1, r.id, r.version, 'delete', $6
		FROM removed r`,
		f.Tenant, ids, pg.NewIDs(len(ids)), versions, owners, f.Now, f.Run.ConfirmedBy, f.Run.Reason, metadata, action)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// ForgetRemoved reports whether a run has taken texts away for good. What was buried keeps its words.
func (s *Forgetter) ForgetRemoved(ctx context.Context, tenant string, run uuid.UUID) (bool, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var removed bool
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT mode <> 'soft' AND coalesce((receipt->>'forgotten')::integer, 0) > 0
			FROM forget_runs WHERE tenant = $1 AND id = $2`,
			tenant, run).Scan(&removed)
	})
	if err != nil {
		return false, fmt.Errorf("read run %s: %w", run, err)
	}
	return removed, nil
}

// Carriers are what brought, or speaks of, the memories that a run has forgotten.
type Carriers struct {
	Workflows []string    // ids; not that of the run itself
	Batches   []uuid.UUID // whose reviews may have shown them: a reviewer's words are in the review's history
	Next      int         // the ordinal to go on from, and 0 when there is none left
}

// ForgottenWorkflows returns the workflows whose start carried a text of the memories that a run has
// forgotten, for its items from an ordinal on, limit at most: those that brought or changed them, and the
// forget runs that had selected them, by a query it may be, and have ended or still wait. Ids come from
// history, which an import may have brought: whose a workflow is must be asked before it is touched.
func (s *Forgetter) ForgottenWorkflows(ctx context.Context, tenant string, run uuid.UUID, from,
	limit int) (Carriers, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out Carriers
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		var last *int
		err := tx.QueryRow(ctx, `SELECT max(ordinal) FROM (SELECT ordinal FROM forget_items WHERE tenant = $1
			AND run_id = $2 AND ordinal >= $3 ORDER BY ordinal LIMIT $4) i`,
			tenant, run, from, limit).Scan(&last)
		if err != nil || last == nil {
			return err
		}
		out.Next = *last + 1
		rows, err := tx.Query(ctx, `
			WITH gone AS (SELECT memory_id FROM forget_items WHERE tenant = $1 AND run_id = $2 AND ordinal BETWEEN $3
				AND $4 AND outcome = $5),
			carried AS (
				SELECT b.workflow_id FROM gone g JOIN memory_candidates c ON c.tenant = $1 AND c.memory_id = g.memory_id
				JOIN ingest_batches b ON b.tenant = $1 AND b.id = c.batch_id
				UNION
				SELECT coalesce(h.metadata->>'workflow_id', h.metadata->>'workflowId') FROM gone g
				JOIN memory_history h ON h.tenant = $1 AND h.memory_id = g.memory_id
				UNION
				SELECT r.workflow_id FROM gone g JOIN forget_items i ON i.tenant = $1 AND i.memory_id = g.memory_id
				JOIN forget_runs r ON r.tenant = $1 AND r.id = i.run_id WHERE r.state <> 'confirmed'
			)
			SELECT workflow_id FROM carried WHERE workflow_id <> '' AND workflow_id <> (SELECT workflow_id
				FROM forget_runs WHERE tenant = $1 AND id = $2) ORDER BY 1`,
			tenant, run, from, *last, lifecycle.OutcomeForgotten)
		if err != nil {
			return err
		}
		if out.Workflows, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		rows, err = tx.Query(ctx, `
			WITH gone AS (SELECT memory_id FROM forget_items WHERE tenant = $1 AND run_id = $2 AND ordinal BETWEEN $3
				AND $4 AND outcome = $5)
			SELECT p.batch_id FROM gone g JOIN proposals p ON p.tenant = $1 AND p.memory_id = g.memory_id
			UNION SELECT p.batch_id FROM gone g JOIN proposals p ON p.tenant = $1 AND p.target_id = g.memory_id
			UNION SELECT c.batch_id FROM gone g JOIN memory_candidates c ON c.tenant = $1 AND c.memory_id = g.memory_id
			ORDER BY 1`, tenant, run, from, *last, lifecycle.OutcomeForgotten)
		if err != nil {
			return err
		}
		out.Batches, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return Carriers{}, fmt.Errorf("list workflows of what is forgotten: %w", err)
	}
	return out, nil
}
