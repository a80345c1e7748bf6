package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/sweeping"
)

// tracer records the statements that a store sends.
type tracer struct {
	mu   sync.Mutex
	sent []statement
}

type statement struct {
	sql  string
	args []any
}

func (x *tracer) add(sql string, args []any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = append(x.sent, statement{sql, args})
}

func (x *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	x.add(d.SQL, d.Args)
	return ctx
}
func (x *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (x *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (x *tracer) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	x.add(d.SQL, d.Args)
}
func (x *tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// of returns the statements that fn sends.
func (x *tracer) of(fn func() error) ([]statement, error) {
	x.mu.Lock()
	x.sent = nil
	x.mu.Unlock()
	err := fn()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent, err
}

// purges runs one batch of a step.
func purges(s *store.Store, step schema.PurgeStep) error {
	return second(s.Purge(ctx, purge(step)))
}

func purge(step schema.PurgeStep) sweeping.PurgeInput {
	return sweeping.PurgeInput{Tenant: "t", Run: "plan", Step: step, Limit: 500, At: time.Now(), Now: time.Now()}
}

func second[T any](_ T, err error) error { return err }

// nth is the id of the n-th inserted memory.
func nth(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("%032x", n)) }

// explain plans a statement in a transaction of the store's own, either for its arguments or as a generic plan.
func explain(t *testing.T, s *store.Store, st statement, generic bool) string {
	t.Helper()
	var lines []string
	require.NoError(t, s.Read(ctx, "t", func(tx pgx.Tx) error {
		if generic {
			results, err := tx.Conn().PgConn().Exec(ctx, `EXPLAIN (GENERIC_PLAN) `+st.sql).ReadAll()
			if err != nil {
				return err
			}
			for _, row := range results[0].Rows {
				lines = append(lines, string(row[0]))
			}
			return nil
		}
		rows, err := tx.Query(ctx, `EXPLAIN `+st.sql, st.args...)
		if err != nil {
			return err
		}
		lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}), st.sql)
	return strings.Join(lines, "\n") + "\n"
}
