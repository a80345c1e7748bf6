package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// write runs fn in a read-write transaction bound to the tenant, as one change.
func (s *Store) write(ctx context.Context, tenant string, now time.Time, fn func(*change) error) error {
	class := classOf(ctx, ClassPipeline)
	return s.ended(ctx, class, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := bind(ctx, tx, tenant, false, s.limits(class)); err != nil {
			return err
		}
		c := &change{tx: tx, tenant: tenant, now: now.UTC().Truncate(time.Microsecond)}
		if err := fn(c); err != nil {
			return err
		}
		return c.finish(ctx)
	}))
}
