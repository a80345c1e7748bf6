package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

const (
	// maxSignalLexemes bounds a search by signals. An error with its stack has many words, and the first ones
	// identify it.
	maxSignalLexemes = 48
	// maxSignalMatches is the number of matching procedures that are ranked. If there are more, an arbitrary subset
	// is ranked.
	maxSignalMatches = 2_000
)

// signalLexemes parses the texts as mneme_signals does. The query is built from the lexemes, so that a text cannot
// cause a syntax error.
const signalLexemes = `
	SELECT coalesce(array_agg(lexeme ORDER BY first), '{}')
	FROM (
		SELECT l.lexeme, min(t.n * 100000 + l.positions[1]) AS first
		FROM unnest(@texts::text[]) WITH ORDINALITY t(text, n),
			unnest(to_tsvector('pg_catalog.english'::regconfig,
				regexp_replace(left(t.text, 100000), '[^[:alnum:]]+', ' ', 'g'))) l
		GROUP BY l.lexeme
		ORDER BY first
		LIMIT @most
	) x`

// SearchSignals returns the ids of procedures and plans that the filter admits and whose triggers, intent or name
// share words with any of the texts, best first. A score is the cosine of the words, in [0,1]. Content is neither
// searched nor read.
func (s *Search) SearchSignals(ctx context.Context, f pg.Filter, texts []string, limit int) ([]Hit, error) {
	var out []Hit
	err := s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		var lexemes []string
		err := tx.QueryRow(ctx, signalLexemes, pg.Args{"texts": texts, "most": maxSignalLexemes}).Scan(&lexemes)
		if err != nil || len(lexemes) == 0 {
			return err
		}
		quoted := make([]string, len(lexemes))
		for i, l := range lexemes {
			quoted[i] = quoteLexeme(l)
		}
		args := pg.Args{"lexemes": lexemes, "match": strings.Join(quoted, " | "), "words": len(lexemes),
			"most": maxSignalMatches, "limit": limit}
		out, err = pg.CollectByName[Hit](ctx, tx, `
			SELECT x.id, least(1, count(*) / sqrt(x.words * @words::float8)) AS score
			FROM (
				SELECT m.id, m.signals, length(m.signals) AS words
				FROM memory_signals m
				WHERE m.signals @@ @match::tsquery AND `+f.Where("m", args)+`
				LIMIT @most
			) x, unnest(x.signals) l
			WHERE l.lexeme = ANY(@lexemes)
			GROUP BY x.id, x.words
			ORDER BY score DESC, x.id
			LIMIT @limit`, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search signals: %w", err)
	}
	return out, nil
}

// Solutions reads what the selection among procedures and plans needs, for the ids that the filter admits. Ids of
// other memories are skipped.
func (s *Search) Solutions(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]layers.Solution, error) {
	args := pg.Args{"ids": ids, "types": []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph}}
	query := `
		SELECT m.id, m.type, m.payload, m.last_reinforced_at AS reinforced_at, ` + pg.Held + `
		FROM memories m` + pg.HeldVerdicts(f.Principal, args) + `
		WHERE m.id = ANY(@ids) AND m.type = ANY(@types) AND ` + f.Where("m", args) + `
		ORDER BY m.id`
	out, err := pg.QueryBatchRows[layers.Solution](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read solutions: %w", err)
	}
	return out, nil
}
