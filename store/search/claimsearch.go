package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// claimMatches is how many claims of one search, of those that pass the filter, are compared. Which of more
// than that, the index decides.
const claimMatches = "3000"

// claimWorth weighs a claim as rank.ClaimScore does.
var claimWorth = fmt.Sprintf("(%v + %v * x.now + %v * x.confidence)", rank.ClaimBase, rank.ClaimImportance, rank.ClaimConfidence)

// SearchClaims ranks the live memories that the filter admits by the claim of theirs that holds most of
// the query's weight, in subject, predicate or object, and returns the best ids: structured knowledge is
// found though its prose is sparse (document 002 Phase 2). No content is read.
func (s *Search) SearchClaims(ctx context.Context, f pg.Filter, q Question, limit int) ([]Hit, error) {
	plan := rank.PlanText(named(q.query), q.corpus, rank.ShortSearch)
	if plan.IsEmpty() {
		return nil, nil
	}
	var p pg.Params
	matched := make([]string, len(plan.Terms))
	for i, t := range plan.Terms {
		matched[i] = "(c.tsv @@ " + p.Add(quoteLexeme(t.Lexeme)) + "::tsquery)::int * " + p.Add(t.Weight) + "::float8"
	}
	// The index yields ids; the filter comes before anything of a claim is looked at, and before the bound.
	query := `SELECT x.id, x.matched, x.now, x.confidence FROM (SELECT c.*, ` + f.ImportanceNow("c", &p) + ` AS now
		FROM (
			SELECT c.id, c.importance, c.pinned, c.created_at, c.confidence, max(` + strings.Join(matched, " + ") +
		`) AS matched
			FROM (SELECT m.id, m.importance, m.pinned, m.created_at, m.confidence, s.tsv FROM claim_search s
				JOIN memory_search m ON m.id = s.memory_id AND ` + f.Where("m", &p) + `
				WHERE s.tenant = ` + p.Add(f.Principal.Tenant) + ` AND s.tsv @@ ` + p.Add(plan.Match(quoteLexeme)) +
		`::tsquery LIMIT ` + claimMatches + `) c
			GROUP BY c.id, c.importance, c.pinned, c.created_at, c.confidence) c) x
		ORDER BY x.matched * ` + claimWorth + ` DESC, x.id LIMIT ` + p.Add(limit)
	var out []Hit
	var id uuid.UUID
	var share, importance, confidence float64
	err := s.EachRow(ctx, f, q.planning(), query, p, []any{&id, &share, &importance, &confidence}, func() {
		out = append(out, Hit{ID: id, Score: rank.ClaimScore(share, importance, confidence)})
	})
	if err != nil {
		return nil, fmt.Errorf("search claims: %w", err)
	}
	return out, nil
}
