package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// OpenTraced opens a store whose statements a test can listen to.
func OpenTraced(ctx context.Context, url string, tracer pgx.QueryTracer) (*Store, error) {
	return Open(ctx, Config{URL: url, Configure: func(pc *pgxpool.Config) { pc.ConnConfig.Tracer = tracer }})
}

// SearchText ranks by a query's words alone.
func (s *Store) SearchText(ctx context.Context, f Filter, query string, limit int) ([]Hit, error) {
	q, err := s.Analyse(ctx, f.Principal.Tenant, Wording{Query: query})
	if err != nil {
		return nil, err
	}
	ranking, err := s.RankText(ctx, f, q, limit)
	return ranking.Hits, err
}

// Add puts another ranking beside this one.
func (r TextRanking) Add(other TextRanking, limit int) TextRanking {
	r.add(other, limit)
	return r
}

// Shares scales counts to a total, for tests.
func Shares(counts map[int]int64, total int64) map[int]int64 { return shares(counts, total) }

// Within returns a context whose transactions are of a class.
func Within(ctx context.Context, c Class) context.Context { return within(ctx, c) }

// Pool is the store's connections.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// ScanUpTo has the neighbour search compare vectors one by one for tenants of up to n memories.
func (s *Store) ScanUpTo(n int64) { s.scanUpTo = n }
