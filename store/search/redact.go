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

// Memories above the filter's limit are found by their safe summaries or by their metadata, never by their
// contents. A search of the contents would reveal whether a hidden memory contains a word. For the same reason
// filters apply only to what is shown of them.

// redactable reports whether the filter uses only what is shown of a redacted memory.
func redactable(f pg.Filter) bool {
	return len(f.Tags) == 0 && f.Who == "" && f.Pinned == nil && f.ImportanceMin == 0
}

// above renders the conditions on a memory above the limit: live, of the given sensitivities, valid now, and
// visible to the principal in all other respects. The time and the situation of the request do not count.
func above(f pg.Filter, m string, levels []schema.Sensitivity, now time.Time, args pg.Args) string {
	args["levels"] = levels
	shown := pg.Filter{Types: f.Types, Categories: f.Categories, Since: f.Since, Until: f.Until, At: now}
	return m + ".live AND " + f.Reachable(m, args) + " AND " + m + ".sensitivity = ANY(@levels)" +
		shown.Narrowed(m, args)
}

// RedactedSummaries finds memories of the given sensitivities by their safe summaries, best first, and returns what
// may be shown of them: see schema.RedactedSummary. Scores are comparable with those of RankText, because the
// frequency of a word is that in contents. A word that no content has still finds a summary; otherwise a result
// would reveal that a hidden content has the word.
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
		plan := rank.PlanText(named(lexemes[0]), corpus, rank.ShortSearch).AsText()
		if plan.IsEmpty() {
			return nil
		}
		args := pg.Args{"tenant": f.Principal.Tenant, "limit": limit}
		score, match := textRank("m", plan, args)
		// OFFSET 0: otherwise the view computes the words of a summary once for every term.
		out, err = redacted(ctx, tx, schema.RedactedSummary, `
			SELECT m.id, m.type, m.category, m.sensitivity, m.created_at, m.occurred_at,
				m.safe_summary AS content,
				x.score
			FROM (
				SELECT m.id, `+score+` AS score
				FROM (
					SELECT m.id, m.tsv
					FROM memory_summaries m
					WHERE `+match+` AND `+above(f, "m", levels, now, args)+`
					OFFSET 0
				) m
				ORDER BY score DESC, m.id
				LIMIT @limit
			) x
			JOIN memories m ON m.tenant = @tenant AND m.id = x.id
			ORDER BY x.score DESC, m.id`, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find safe summaries: %w", err)
	}
	return out, nil
}

// RedactedMetadata returns what may be shown of the newest memories of the given sensitivities: see
// schema.RedactedMetadata. The words of the query do not count, so it answers only a filter with types, categories
// or times. The score is 0.
func (s *Search) RedactedMetadata(ctx context.Context, f pg.Filter, levels []schema.Sensitivity, now time.Time,
	limit int) ([]schema.RecallResult, error) {
	asks := len(f.Types) > 0 || len(f.Categories) > 0 || f.Since != nil || f.Until != nil
	if len(levels) == 0 || limit <= 0 || !asks || !redactable(f) {
		return nil, nil
	}
	var out []schema.RecallResult
	err := s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) (err error) {
		args := pg.Args{"limit": limit}
		out, err = redacted(ctx, tx, schema.RedactedMetadata, `
			SELECT m.id, m.type, m.category, m.sensitivity, m.created_at, m.occurred_at
			FROM memories m
			WHERE `+above(f, "m", levels, now, args)+`
			ORDER BY m.id DESC
			LIMIT @limit`, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find redacted memories: %w", err)
	}
	return out, nil
}

// redactedRow is what may be shown of a memory above the limit. Content is its safe summary.
type redactedRow struct {
	ID                    uuid.UUID
	Type                  schema.MemoryType
	Category              schema.Category
	Sensitivity           schema.Sensitivity
	CreatedAt, OccurredAt time.Time
	Content               string
	Score                 float64
}

// redacted returns the rows of a query as redacted results.
func redacted(ctx context.Context, tx pgx.Tx, how schema.Redaction, query string,
	args pg.Args) ([]schema.RecallResult, error) {
	rows, err := pg.CollectByName[redactedRow](ctx, tx, query, args)
	if err != nil {
		return nil, err
	}
	out := make([]schema.RecallResult, len(rows))
	for i, r := range rows {
		out[i] = schema.RecallResult{Redacted: how, ID: r.ID.String(), Type: r.Type, Category: r.Category,
			Sensitivity: r.Sensitivity, CreatedAt: r.CreatedAt, OccurredAt: r.OccurredAt, Content: r.Content,
			Score: r.Score, Channels: map[string]float64{}, Tags: []string{}}
	}
	return out, nil
}
