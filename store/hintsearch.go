package store

import (
	"context"
	"fmt"

	"github.com/mneme/mneme/memory/rank"
)

// SearchHints ranks the live memories that the filter admits by their best hint, as RankText ranks them
// by their text, and returns the best ids. No content is read.
func (s *Store) SearchHints(ctx context.Context, f Filter, q Question, limit int) ([]Hit, error) {
	plan := rank.PlanHints(q.keywords, q.expansion, q.vocabulary, q.corpus)
	if plan.IsEmpty() {
		return nil, nil
	}
	var p params
	score, match := textRank("h", plan, &p)
	// The index yields ids; the filter comes before anything of a hint is looked at, and before the bound, so
	// that what the asker may not see takes no room.
	query := `SELECT h.id, max(` + score + `) AS score, 0::bigint
		FROM (SELECT m.id, h.tsv FROM memory_hint_search h JOIN memory_search m ON m.id = h.memory_id AND ` + f.where("m", &p) + `
			WHERE h.tenant = ` + p.add(f.Principal.Tenant) + ` AND ` + match + ` LIMIT ` + hintMatches + `) h
		GROUP BY h.id ORDER BY score DESC, h.id LIMIT ` + p.add(limit)
	out, err := askAll[Hit](ctx, s, f.Principal.Tenant, q.planning(), query, p)
	if err != nil {
		return nil, fmt.Errorf("search hints: %w", err)
	}
	return out, nil
}

// hintMatches is how many hints of one search, of those that pass the filter, are ranked. Which of more
// than that, the index decides. Written out in statements: a plan is made for it.
const hintMatches = "3000"
