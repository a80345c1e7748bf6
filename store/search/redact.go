package search

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// What is found of memories above the filter's limit is found without their content: by their safe
// summaries, or by what is shown of them. Were they found by their words, a query could ask whether a word
// is in one. For the same reason they are narrowed by nothing that is not shown of them.

// redactable reports whether the filter narrows by nothing but what is shown of a redacted memory.
func redactable(f pg.Filter) bool {
	return len(f.Tags) == 0 && f.Who == "" && f.Pinned == nil && f.ImportanceMin == 0
}

// above renders the conditions on a memory above the limit: live, of the given sensitivities, in all else
// to be seen by the asker, and in force now, whatever time and situation the asker names.
func above(f pg.Filter, m string, levels []schema.Sensitivity, now time.Time, p *pg.Params) string {
	shown := pg.Filter{Types: f.Types, Categories: f.Categories, Since: f.Since, Until: f.Until, At: now}
	return m + ".live AND " + f.Reachable(m, p) + " AND " + m + ".sensitivity = ANY(" + p.Add(levels) + ")" +
		shown.Narrowed(m, p)
}

// RedactedSummaries finds memories of the given sensitivities by their safe summaries, best first, and
// returns what may be shown of them: see schema.RedactedSummary. Scores are as those of RankText, with which
// they are compared: how rare a word is, is known of contents. That no content has it keeps no summary from
// being found, or being found by a word would tell that a hidden content has it.
func (s *Search) RedactedSummaries(ctx context.Context, f pg.Filter, levels []schema.Sensitivity, query string,
	now time.Time, limit int) ([]schema.RecallResult, error) {
	if len(levels) == 0 || limit <= 0 || !redactable(f) {
		return nil, nil
	}
	var out []schema.RecallResult
	err := s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		lexemes, corpus, err := textLexemes(ctx, tx, f.Principal.Tenant, []string{query})
		if err != nil {
			return err
		}
		plan := rank.PlanText(named(lexemes[0]), corpus, rank.ShortSearch)
		if plan.IsEmpty() {
			return nil
		}
		var p pg.Params
		score, match := textRank("m", plan, &p)
		// OFFSET 0 keeps the words of a summary, which the view makes of its text, from being made once a term.
		found := `SELECT m.id, ` + score + ` AS score FROM (SELECT m.id, m.tsv FROM memory_summaries m WHERE ` + match +
			` AND ` + above(f, "m", levels, now, &p) +
			` OFFSET 0) m ORDER BY score DESC, m.id LIMIT ` + p.Add(limit)
		out, err = redacted(ctx, tx, schema.RedactedSummary, `SELECT m.id, m.type, m.category, m.sensitivity,
			m.created_at, m.occurred_at, m.safe_summary, x.score
			FROM (`+found+`) x JOIN memories m ON m.tenant = `+p.Add(f.Principal.Tenant)+` AND m.id = x.id
			ORDER BY x.score DESC, m.id`, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find safe summaries: %w", err)
	}
	return out, nil
}

// RedactedMetadata returns what may be shown of the newest memories of the given sensitivities: see
// schema.RedactedMetadata. No word of the query decides, so that there is an answer only to a filter that
// asks for types, categories or times; their score is 0.
func (s *Search) RedactedMetadata(ctx context.Context, f pg.Filter, levels []schema.Sensitivity, now time.Time,
	limit int) ([]schema.RecallResult, error) {
	asks := len(f.Types) > 0 || len(f.Categories) > 0 || f.Since != nil || f.Until != nil
	if len(levels) == 0 || limit <= 0 || !asks || !redactable(f) {
		return nil, nil
	}
	var out []schema.RecallResult
	err := s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		var p pg.Params
		query := `SELECT m.id, m.type, m.category, m.sensitivity, m.created_at, m.occurred_at, '', 0::float8
			FROM memories m WHERE ` +
			above(f, "m", levels, now, &p) + ` ORDER BY m.id DESC LIMIT ` + p.Add(limit)
		var err error
		out, err = redacted(ctx, tx, schema.RedactedMetadata, query, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find redacted memories: %w", err)
	}
	return out, nil
}

func redacted(ctx context.Context, tx pgx.Tx, how schema.Redaction, query string,
	args []any) ([]schema.RecallResult, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (schema.RecallResult, error) {
		r := schema.RecallResult{Redacted: how, Channels: map[string]float64{}, Tags: []string{}}
		var id uuid.UUID
		err := row.Scan(&id, &r.Type, &r.Category, &r.Sensitivity, &r.CreatedAt, &r.OccurredAt, &r.Content, &r.Score)
		r.ID = id.String()
		return r, err
	})
}
