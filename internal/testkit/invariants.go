package testkit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// invariants are queries that find violations, in any tenant: each returns a line for every violation. They hold
// after any operations, in any order and number. None of them shows content. A reference may name a memory that was
// forgotten by force or purged and no longer exists; removedLater allows for that.
var invariants = []struct{ name, query string }{
	{"one active fact per claim and ground", `
		SELECT format('%s and %s', a.id, b.id) FROM memories a JOIN memories b
			ON b.tenant = a.tenant AND b.scope = a.scope AND b.claim_space = a.claim_space
				AND b.subject_key = a.subject_key AND b.predicate = a.predicate AND b.id > a.id
		WHERE a.type = 'semantic' AND b.type = 'semantic' AND a.functional AND b.functional
			AND a.live AND b.live AND a.status = 'active' AND b.status = 'active'
			AND (a.conditions_hash = b.conditions_hash
				OR a.validity <> 'global' AND a.validity = b.validity
					AND coalesce(a.conditions, '{}') = coalesce(b.conditions, '{}')
					AND coalesce(a.valid_from, '-infinity') < coalesce(b.valid_until, 'infinity')
					AND coalesce(b.valid_from, '-infinity') < coalesce(a.valid_until, 'infinity'))`},
	{"live agrees with status and deletion", `
		SELECT id::text FROM memories WHERE live <> (deleted_at IS NULL AND archived_at IS NULL
			AND erased_at IS NULL AND status IN ('active', 'contested'))`},
	{"a superseded memory has a successor", `
		SELECT m.id::text FROM memories m WHERE m.status = 'superseded'
			AND (m.superseded_by IS NULL OR m.superseded_at IS NULL OR NOT (
			EXISTS (SELECT FROM memories s WHERE s.tenant = m.tenant AND s.id = m.superseded_by) OR ` +
		removedLater("m.tenant", "m.superseded_by") + `))`},
	{"a current memory has no successor", `
		SELECT id::text FROM memories WHERE status IN ('active', 'contested')
			AND (superseded_by IS NOT NULL OR superseded_at IS NOT NULL)`},
	{"supersession has no cycles", `
		WITH RECURSIVE chain AS (
			SELECT tenant, id, superseded_by FROM memories WHERE superseded_by IS NOT NULL
			UNION ALL
			SELECT c.tenant, m.id, m.superseded_by FROM chain c JOIN memories m ON m.tenant = c.tenant
				AND m.id = c.superseded_by WHERE m.superseded_by IS NOT NULL
		) CYCLE id SET met USING path
		SELECT DISTINCT id::text FROM chain WHERE met`},
	{"a successor has a supersedes relation", `
		SELECT m.id::text FROM memories m WHERE m.status = 'superseded' AND m.superseded_by IS NOT NULL AND NOT EXISTS (
			SELECT FROM memory_links r WHERE r.tenant = m.tenant AND r.source_id = m.superseded_by
				AND r.predicate = 'supersedes' AND r.target_id = m.id)
			AND NOT ` + removedLater("m.tenant", "m.superseded_by")},
	{"supersedes and superseded_by agree", `
		SELECT format('%s by %s', m.id, s.id) FROM memories s JOIN memories m ON m.tenant = s.tenant
		AND m.id = s.supersedes
		WHERE m.superseded_by IS DISTINCT FROM s.id OR NOT EXISTS (
			SELECT FROM memory_links r WHERE r.tenant = s.tenant AND r.source_id = s.id
				AND r.predicate = 'supersedes' AND r.target_id = m.id)`},
	{"relations have existing ends", `
		SELECT format('%s %s %s', r.source_id, r.predicate, r.target_id) FROM memory_links r
		WHERE NOT EXISTS (SELECT FROM memories m WHERE m.tenant = r.tenant AND m.id = r.source_id)
			OR NOT EXISTS (SELECT FROM memories m WHERE m.tenant = r.tenant AND m.id = r.target_id)`},
	// A revision adds an edge of its kind to the memories that it makes or contests. If the other end was later
	// forgotten by force or purged, the edge was removed too, and there is nothing to check.
	{"a revision writes its relations", `
		SELECT format('%s version %s: %s', h.memory_id, h.version, h.metadata->>'revision') FROM memory_history h
			JOIN memories m ON m.tenant = h.tenant AND m.id = h.memory_id
		WHERE h.metadata ? 'revision' AND h.version IS NOT NULL AND (h.version = 1 OR h.action = 'contest')
			AND NOT EXISTS (SELECT FROM memory_history f WHERE f.tenant = h.tenant AND f.event = 'deleted'
				AND (f.metadata->>'mode' = 'force' OR f.action = 'purge'))
			AND NOT EXISTS (SELECT FROM memory_links r WHERE r.tenant = h.tenant AND r.source_id = h.memory_id
				AND r.predicate = CASE h.action WHEN 'contest' THEN 'contradicts'
					WHEN 'fork' THEN 'derived_from' ELSE 'supersedes' END)`},
	{"a revision names its evidence", `
		SELECT format('%s version %s', h.memory_id, h.version) FROM memory_history h
		WHERE h.metadata ? 'revision' AND h.version IS NOT NULL AND h.erased_at IS NULL
			AND h.reason <> '[erased]' AND jsonb_array_length(coalesce(h.metadata->'evidence', '[]')) = 0`},
	// An agent's own statement is its own evidence; a conclusion needs evidence.
	{"a concluded memory has evidence", `
		SELECT m.id::text FROM memories m JOIN memory_history h ON h.tenant = m.tenant
			AND h.memory_id = m.id AND h.version = 1
		WHERE m.type = 'semantic' AND m.erased_at IS NULL AND (h.metadata ? 'revision' OR h.metadata ? 'proposalId')
			AND NOT EXISTS (SELECT FROM memory_provenance v WHERE v.tenant = m.tenant AND v.memory_id = m.id)
			AND NOT EXISTS (SELECT FROM memory_links r WHERE r.tenant = m.tenant AND r.source_id = m.id
				AND r.predicate = 'derived_from')
			AND NOT ` + removedLater("m.tenant", "(h.metadata->>'parentId')::uuid")},
	{"contradiction is mutual", `
		SELECT format('%s and %s', r.source_id, r.target_id) FROM memory_links r WHERE r.predicate = 'contradicts'
			AND NOT EXISTS (
			SELECT FROM memory_links b WHERE b.tenant = r.tenant AND b.source_id = r.target_id
				AND b.predicate = 'contradicts' AND b.target_id = r.source_id)`},
	{"one history row for each version", `
		SELECT format('%s version %s: %s rows', m.id, v, count(h.id)) FROM memories m
			CROSS JOIN generate_series(1, m.version) v
			LEFT JOIN memory_history h ON h.tenant = m.tenant AND h.memory_id = m.id AND h.version = v
			AND h.action IS NOT NULL
		GROUP BY m.tenant, m.id, v HAVING count(h.id) <> 1`},
	{"no history row without a version", `
		SELECT format('%s version %s of %s', h.memory_id, h.version, m.version) FROM memory_history h
			JOIN memories m ON m.tenant = h.tenant AND m.id = h.memory_id
		WHERE h.version > m.version`},
	{"history is ordered by version", `
		SELECT format('%s: version %s after %s', memory_id, version, before) FROM (
			SELECT tenant, memory_id, version, lag(version) OVER (PARTITION BY tenant, memory_id ORDER BY seq) AS before
				FROM memory_history WHERE version IS NOT NULL) h
		WHERE version <= before`},
	{"history starts with the creation", `
		SELECT format('%s version %s: %s', memory_id, version, event) FROM memory_history
			WHERE version IS NOT NULL AND (version = 1) <> (event = 'created')`},
	{"the history of a removed memory is complete and ends with the removal", `
		SELECT format('%s: %s rows up to version %s, %s', h.memory_id, count(*), max(h.version),
			(array_agg(h.event ORDER BY h.version DESC))[1])
		FROM memory_history h WHERE h.version IS NOT NULL AND NOT EXISTS (SELECT FROM memories m
			WHERE m.tenant = h.tenant AND m.id = h.memory_id)
		GROUP BY h.tenant, h.memory_id HAVING count(*) <> max(h.version)
			OR (array_agg(h.event ORDER BY h.version DESC))[1] <> 'deleted'`},
	{"history has the replaced content", `
		SELECT format('%s version %s', h.memory_id, h.version) FROM memory_history h
			JOIN memory_versions k ON k.tenant = h.tenant AND k.memory_id = h.memory_id AND k.version = h.version - 1
		WHERE h.old_content <> k.record->>'content'`},
	{"history has the current content", `
		SELECT m.id::text FROM memories m JOIN LATERAL (
			SELECT h.new_content FROM memory_history h WHERE h.tenant = m.tenant AND h.memory_id = m.id
				AND h.version IS NOT NULL AND h.new_content IS NOT NULL
			ORDER BY h.seq DESC LIMIT 1) h ON true
		WHERE m.erased_at IS NULL AND h.new_content <> m.content`},
	{"a deleted memory has a deletion in history", `
		SELECT m.id::text FROM memories m WHERE (m.deleted_at IS NOT NULL) <> ((
			SELECT h.event FROM memory_history h WHERE h.tenant = m.tenant AND h.memory_id = m.id
				AND h.event IN ('deleted', 'recovered') AND h.version IS NOT NULL
			ORDER BY h.seq DESC LIMIT 1) IS NOT DISTINCT FROM 'deleted')`},
	{"every earlier version is stored", `
		SELECT format('%s version %s', m.id, v) FROM memories m CROSS JOIN generate_series(1, m.version - 1) v
		WHERE m.erased_at IS NULL AND NOT EXISTS (SELECT FROM memory_versions k WHERE k.tenant = m.tenant
			AND k.memory_id = m.id AND k.version = v)
			-- A purge takes a version with the history of the step that replaced it.
			AND EXISTS (SELECT FROM memory_history h WHERE h.tenant = m.tenant AND h.memory_id = m.id AND h.version = v + 1)
			-- The erasure of an episode takes the versions of what repeated it.
			AND NOT EXISTS (SELECT FROM memory_history h WHERE h.tenant = m.tenant AND h.memory_id = m.id AND h.version > v
				AND h.metadata ? 'versions_erased')`},
	{"stored versions are contiguous in time", `
		SELECT format('%s version %s', memory_id, version) FROM (
			SELECT k.memory_id, k.version, k.since, k.until, lead(k.since) OVER w AS next,
			lead(k.version) OVER w AS following
			FROM memory_versions k WINDOW w AS (PARTITION BY k.tenant, k.memory_id ORDER BY k.version)) x
		WHERE until < since OR next IS NOT NULL AND (next <> until OR following <> version + 1)`},
	{"the last stored version ends at the start of the current one", `
		SELECT format('%s version %s', k.memory_id, k.version) FROM memory_versions k
			JOIN memories m ON m.tenant = k.tenant AND m.id = k.memory_id
		WHERE k.version >= m.version OR k.version = m.version - 1 AND k.until <> m.updated_at`},
	{"a stored version has its version number", `
		SELECT format('%s version %s', memory_id, version) FROM memory_versions WHERE record->>'id' <> memory_id::text
			OR (record->>'version')::integer <> version`},
	{"a derived memory is no more trusted than its sources", `
		SELECT format('%s from %s', m.id, s.id) FROM memory_links r JOIN memories m
			ON m.tenant = r.tenant AND m.id = r.source_id
			JOIN memories s ON s.tenant = r.tenant AND s.id = r.target_id
		WHERE r.predicate = 'derived_from' AND m.source_trust > s.source_trust`},
	{"a repeated statement is linked to its record", `
		SELECT format('%s and %s', m.id, s.id) FROM proposals p
			JOIN ingest_batches b ON b.tenant = p.tenant AND b.id = p.batch_id AND b.mode = 'controlled'
			JOIN memory_candidates c ON c.tenant = p.tenant AND c.id = p.candidate_id
			JOIN memories s ON s.tenant = p.tenant AND s.id = c.memory_id AND s.erased_at IS NULL
			JOIN memories m ON m.tenant = p.tenant AND m.id = p.memory_id AND m.type = 'semantic'
				AND m.id <> s.id AND m.erased_at IS NULL
		WHERE p.state = 'skipped' AND p.outcome IN ('already_known', 'duplicate_content_hash') AND NOT EXISTS (
			SELECT FROM memory_links r WHERE r.tenant = m.tenant AND r.source_id = m.id
				AND r.predicate = 'derived_from' AND r.target_id = s.id
			UNION ALL SELECT FROM memory_links r WHERE r.tenant = m.tenant AND r.source_id = s.id
				AND r.predicate = 'restates' AND r.target_id = m.id)`},
	{"the payload agrees with the validity", `
		SELECT id::text FROM memories WHERE type = 'semantic' AND erased_at IS NULL
			AND coalesce(payload->'validity'->>'mode', 'global') <> validity`},
	{"the payload has the type of the memory", `
		SELECT id::text FROM memories WHERE erased_at IS NULL AND payload->>'kind' IS DISTINCT FROM type`},
	{"a pinned memory has maximal importance and no decay", `
		SELECT id::text FROM memories WHERE pinned AND erased_at IS NULL AND (importance <> 1
			OR decay_due_at IS NOT NULL)`},
	{"an erased memory has no content", `
		SELECT id::text FROM memories WHERE erased_at IS NOT NULL
			AND (deleted_at IS NULL OR content <> '' OR normalized_content <> '' OR length(tsv) > 0
			OR payload <> '{}' OR tags <> '{}' OR who <> '' OR external_id IS NOT NULL
				OR num_nonnulls(subject, predicate, object, conditions) > 0)`},
	{"no other row contains erased content", `
		SELECT format('%s: %s', m.id, x.place) FROM memories m JOIN (
			SELECT tenant, memory_id, 'versions' AS place FROM memory_versions
			UNION ALL SELECT tenant, memory_id, 'embeddings' FROM memory_embeddings
			UNION ALL SELECT tenant, memory_id, 'provenance' FROM memory_provenance
			UNION ALL SELECT tenant, memory_id, 'artifacts' FROM memory_artifacts
			UNION ALL SELECT tenant, memory_id, 'claims' FROM entity_claims
			UNION ALL SELECT tenant, memory_id, 'hints' FROM memory_hints
			UNION ALL SELECT tenant, memory_id, 'mentions' FROM memory_entity_mentions
			UNION ALL SELECT tenant, memory_id, 'graph' FROM entity_relation_sources
			UNION ALL SELECT tenant, source_id, 'reason of a relation' FROM memory_links WHERE reason <> ''
			UNION ALL SELECT tenant, target_id, 'reason of a relation' FROM memory_links WHERE reason <> ''
			UNION ALL SELECT tenant, memory_id, 'history' FROM memory_history WHERE num_nonnulls(old_content, new_content) > 0
			UNION ALL SELECT tenant, memory_id, 'reason in history' FROM memory_history
				WHERE version IS NOT NULL AND action <> 'erase' AND reason <> '[erased]'
			UNION ALL SELECT tenant, memory_id, 'candidate' FROM memory_candidates WHERE content <> ''
				OR refs <> '[]' OR tags <> '{}'
				OR coalesce(extraction, '{"facts": []}') <> '{"facts": []}'
			UNION ALL SELECT tenant, memory_id, 'proposal' FROM proposals WHERE fact->>'content' <> '' OR embedding IS NOT NULL
			UNION ALL SELECT tenant, target_id, 'proposal about it, ' || state || ' ' || outcome || ', round ' || rounds
				FROM proposals WHERE state NOT IN ('proposed', 'stale') AND (fact->>'content' <> '' OR embedding IS NOT NULL)
				-- settled after the erasure: the text is that of its source
				AND outcome NOT IN ('candidates_changed', 'parent_forgotten')
				AND decided_at < (SELECT erased_at FROM memories t WHERE t.tenant = proposals.tenant AND t.id = target_id)
			UNION ALL SELECT p.tenant, c.memory_id, 'fact' FROM proposals p JOIN memory_candidates c
				ON c.tenant = p.tenant AND c.id = p.candidate_id
				WHERE p.fact->>'content' <> '' OR p.embedding IS NOT NULL
			UNION ALL SELECT tenant, coalesce(memory_id, candidate_id), 'event' FROM events
		) x ON x.tenant = m.tenant AND x.memory_id = m.id WHERE m.erased_at IS NOT NULL`},
	{"no row contains content forgotten by force", `
		SELECT format('%s: %s', x.memory_id, x.place) FROM (
			SELECT tenant, memory_id, 'history' AS place FROM memory_history
			WHERE num_nonnulls(old_content, new_content) > 0
			UNION ALL SELECT tenant, memory_id, 'candidate' FROM memory_candidates WHERE content <> ''
				OR refs <> '[]' OR tags <> '{}'
				OR coalesce(extraction, '{"facts": []}') <> '{"facts": []}'
			UNION ALL SELECT tenant, memory_id, 'proposal' FROM proposals WHERE fact->>'content' <> ''
			OR embedding IS NOT NULL
			UNION ALL SELECT tenant, coalesce(memory_id, candidate_id), 'event' FROM events
		) x WHERE NOT EXISTS (SELECT FROM memories m WHERE m.tenant = x.tenant AND m.id = x.memory_id) AND ` +
		removedByForce("x.tenant", "x.memory_id") + `
		`},
	{"no staged request refers to memories erased long ago", `
		SELECT r.id FROM staged_requests r JOIN memories m ON m.tenant = r.tenant
			AND m.erased_at - interval '1 hour' > r.created_at AND position(m.id::text IN r.body::text) > 0`},
	{"dependent rows have a memory", `
		SELECT format('%s: %s', x.memory_id, x.place) FROM (
			SELECT tenant, memory_id, 'versions' AS place FROM memory_versions
			UNION ALL SELECT tenant, memory_id, 'embeddings' FROM memory_embeddings
			UNION ALL SELECT tenant, memory_id, 'provenance' FROM memory_provenance
			UNION ALL SELECT tenant, memory_id, 'artifacts' FROM memory_artifacts
			UNION ALL SELECT tenant, memory_id, 'claims' FROM entity_claims
			UNION ALL SELECT tenant, memory_id, 'hints' FROM memory_hints
			UNION ALL SELECT tenant, memory_id, 'mentions' FROM memory_entity_mentions
			UNION ALL SELECT tenant, memory_id, 'graph' FROM entity_relation_sources
			UNION ALL SELECT tenant, memory_id, 'access' FROM memory_access
		) x WHERE NOT EXISTS (SELECT FROM memories m WHERE m.tenant = x.tenant AND m.id = x.memory_id)`},
	{"embeddings are of the current text", `
		SELECT format('%s: %s', e.memory_id, e.model) FROM memory_embeddings e JOIN memories m
			ON m.tenant = e.tenant AND m.id = e.memory_id
		WHERE e.content_hash <> m.content_hash OR e.tier <> m.tier OR e.typology <> m.typology`},
	{"counts of mentions are exact", `
		SELECT format('%s: %s counted, %s made', e.id, e.mentions, count(x.memory_id)) FROM entities e
			LEFT JOIN memory_entity_mentions x ON x.tenant = e.tenant AND x.entity_id = e.id
		GROUP BY e.tenant, e.id HAVING e.mentions <> count(x.memory_id)`},
	{"counts of edges are exact", `
		SELECT format('%s %s: %s counted, %s made', e.source_id, e.target_id, e.mentions, count(x.memory_id))
			FROM entity_relations e
			LEFT JOIN entity_relation_sources x USING (tenant, source_id, relationship, target_id)
		GROUP BY e.tenant, e.source_id, e.relationship, e.target_id HAVING e.mentions <> count(x.memory_id)`},
	{"referenced artifacts exist", `
		SELECT format('%s: %s', x.memory_id, encode(x.sha256, 'hex')) FROM memory_artifacts x
		WHERE NOT EXISTS (SELECT FROM artifacts a WHERE a.tenant = x.tenant AND a.sha256 = x.sha256)`},
	{"an artifact has a memory or an uploader", `
		SELECT encode(a.sha256, 'hex') FROM artifacts a
		WHERE NOT EXISTS (SELECT FROM memory_artifacts x WHERE x.tenant = a.tenant AND x.sha256 = a.sha256)
			AND NOT EXISTS (SELECT FROM artifact_holders h WHERE h.tenant = a.tenant AND h.sha256 = a.sha256)`},
	{"counts of documents are exact", `
		WITH truth AS (SELECT m.tenant, l.lexeme, count(*) AS docs FROM memories m, unnest(m.tsv) l
			WHERE m.live GROUP BY 1, 2)
		SELECT format('%s: %s counted, %s live', coalesce(s.lexeme, t.lexeme), s.docs, t.docs)
		FROM truth t FULL JOIN lexeme_stats s USING (tenant, lexeme) WHERE coalesce(s.docs, 0) <> coalesce(t.docs, 0)`},
	{"counts of words are exact", `
		WITH truth AS (SELECT tenant, count(*) AS docs, sum(length(tsv)) AS lexemes FROM memories WHERE live GROUP BY 1)
		SELECT format('%s and %s counted, %s and %s live', s.docs, s.lexemes, t.docs, t.lexemes)
			FROM truth t FULL JOIN corpus_stats s USING (tenant)
		WHERE coalesce(s.docs, 0) <> coalesce(t.docs, 0) OR coalesce(s.lexemes, 0) <> coalesce(t.lexemes, 0)`},
	{"the last outbox entry has the current version", `
		SELECT format('%s version %s: %s of version %s', o.memory_id, m.version, o.op, o.version)
		FROM (SELECT DISTINCT ON (tenant, memory_id) tenant, memory_id, version, op
			FROM index_outbox ORDER BY tenant, memory_id, seq DESC) o
			LEFT JOIN memories m ON m.tenant = o.tenant AND m.id = o.memory_id
		WHERE (o.op = 'upsert') <> coalesce(m.live, false) OR m.version <> o.version`},
	{"counts of a forget run are exact", `
		SELECT format('%s: %s of %s', f.id, f.receipt->>'forgotten',
		count(i.ordinal) FILTER (WHERE i.outcome = 'forgotten'))
			FROM forget_runs f
			LEFT JOIN forget_items i ON i.tenant = f.tenant AND i.run_id = f.id
		GROUP BY f.tenant, f.id HAVING coalesce((f.receipt->>'forgotten')::bigint,
			0) <> count(i.ordinal) FILTER (WHERE i.outcome = 'forgotten')
			OR f.total <> count(i.ordinal) OR f.state IN ('preview', 'expired')
				AND count(i.ordinal) FILTER (WHERE i.outcome = 'forgotten') > 0`},
	{"a memory is forgotten once per version", `
		SELECT format('%s version %s', memory_id, version) FROM forget_items WHERE outcome = 'forgotten'
			GROUP BY tenant, memory_id, version HAVING count(*) > 1`},
	{"no request outlives its operation", `
		SELECT r.id FROM staged_requests r JOIN operations o ON o.tenant = r.tenant AND o.id = r.id`},
}

