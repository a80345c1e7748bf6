package commit

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/pg"
)

// Write runs fn in a read-write transaction bound to the tenant, as one change.
func Write(ctx context.Context, s *pg.DB, tenant string, now time.Time, fn func(*Change) error) error {
	class := pg.ClassOf(ctx, pg.ClassPipeline)
	return s.EndTransaction(ctx, class, pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := pg.Bind(ctx, tx, tenant, false, s.Limits(class)); err != nil {
			return err
		}
		c := &Change{Tx: tx, Tenant: tenant, Now: now.UTC().Truncate(time.Microsecond)}
		if err := fn(c); err != nil {
			return err
		}
		return c.finish(ctx)
	}))
}
