package forgetting

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// blankPipeline empties the pipeline's copies: the candidates that became these memories, and the proposals made
// from the memories or about them.
func (f *Forgetting) blankPipeline(ctx context.Context) error {
	_, err := f.BlankPart(ctx, 0)
	return err
}

// Conditions that a candidate c, or a proposal p, still has text to remove.
const (
	candidateFull = `(c.state = 'staged'
		OR c.content <> ''
		OR c.extraction <> '{"facts": []}'
		OR c.refs <> '[]'
		OR c.speaker <> ''
		OR c.session <> ''
		OR c.tags <> '{}')`
	proposalFull = `(p.state IN ('proposed', 'stale', 'blocked')
		OR p.reason <> ''
		OR p.review_reason <> ''
		OR p.warnings <> '{}'
		OR p.embedding IS NOT NULL
		OR p.fact->>'content' <> ''
		OR p.fact - '{content, category, confidence}'::text[] <> '{}')`
	// The source's extraction has the fact's text as well.
	factFull = `EXISTS (
		SELECT FROM memory_candidates c
		WHERE c.tenant = p.tenant AND c.id = p.candidate_id
			AND c.extraction->'facts'->p.ordinal->>'content' <> '')`
)

// BlankPart is blankPipeline for at most limit candidates, events and proposals that still have text; 0 means all.
// It returns how many it emptied: fewer than the limit if nothing is left.
func (f *Forgetting) BlankPart(ctx context.Context, limit int) (int, error) {
	blanked := 0
	for _, kind := range []struct {
		name  string
		blank func(ctx context.Context, limit int) (int, error)
	}{
		{"candidates", f.blankCandidates},
		{"events", f.blankEvents},
		{"proposals", f.blankProposals},
	} {
		left := 0
		if limit > 0 {
			if left = limit - blanked; left <= 0 {
				return blanked, nil
			}
		}
		n, err := kind.blank(ctx, left)
		blanked += n
		if err != nil {
			return blanked, fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return blanked, nil
}

// blankCandidates empties the candidates that became the memories or were duplicates of them.
func (f *Forgetting) blankCandidates(ctx context.Context, limit int) (int, error) {
	choose := `
		SELECT c.id
		FROM memory_candidates c
		WHERE c.tenant = @tenant AND c.memory_id = ANY(@memories)`
	if limit > 0 {
		choose += ` AND ` + candidateFull
	}
	ids, err := f.lockSome(ctx, "memory_candidates", choose, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	_, err = f.Tx.Exec(ctx, `
		UPDATE memory_candidates
		SET content = '',
			extraction = CASE WHEN extraction IS NOT NULL THEN '{"facts": []}'::jsonb END,
			refs = '[]',
			speaker = '',
			session = '',
			tags = '{}',
			state = CASE WHEN state = 'staged' THEN 'dead' ELSE state END
		WHERE tenant = @tenant AND id = ANY(@candidates)`,
		pg.Args{"tenant": f.Tenant, "candidates": ids})
	f.Run.Receipt.Remove("memory_candidates", len(ids))
	return len(ids), err
}

// blankEvents removes the session labels and the references from the ledger's events about the memories. It does so
// for at most limit events; 0 means all. The event itself, its sender and its time remain.
func (f *Forgetting) blankEvents(ctx context.Context, limit int) (int, error) {
	n := 0
	receipt := ledger.Receipt{By: "retention"}
	if r := f.Run; r.ID != uuid.Nil {
		receipt = ledger.Receipt{By: cmp.Or(r.ConfirmedBy, r.RequestedBy), Reason: r.Reason, Run: r.ID.String()}
	}
	if err := commit.SetEventReceipt(ctx, f.Tx, receipt); err != nil {
		return 0, err
	}
	err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_events($1, $2)`, f.Gone, upTo(limit)).Scan(&n)
	f.Run.Receipt.Remove("events", n)
	return n, err
}

// blankProposals empties the proposals made from the memories or about them, and the copies of these proposals.
func (f *Forgetting) blankProposals(ctx context.Context, limit int) (int, error) {
	proposals, err := f.toBlank(ctx, limit)
	if err != nil || len(proposals) == 0 {
		return 0, err
	}
	of := pg.Args{"proposals": proposals}
	if err := f.exec(ctx, "memory_candidates", blankExtractions, of); err != nil {
		return 0, err
	}
	reasons := 0
	err = f.Tx.QueryRow(ctx, blankReasons, pg.Args{
		"tenant":       f.Tenant,
		"memories":     f.Gone,
		"proposals":    proposals,
		"from_sources": f.Sources,
		"now":          f.Now,
	}).Scan(&reasons)
	if err != nil {
		return 0, fmt.Errorf("reasons: %w", err)
	}
	f.Run.Receipt.Remove("memory_history", reasons)
	err = f.exec(ctx, "proposals", blankFacts, pg.Args{"proposals": proposals, "outcome": reasonForgotten})
	if err != nil {
		return 0, err
	}
	_, err = f.Tx.Exec(ctx, `
		UPDATE proposals
		SET reason = ''
		WHERE tenant = @tenant AND id = ANY(@proposals) AND state IN ('proposed', 'stale')`,
		pg.Args{"tenant": f.Tenant, "proposals": proposals})
	return len(proposals), err
}

// Statements that empty the proposals @proposals, and the copies of them, because the memories are forgotten.
const (
	// A fact that became one of the memories is also in the extraction of its source, which may remain. The fact is
	// emptied in place, because facts are identified by position.
	blankExtractions = `
		UPDATE memory_candidates c
		SET extraction = jsonb_set(c.extraction, '{facts}', (
			SELECT jsonb_agg(
				CASE
					WHEN EXISTS (
						SELECT FROM proposals p
						WHERE p.tenant = @tenant AND p.candidate_id = c.id AND p.ordinal = e.n - 1
							AND p.memory_id = ANY(@memories)
					) THEN (e.fact || '{"content": ""}') - 'claim' - 'hints'
					ELSE e.fact
				END
				ORDER BY e.n)
			FROM jsonb_array_elements(c.extraction->'facts') WITH ORDINALITY e(fact, n)))
		WHERE c.tenant = @tenant
			AND c.id IN (
				SELECT p.candidate_id
				FROM proposals p
				WHERE p.tenant = @tenant AND p.id = ANY(@proposals) AND p.memory_id = ANY(@memories))
			AND c.memory_id <> ALL(@memories)
			AND jsonb_typeof(c.extraction->'facts') = 'array'
			AND jsonb_array_length(c.extraction->'facts') > 0`
	// The model's reasons for the proposals are in the history of their sources.
	blankReasons = `
		WITH p AS (
			SELECT p.id::text AS id, c.memory_id
			FROM proposals p
			JOIN memory_candidates c ON c.tenant = @tenant AND c.id = p.candidate_id
			WHERE p.tenant = @tenant AND p.id = ANY(@proposals)
				AND CASE
					WHEN c.memory_id = ANY(@memories) THEN @from_sources
					ELSE p.memory_id = ANY(@memories) OR p.target_id = ANY(@memories)
				END
		)
		SELECT coalesce(mneme_erase_reasons(array_agg(DISTINCT memory_id), array_agg(DISTINCT id), @now), 0)
		FROM p`
	// A waiting proposal from another source keeps its fact, because the text belongs to that source. Its target is
	// gone, so it will be decided again.
	blankFacts = `
		UPDATE proposals p
		SET fact = jsonb_build_object(
				'content', '',
				'category', p.fact->'category',
				'confidence', p.fact->'confidence'),
			reason = '',
			review_reason = '',
			warnings = '{}',
			embedding = NULL,
			embedding_model = NULL,
			state = CASE WHEN p.state IN ('proposed', 'stale', 'blocked') THEN 'skipped' ELSE p.state END,
			outcome = CASE WHEN p.state IN ('proposed', 'stale', 'blocked') THEN @outcome ELSE p.outcome END
		WHERE p.tenant = @tenant AND p.id = ANY(@proposals)
			AND (p.memory_id = ANY(@memories)
				OR p.target_id = ANY(@memories) AND p.state NOT IN ('proposed', 'stale')
				OR EXISTS (
					SELECT FROM memory_candidates c
					WHERE c.tenant = @tenant AND c.id = p.candidate_id AND c.memory_id = ANY(@memories)))`
)

// toBlank locks the proposals made from the memories or about them.
func (f *Forgetting) toBlank(ctx context.Context, limit int) ([]uuid.UUID, error) {
	became, about, from := ``, ``, ``
	if limit > 0 { // only those that still have text
		became = ` AND (` + proposalFull + ` OR ` + factFull + `)`
		about = ` AND CASE WHEN p.state IN ('proposed', 'stale') THEN p.reason <> '' ELSE ` + proposalFull + ` END`
		from = ` AND ` + proposalFull
	}
	return f.lockSome(ctx, "proposals", `
		SELECT p.id
		FROM proposals p
		WHERE p.tenant = @tenant AND p.memory_id = ANY(@memories)`+became+`
		UNION
		SELECT p.id
		FROM proposals p
		WHERE p.tenant = @tenant AND p.target_id = ANY(@memories)`+about+`
		UNION
		SELECT p.id
		FROM memory_candidates c
		JOIN proposals p ON p.tenant = c.tenant AND p.candidate_id = c.id
		WHERE c.tenant = @tenant AND c.memory_id = ANY(@memories)`+from, limit)
}

// lockSome locks the rows of a table that a query about the memories selects: at most limit; 0 means all. It locks
// in order of id, as pipelines do.
func (f *Forgetting) lockSome(ctx context.Context, table, choose string, limit int) ([]uuid.UUID, error) {
	// MATERIALIZED selects all rows first. With an ORDER BY and a small limit, Postgres would rather scan the
	// table.
	rows, err := f.Tx.Query(ctx, `
		WITH chosen AS MATERIALIZED (`+choose+`
		)
		SELECT id
		FROM chosen
		ORDER BY id
		LIMIT @limit`,
		pg.Args{"tenant": f.Tenant, "memories": f.Gone, "limit": upTo(limit)})
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	_, err = f.Tx.Exec(ctx, `
		SELECT
		FROM `+table+`
		WHERE tenant = @tenant AND id = ANY(@ids)
		ORDER BY id
		FOR UPDATE`,
		pg.Args{"tenant": f.Tenant, "ids": ids})
	return ids, err
}

// upTo returns a limit as an argument of LIMIT. NULL means no limit.
func upTo(limit int) any {
	if limit <= 0 {
		return nil
	}
	return limit
}
