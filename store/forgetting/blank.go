package forgetting

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// blankPipeline empties what the pipeline keeps: the candidates that became these memories, and what was
// proposed from them or about them.
func (f *Forgetting) blankPipeline(ctx context.Context) error {
	_, err := f.BlankPart(ctx, 0)
	return err
}

// What of a candidate c, or of a proposal p, is still to be emptied.
const (
	candidateFull = `(c.state = 'staged' OR c.content <> '' OR c.extraction <> '{"facts": []}' OR c.refs <> '[]'
	OR c.speaker <> '' OR c.session <> '' OR c.tags <> '{}')`
	proposalFull = `(p.state IN ('proposed', 'stale', 'blocked') OR p.reason <> '' OR p.review_reason <> ''
		OR p.warnings <> '{}' OR p.embedding IS NOT NULL
		OR p.fact->>'content' <> '' OR p.fact - '{content, category, confidence}'::text[] <> '{}')`
	// The source's extraction holds its text as well.
	factFull = `EXISTS (SELECT FROM memory_candidates c WHERE c.tenant = p.tenant AND c.id = p.candidate_id
		AND c.extraction->'facts'->p.ordinal->>'content' <> '')`
)

// BlankPart is blankPipeline, for so many candidates, events and proposals at most that still hold something, or for
// all with 0. It returns how many there were: fewer than the limit when nothing is left.
func (f *Forgetting) BlankPart(ctx context.Context, limit int) (int, error) {
	candidates, err := f.blankCandidates(ctx, limit)
	if err != nil {
		return 0, fmt.Errorf("candidates: %w", err)
	}
	n, rest := len(candidates), 0
	if limit > 0 {
		if rest = limit - n; rest == 0 {
			return n, nil
		}
	}
	events, err := f.blankEvents(ctx, rest)
	if err != nil {
		return n, fmt.Errorf("events: %w", err)
	}
	n += events
	if limit > 0 {
		if rest = limit - n; rest == 0 {
			return n, nil
		}
	}
	proposals, err := f.toBlank(ctx, rest)
	if err != nil {
		return n, fmt.Errorf("proposals: %w", err)
	}
	if len(proposals) == 0 {
		return n, nil
	}
	// The source's extraction also holds a fact that became one of these memories. Its place stays: facts are known
	// by their position.
	err = f.exec(ctx, "memory_candidates", `
		UPDATE memory_candidates c SET extraction = jsonb_set(c.extraction, '{facts}', (
			SELECT jsonb_agg(CASE WHEN EXISTS (SELECT FROM proposals p WHERE p.tenant = $1 AND p.candidate_id = c.id
				AND p.ordinal = e.n - 1 AND p.memory_id = ANY($2))
				THEN (e.fact || '{"content": ""}') - 'claim' - 'hints' ELSE e.fact END ORDER BY e.n)
			FROM jsonb_array_elements(c.extraction->'facts') WITH ORDINALITY e(fact, n)))
		WHERE c.tenant = $1 AND c.id IN (SELECT p.candidate_id FROM proposals p WHERE p.tenant = $1 AND p.id = ANY($3)
			AND p.memory_id = ANY($2)) AND c.memory_id <> ALL($2)
			AND jsonb_typeof(c.extraction->'facts') = 'array' AND jsonb_array_length(c.extraction->'facts') > 0`,
		proposals)
	if err != nil {
		return n, err
	}
	// The model's words about them, in the history of the sources that they came from.
	var reasons int
	err = f.Tx.QueryRow(ctx, `
		WITH p AS (
			SELECT p.id::text AS id, c.memory_id FROM proposals p JOIN memory_candidates c ON c.tenant = $1
			AND c.id = p.candidate_id
			WHERE p.tenant = $1 AND p.id = ANY($3) AND CASE WHEN c.memory_id = ANY($2) THEN $5
			ELSE p.memory_id = ANY($2) OR p.target_id = ANY($2) END
		)
		SELECT coalesce(mneme_erase_reasons(array_agg(DISTINCT memory_id), array_agg(DISTINCT id), $4), 0) FROM p`,
		f.Tenant, f.Gone, proposals, f.Now, f.Sources).Scan(&reasons)
	if err != nil {
		return n, fmt.Errorf("reasons: %w", err)
	}
	f.Run.Receipt.Remove("memory_history", reasons)
	// What still waits to be decided or written about another source keeps its fact: that text is the
	// source's. It finds its target gone and is decided again.
	err = f.exec(ctx, "proposals", `
		UPDATE proposals p SET fact = jsonb_build_object('content', '', 'category', p.fact->'category', 'confidence',
			p.fact->'confidence'), reason = '', review_reason = '',
			warnings = '{}', embedding = NULL, embedding_model = NULL,
			state = CASE WHEN p.state IN ('proposed', 'stale', 'blocked') THEN 'skipped' ELSE p.state END,
			outcome = CASE WHEN p.state IN ('proposed', 'stale', 'blocked') THEN '`+reasonForgotten+`'
			ELSE p.outcome END
		WHERE p.tenant = $1 AND p.id = ANY($3) AND (p.memory_id = ANY($2) OR p.target_id = ANY($2)
			AND p.state NOT IN ('proposed', 'stale')
			OR EXISTS (SELECT FROM memory_candidates c WHERE c.tenant = $1 AND c.id = p.candidate_id
				AND c.memory_id = ANY($2)))`, proposals)
	if err != nil {
		return n, err
	}
	if _, err = f.Tx.Exec(ctx, `UPDATE proposals SET reason = '' WHERE tenant = $1 AND id = ANY($2)
		AND state IN ('proposed', 'stale')`, f.Tenant, proposals); err != nil {
		return n, fmt.Errorf("proposals: %w", err)
	}
	return n + len(proposals), nil
}

