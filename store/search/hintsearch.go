package search

import (
	"context"
	"fmt"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// SearchHints ranks the live memories that the filter admits by their best hint, as RankText ranks them
// by their text, and returns the best ids. No content is read.
func (s *Search) SearchHints(ctx context.Context, f pg.Filter, q Question, limit int) ([]Hit, error) {
	plan := rank.PlanHints(q.keywords, q.expansion, q.vocabulary, q.corpus)
	if plan.IsEmpty() {
		return nil, nil
	}
	var p pg.Params
	score, match := textRank("h", plan, &p)
	// The index yields ids; the filter comes before anything of a hint is looked at, and before the bound, so
	// that what the asker may not see takes no room.
	query := `SELECT h.id, max(` + score + `) AS score, 0::bigint
		FROM (SELECT m.id, h.tsv FROM memory_hint_search h JOIN memory_search m ON m.id = h.memory_id AND ` +
		f.Where("m", &p) + `
			WHERE h.tenant = ` + p.Add(f.Principal.Tenant) + ` AND ` + match + ` LIMIT ` + hintMatches + `) h
		GROUP BY h.id ORDER BY score DESC, h.id LIMIT ` + p.Add(limit)
	out, err := pg.QueryBatchRows[Hit](ctx, s.DB, f.Principal.Tenant, q.planning(), query, p)
	if err != nil {
		return nil, fmt.Errorf("search hints: %w", err)
	}
	return out, nil
}

// hintMatches is how many hints of one search, of those that pass the filter, are ranked. Which of more
// than that, the index decides. Written out in statements: a plan is made for it.
const hintMatches = "3000"
