package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tenants lists at most limit tenants after the given one, by name.
func (s *DB) Tenants(ctx context.Context, after string, limit int) ([]string, error) {
	return s.TenantNames(ctx, `SELECT mneme_tenants(@after, @limit)`, Args{"after": after, "limit": limit})
}

// TenantNames returns the names that a query selects. The query is bound to no tenant, so it calls an SQL function that
// may read the names of all tenants.
func (s *DB) TenantNames(ctx context.Context, query string, args Args) ([]string, error) {
	rows, err := s.Pool.Query(ctx, query, args)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", s.limited(ClassPipeline, err))
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", s.limited(ClassPipeline, err))
	}
	return names, nil
}