// blankCandidates empties candidates that became the memories, or were found to be what they say.
func (f *Forgetting) blankCandidates(ctx context.Context, limit int) ([]uuid.UUID, error) {
	choose := `SELECT c.id FROM memory_candidates c WHERE c.tenant = $1 AND c.memory_id = ANY($2)`
	if limit > 0 {
		choose += ` AND ` + candidateFull
	}
	ids, err := f.lockSome(ctx, "memory_candidates", choose, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	_, err = f.Tx.Exec(ctx, `
		UPDATE memory_candidates SET content = '', extraction = CASE WHEN extraction IS NOT NULL
		THEN '{"facts": []}'::jsonb END, refs = '[]', speaker = '', session = '',
			tags = '{}', state = CASE WHEN state = 'staged' THEN 'dead' ELSE state END
		WHERE tenant = $1 AND id = ANY($2)`, f.Tenant, ids)
	f.Run.Receipt.Remove("memory_candidates", len(ids))
	return ids, err
}

// blankEvents removes the labels of sessions and the references from what the ledger has of the memories, of so many
// events at most, or of all with 0. The event itself, its sender and its time stay.
func (f *Forgetting) blankEvents(ctx context.Context, limit int) (int, error) {
	var most any
	if limit > 0 {
		most = limit
	}
	n := 0
	err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_events($1, $2)`, f.Gone, most).Scan(&n)
	f.Run.Receipt.Remove("events", n)
	return n, err
}

// toBlank locks what was proposed from the memories, or about them.
func (f *Forgetting) toBlank(ctx context.Context, limit int) ([]uuid.UUID, error) {
	became, about, from := ``, ``, ``
	if limit > 0 {
		became, from = ` AND (`+proposalFull+` OR `+factFull+`)`, ` AND `+proposalFull
		about = ` AND CASE WHEN p.state IN ('proposed', 'stale') THEN p.reason <> '' ELSE ` + proposalFull + ` END`
	}
	return f.lockSome(ctx, "proposals", `SELECT p.id FROM proposals p WHERE p.tenant = $1
		AND p.memory_id = ANY($2)`+became+`
		UNION SELECT p.id FROM proposals p WHERE p.tenant = $1 AND p.target_id = ANY($2)`+about+`
		UNION SELECT p.id FROM memory_candidates c JOIN proposals p ON p.tenant = c.tenant AND p.candidate_id = c.id
		WHERE c.tenant = $1 AND c.memory_id = ANY($2)`+from, limit)
}

// lockSome locks rows of a table that a query about the memories chooses, by id, in the order in which pipelines
// lock them; limit at most, or all with 0.
func (f *Forgetting) lockSome(ctx context.Context, table, choose string, limit int) ([]uuid.UUID, error) {
	var most any // NULL means no limit
	if limit > 0 {
		most = limit
	}
	// Chosen first, all of them: for a few in order, Postgres would rather walk through the table.
	rows, err := f.Tx.Query(ctx, `WITH chosen AS MATERIALIZED (`+choose+`) SELECT id FROM chosen ORDER BY id
		LIMIT $3`, f.Tenant, f.Gone, most)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	_, err = f.Tx.Exec(ctx, `SELECT FROM `+table+` WHERE tenant = $1 AND id = ANY($2) ORDER BY id FOR UPDATE`, f.Tenant,
		ids)
	return ids, err
}
