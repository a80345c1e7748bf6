package testkit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// invariants are queries that find what must never be: each returns a line for every violation. They
// hold for whatever the operations wrote, in any order and number.
var invariants = []struct{ name, query string }{
	{"one active fact per claim and ground", `
		SELECT format('%s and %s', a.id, b.id) FROM memories a JOIN memories b
			ON b.tenant = a.tenant AND b.scope = a.scope AND b.claim_space = a.claim_space AND b.subject_key = a.subject_key AND b.predicate = a.predicate AND b.id > a.id
		WHERE a.type = 'semantic' AND b.type = 'semantic' AND a.functional AND b.functional AND a.live AND b.live AND a.status = 'active' AND b.status = 'active'
			AND (a.conditions_hash = b.conditions_hash
				OR a.validity <> 'global' AND a.validity = b.validity AND coalesce(a.conditions, '{}') = coalesce(b.conditions, '{}')
					AND coalesce(a.valid_from, '-infinity') < coalesce(b.valid_until, 'infinity')
					AND coalesce(b.valid_from, '-infinity') < coalesce(a.valid_until, 'infinity'))`},
	{"what is superseded has a successor", `
		SELECT m.id::text FROM memories m LEFT JOIN memories s ON s.tenant = m.tenant AND s.id = m.superseded_by
		WHERE m.status = 'superseded' AND (m.superseded_by IS NULL OR m.superseded_at IS NULL OR s.id IS NULL)`},
	{"what is not superseded has none", `
		SELECT id::text FROM memories WHERE status IN ('active', 'contested') AND deleted_at IS NULL AND superseded_by IS NOT NULL`},
	{"supersession ends", `
		WITH RECURSIVE chain AS (
			SELECT tenant, id, superseded_by FROM memories WHERE superseded_by IS NOT NULL
			UNION ALL
			SELECT c.tenant, m.id, m.superseded_by FROM chain c JOIN memories m ON m.tenant = c.tenant AND m.id = c.superseded_by WHERE m.superseded_by IS NOT NULL
		) CYCLE id SET met USING path
		SELECT DISTINCT id::text FROM chain WHERE met`},
	{"a successor says what it supersedes", `
		SELECT m.id::text FROM memories m WHERE m.status = 'superseded' AND m.superseded_by IS NOT NULL AND NOT EXISTS (
			SELECT FROM memory_relations r WHERE r.tenant = m.tenant AND r.source_id = m.superseded_by AND r.predicate = 'supersedes' AND r.target_id = m.id)`},
	{"contradiction is mutual", `
		SELECT format('%s and %s', r.source_id, r.target_id) FROM memory_relations r WHERE r.predicate = 'contradicts' AND NOT EXISTS (
			SELECT FROM memory_relations b WHERE b.tenant = r.tenant AND b.source_id = r.target_id AND b.predicate = 'contradicts' AND b.target_id = r.source_id)`},
	{"one history row a version", `
		SELECT format('%s version %s: %s rows', m.id, v, count(h.id)) FROM memories m CROSS JOIN generate_series(1, m.version) v
			LEFT JOIN memory_history h ON h.tenant = m.tenant AND h.memory_id = m.id AND h.version = v AND h.action IS NOT NULL
		GROUP BY m.tenant, m.id, v HAVING count(h.id) <> 1`},
	{"no history row without its version", `
		SELECT format('%s version %s of %s', h.memory_id, h.version, m.version) FROM memory_history h JOIN memories m ON m.tenant = h.tenant AND m.id = h.memory_id
		WHERE h.version > m.version`},
	{"every earlier version is kept", `
		SELECT format('%s version %s', m.id, v) FROM memories m CROSS JOIN generate_series(1, m.version - 1) v
		WHERE m.erased_at IS NULL AND NOT EXISTS (SELECT FROM memory_versions k WHERE k.tenant = m.tenant AND k.memory_id = m.id AND k.version = v)`},
	{"kept versions follow each other", `
		SELECT format('%s version %s', memory_id, version) FROM (
			SELECT k.memory_id, k.version, k.since, k.until, lead(k.since) OVER w AS next, lead(k.version) OVER w AS following
			FROM memory_versions k WINDOW w AS (PARTITION BY k.tenant, k.memory_id ORDER BY k.version)) x
		WHERE until < since OR next IS NOT NULL AND (next <> until OR following <> version + 1)`},
	{"the last kept version ends where the present one begins", `
		SELECT format('%s version %s', k.memory_id, k.version) FROM memory_versions k JOIN memories m ON m.tenant = k.tenant AND m.id = k.memory_id
		WHERE k.version >= m.version OR k.version = m.version - 1 AND k.until <> m.updated_at`},
	{"a derived memory is no more trusted than its sources", `
		SELECT format('%s from %s', m.id, s.id) FROM memory_relations r JOIN memories m ON m.tenant = r.tenant AND m.id = r.source_id
			JOIN memories s ON s.tenant = r.tenant AND s.id = r.target_id
		WHERE r.predicate = 'derived_from' AND m.source_trust > s.source_trust`},
	{"the payload says where the memory holds", `
		SELECT id::text FROM memories WHERE type = 'semantic' AND erased_at IS NULL AND coalesce(payload->'validity'->>'mode', 'global') <> validity`},
	{"documents are counted", `
		WITH truth AS (SELECT m.tenant, l.lexeme, count(*) AS docs FROM memories m, unnest(m.tsv) l WHERE m.live GROUP BY 1, 2)
		SELECT format('%s: %s counted, %s live', coalesce(s.lexeme, t.lexeme), s.docs, t.docs)
		FROM truth t FULL JOIN lexeme_stats s USING (tenant, lexeme) WHERE coalesce(s.docs, 0) <> coalesce(t.docs, 0)`},
	{"words are counted", `
		WITH truth AS (SELECT tenant, count(*) AS docs, sum(length(tsv)) AS lexemes FROM memories WHERE live GROUP BY 1)
		SELECT format('%s and %s counted, %s and %s live', s.docs, s.lexemes, t.docs, t.lexemes) FROM truth t FULL JOIN corpus_stats s USING (tenant)
		WHERE coalesce(s.docs, 0) <> coalesce(t.docs, 0) OR coalesce(s.lexemes, 0) <> coalesce(t.lexemes, 0)`},
	{"no request outlives its operation", `
		SELECT r.id FROM staged_requests r JOIN operations o ON o.tenant = r.tenant AND o.id = r.id`},
}

// CheckInvariants looks for rows that no operation may leave behind. The connection is the owner's: it
// sees all tenants. Call it when nobody writes.
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

// CheckOutbox looks for changed memories of which the index would never hear: the outbox's latest row
// of every memory must be of its present version and ask for what the memory now is. It holds as long
// as nobody drains the outbox.
func CheckOutbox(t require.TestingT, db *pgx.Conn) {
	rows, err := db.Query(context.Background(), `
		SELECT format('%s version %s (live: %s): %s', m.id, m.version, m.live, coalesce(o.op || ' of version ' || o.version, 'nothing'))
		FROM memories m LEFT JOIN LATERAL (
			SELECT o.op, o.version FROM index_outbox o WHERE o.tenant = m.tenant AND o.memory_id = m.id ORDER BY o.seq DESC LIMIT 1) o ON true
		WHERE o.version IS DISTINCT FROM m.version OR (o.op = 'upsert') <> m.live`)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Empty(t, found, "the outbox")
}
