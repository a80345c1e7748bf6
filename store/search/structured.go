package search

import (
	"context"
	"fmt"

	"github.com/mneme/mneme/store/pg"
)

// Structured holds the hits of hints, claims and the graph for a question.
type Structured struct{ Hints, Claims, Graph []Hit }

// SearchStructured is SearchHints, SearchClaims and SearchGraph in one round trip. If one of them fails, all do.
func (s *Search) SearchStructured(ctx context.Context, f pg.Filter, q Question, limit int) (Structured, error) {
	var out Structured
	if f.Principal.Tenant == "" {
		return out, fmt.Errorf("search hints, claims and graph: %w", pg.ErrNoTenant)
	}
	var claims []claimRow
	var walked []graphRow
	b, asked := s.NewQueryBatch(ctx, f.Principal.Tenant, q.planning()), false
	if query, args := hintsSQL(f, q, limit); query != "" {
		pg.QueueRows(b, &out.Hints, query, args)
		asked = true
	}
	if query, args := claimSearchSQL(f, q, limit); query != "" {
		pg.QueueRows(b, &claims, query, args)
		asked = true
	}
	if query, args := graphSQL(f, q, limit); query != "" {
		if q.planning() != pg.PlanOnce {
			pg.QueuePlanning(b, pg.PlanOnce)
		}
		pg.QueueRows(b, &walked, query, args)
		asked = true
	}
	if !asked {
		return out, nil
	}
	if err := s.SendQueryBatch(ctx, b); err != nil {
		return Structured{}, fmt.Errorf("search hints, claims and graph: %w", err)
	}
	out.Claims, out.Graph = claimHits(claims), graphHits(walked)
	return out, nil
}
