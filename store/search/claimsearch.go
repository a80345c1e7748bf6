package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// claimMatches is the number of claims that pass the filter and that one search compares. If there are more, the
// index decides which.
const claimMatches = "3000"

// claimWorth weighs a claim as rank.ClaimScore does.
var claimWorth = fmt.Sprintf("(%v + %v * x.importance_now + %v * x.confidence)",
	rank.ClaimBase, rank.ClaimImportance, rank.ClaimConfidence)

// SearchClaims ranks the live memories that the filter admits by how much of the query's weight their best claim
// has in subject, predicate or object. It returns the best ids. It finds structured knowledge even if its prose has
// few words of the query (document 002 Phase 2). No content is read.
func (s *Search) SearchClaims(ctx context.Context, f pg.Filter, q Question, limit int) ([]Hit, error) {
	query, args := claimSearchSQL(f, q, limit)
	if query == "" {
		return nil, nil
	}
	found, err := pg.QueryBatchRows[claimRow](ctx, s.DB, f.Principal.Tenant, q.planning(), query, args)
	if err != nil {
		return nil, fmt.Errorf("search claims: %w", err)
	}
	return claimHits(found), nil
}

// claimSearchSQL returns the statement of SearchClaims; it is empty if there is nothing to search for.
func claimSearchSQL(f pg.Filter, q Question, limit int) (string, pg.Args) {
	plan := rank.PlanText(named(q.query), q.corpus, rank.ShortSearch)
	if plan.IsEmpty() {
		return "", nil
	}
	args := pg.Args{"tenant": f.Principal.Tenant, "match": plan.Match(quoteLexeme), "limit": limit}
	matched := make([]string, len(plan.Terms))
	for i, t := range plan.Terms {
		matched[i] = fmt.Sprintf("(c.tsv @@ @lexeme_%[1]d::tsquery)::int * @weight_%[1]d::float8", i)
		args[fmt.Sprint("lexeme_", i)], args[fmt.Sprint("weight_", i)] = quoteLexeme(t.Lexeme), t.Weight
	}
	// The index returns ids. The filter is applied before a claim is read and before the bound.
	return `
		SELECT x.id, x.matched, x.importance_now, x.confidence
		FROM (
			SELECT c.*, ` + f.ImportanceNow("c", args) + ` AS importance_now
			FROM (
				SELECT c.id, c.importance, c.pinned, c.created_at, c.confidence,
					max(` + strings.Join(matched, " + ") + `) AS matched
				FROM (
					SELECT m.id, m.importance, m.pinned, m.created_at, m.confidence, s.tsv
					FROM claim_search s
					JOIN memory_search m ON m.id = s.memory_id AND ` + f.Where("m", args) + q.ofTenant("m", f) + `
					WHERE s.tenant = @tenant AND s.tsv @@ @match::tsquery` + q.ofTenant("s", f) + `
					LIMIT ` + claimMatches + `
				) c
				GROUP BY c.id, c.importance, c.pinned, c.created_at, c.confidence
			) c
		) x
		ORDER BY x.matched * ` + claimWorth + ` DESC, x.id
		LIMIT @limit`, args
}

type claimRow struct {
	ID                                 uuid.UUID
	Matched, ImportanceNow, Confidence float64
}

func claimHits(found []claimRow) []Hit {
	var out []Hit
	for _, c := range found {
		out = append(out, Hit{ID: c.ID, Score: rank.ClaimScore(c.Matched, c.ImportanceNow, c.Confidence)})
	}
	return out
}
