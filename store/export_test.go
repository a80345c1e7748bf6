package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// OpenTraced opens a store whose statements a test can listen to.
func OpenTraced(ctx context.Context, url string, tracer pgx.QueryTracer) (*Store, error) {
	return Open(ctx, pg.Config{URL: url, Configure: func(pc *pgxpool.Config) { pc.ConnConfig.Tracer = tracer }})
}

// SearchText ranks by the words of a query alone.
func (s *Store) SearchText(ctx context.Context, f pg.Filter, query string, limit int) ([]search.Hit, error) {
	q, err := s.Analyse(ctx, f.Principal.Tenant, search.Wording{Query: query})
	if err != nil {
		return nil, err
	}
	ranking, err := s.RankText(ctx, f, q, limit)
	return ranking.Hits, err
}

// Add adds another ranking to r.
func Add(r search.TextRanking, other search.TextRanking, limit int) search.TextRanking {
	r.Add(other, limit)
	return r
}

// Shares scales counts to a total, for tests.
func Shares(counts map[int]int64, total int64) map[int]int64 { return admin.Shares(counts, total) }

// Within returns a context whose transactions are of a class.
func Within(ctx context.Context, c pg.Class) context.Context { return pg.WithClass(ctx, c) }