// removedByForce is the condition that a memory was forgotten by force: its row no longer exists, but its history does.
func removedByForce(tenant, id string) string {
	return removed(tenant, id, `gone.metadata->>'mode' = 'force'`)
}

// removedLater is the condition that a memory no longer has a row: it was forgotten by force or purged.
func removedLater(tenant, id string) string {
	return removed(tenant, id, `(gone.metadata->>'mode' = 'force' OR gone.action = 'purge')`)
}

func removed(tenant, id, how string) string {
	return `EXISTS (SELECT FROM memory_history gone WHERE gone.tenant = ` + tenant + ` AND gone.memory_id = ` + id +
		` AND gone.event = 'deleted' AND ` + how + `)`
}

// CheckInvariants looks for rows that no operation may leave. The connection must be the owner's, which sees all
// tenants. Call it while nothing writes.
func CheckInvariants(t require.TestingT, db *pgx.Conn) {
	if h, ok := t.(testing.TB); ok {
		h.Helper()
	}
	for _, i := range invariants {
		rows, err := db.Query(context.Background(), i.query)
		require.NoError(t, err, i.name)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, i.name)
		require.Empty(t, found, i.name)
	}
}

// CheckOutbox looks for changed memories that would never reach the index: the outbox's latest row of every memory
// must have its current version and match its current state. This holds as long as the outbox is not drained.
func CheckOutbox(t require.TestingT, db *pgx.Conn) {
	rows, err := db.Query(context.Background(), `
		SELECT format('%s version %s (live: %s): %s', m.id, m.version, m.live,
			coalesce(o.op || ' of version ' || o.version, 'nothing'))
		FROM memories m LEFT JOIN LATERAL (
			SELECT o.op, o.version FROM index_outbox o WHERE o.tenant = m.tenant AND o.memory_id = m.id
				ORDER BY o.seq DESC LIMIT 1) o ON true
		WHERE o.version IS DISTINCT FROM m.version OR (o.op = 'upsert') <> m.live`)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Empty(t, found, "the outbox")
}
