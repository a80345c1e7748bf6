package search

import (
	"context"
	"fmt"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// SearchHints ranks the live memories that the filter admits by their best hint, and returns the best ids. It ranks
// hints as RankText ranks contents. No content is read.
func (s *Search) SearchHints(ctx context.Context, f pg.Filter, q Question, limit int) ([]Hit, error) {
	query, args := hintsSQL(f, q, limit)
	if query == "" {
		return nil, nil
	}
	out, err := pg.QueryBatchRows[Hit](ctx, s.DB, f.Principal.Tenant, q.planning(), query, args)
	if err != nil {
		return nil, fmt.Errorf("search hints: %w", err)
	}
	return out, nil
}

// hintsSQL returns the statement of SearchHints; it is empty if there is nothing to search for.
func hintsSQL(f pg.Filter, q Question, limit int) (string, pg.Args) {
	plan := rank.PlanHints(q.keywords, q.expansion, q.vocabulary, q.corpus)
	if plan.IsEmpty() {
		return "", nil
	}
	args := pg.Args{"tenant": f.Principal.Tenant, "limit": limit}
	score, match := textRank("h", plan, args)
	// The index returns ids. The filter is applied before a hint is read and before the bound, so that hidden
	// memories do not use up the bound.
	return `
		SELECT h.id, max(` + score + `) AS score
		FROM (
			SELECT m.id, h.tsv
			FROM memory_hint_search h
			JOIN memory_search m ON m.id = h.memory_id AND ` + f.Where("m", args) + q.ofTenant("m", f) + `
			WHERE h.tenant = @tenant AND ` + match + q.ofTenant("h", f) + `
			LIMIT ` + hintMatches + `
		) h
		GROUP BY h.id
		ORDER BY score DESC, h.id
		LIMIT @limit`, args
}

// hintMatches is the number of hints that pass the filter and that one search ranks. If there are more, the index
// decides which. It is written into the statement, so that Postgres plans for this number.
const hintMatches = "3000"
