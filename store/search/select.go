package search

import (
	"bytes"
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
	// maxSignalLexemes bounds a search by signals: an error with its stack has many words, and the first
	// say what it is.
	maxSignalLexemes = 48
	// maxSignalMatches is how many matching procedures are ranked; of more, any.
	maxSignalMatches = 2_000
)

// SearchSignals returns the ids of the procedures and plans that the filter admits whose triggers, intent or
// name share words with any of the texts, best first. A score is the cosine of the words, in [0,1]. Content
// is neither searched nor read.
func (s *Search) SearchSignals(ctx context.Context, f pg.Filter, texts []string, limit int) ([]Hit, error) {
	var out []Hit
	err := s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		var lexemes []string
		// Cut as mneme_signals cuts, so that no text can be a syntax error.
		err := tx.QueryRow(ctx, `SELECT coalesce(array_agg(lexeme ORDER BY first), '{}') FROM (
				SELECT l.lexeme, min(t.n * 100000 + l.positions[1]) AS first
				FROM unnest($1::text[]) WITH ORDINALITY t(text, n),
					unnest(to_tsvector('pg_catalog.english'::regconfig, regexp_replace(left(t.text, 100000),
						'[^[:alnum:]]+', ' ', 'g'))) l
				GROUP BY l.lexeme ORDER BY first LIMIT $2) x`, texts, maxSignalLexemes).Scan(&lexemes)
		if err != nil || len(lexemes) == 0 {
			return err
		}
		quoted := make([]string, len(lexemes))
		for i, l := range lexemes {
			quoted[i] = quoteLexeme(l)
		}
		var p pg.Params
		out, err = pg.Collect[Hit](ctx, tx, `SELECT x.id,
			least(1, count(*) / sqrt(x.words * `+p.Add(len(lexemes))+`::float8)) AS score, 0::bigint
			FROM (SELECT m.id, m.signals, length(m.signals) AS words FROM memory_signals m
				WHERE m.signals @@ `+p.Add(strings.Join(quoted, " | "))+`::tsquery AND `+f.Where("m", &p)+`
					LIMIT `+p.Add(maxSignalMatches)+`) x,
				unnest(x.signals) l
			WHERE l.lexeme = ANY(`+p.Add(lexemes)+`) GROUP BY x.id, x.words ORDER BY score DESC, x.id
			LIMIT `+p.Add(limit), p...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search signals: %w", err)
	}
	return out, nil
}

// Solutions reads what a choice among procedures and plans needs of those ids that the filter admits. Ids of
// other memories are passed over.
func (s *Search) Solutions(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]layers.Solution, error) {
	var out []layers.Solution
	var p pg.Params
	query := `SELECT m.id, m.type, m.payload, m.last_reinforced_at FROM memories m
		WHERE m.id = ANY(` + p.Add(ids) + `) AND m.type = ANY(` +
		p.Add([]schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph}) + `) AND ` + f.Where("m", &p) +
		` ORDER BY m.id`
	var row layers.Solution
	err := s.EachRow(ctx, f, pg.PlanOnce, query, p, []any{&row.ID, &row.Type, &row.Payload, &row.ReinforcedAt}, func() {
		one := row
		one.Payload = bytes.Clone(row.Payload)
		out = append(out, one)
	})
	if err != nil {
		return nil, fmt.Errorf("read solutions: %w", err)
	}
	return out, nil
}
