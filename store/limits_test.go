package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

// settingSQL reads a setting of a connection or transaction in milliseconds.
const settingSQL = `SELECT (SELECT setting::bigint FROM pg_settings WHERE name = $1)`

func TestEveryClassHasItsLimits(t *testing.T) {
	t.Parallel()
	s := testkit.Store(t)
	limit := func(in func(fn func(pgx.Tx) error) error, name string) time.Duration {
		var ms int64
		require.NoError(t, in(func(tx pgx.Tx) error { return tx.QueryRow(ctx, settingSQL, name).Scan(&ms) }))
		return time.Duration(ms) * time.Millisecond
	}
	reads := func(c pg.Class) func(func(pgx.Tx) error) error {
		return func(fn func(pgx.Tx) error) error { return s.Read(store.Within(ctx, c), "t", fn) }
	}
	for class, want := range pg.ClassLimits {
		require.Positive(t, want.Statement, "no statement is without a limit")
		require.Equal(t, want.Statement, limit(reads(class), "statement_timeout"), class)
		require.Equal(t, want.Lock, limit(reads(class), "lock_timeout"), class)
		require.Equal(t, want.Idle, limit(reads(class), "idle_in_transaction_session_timeout"), class)
	}
	byDefault := func(fn func(pgx.Tx) error) error { return s.Read(ctx, "t", fn) }
	require.Equal(t, 5*time.Second, limit(byDefault, "statement_timeout"), "a caller waits for a read")
	for name, want := range map[string]time.Duration{"statement_timeout": 30 * time.Second,
		"lock_timeout":                        20 * time.Second,
		"idle_in_transaction_session_timeout": time.Minute} {
		var ms int64
		require.NoError(t, s.Pool.QueryRow(ctx, settingSQL, name).Scan(&ms))
		require.Equal(t, want, time.Duration(ms)*time.Millisecond, "without a tenant: %s", name)
	}
}

// Without a class, a change has the limits of the pipeline.
func TestChangesHaveTheLimitsOfThePipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`CREATE TABLE seen (name text, setting text)`)
	w.exec(`CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
		INSERT INTO seen SELECT s.name, s.setting FROM pg_settings s WHERE s.name LIKE '%_timeout'; RETURN NULL; END $$`)
	w.exec(`CREATE TRIGGER zzz_see AFTER INSERT ON ingest_batches FOR EACH STATEMENT EXECUTE FUNCTION see()`)
	w.memory("the kestrel nests in the tower")
	for name, want := range map[string]int{"statement_timeout": 30_000, "lock_timeout": 20_000,
		"idle_in_transaction_session_timeout": 60_000} {
		require.Equal(t, 1, w.count("seen", "name = $1 AND setting::int = $2", name, want), name)
	}
}

func TestAStatementTimeoutIsNoOutage(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	type ended struct {
		class pg.Class
		lock  bool
	}
	var counted []ended
	s, err := store.Open(ctx, pg.Config{URL: url, StatementTimeout: 200 * time.Millisecond,
		TimedOut: func(c pg.Class, lock bool) { counted = append(counted, ended{c, lock}) }})
	require.NoError(t, err)
	t.Cleanup(s.Close)

	err = s.Read(ctx, "t", func(tx pgx.Tx) error { return second(tx.Exec(ctx, `SELECT pg_sleep(5)`)) })
	var timeout *pg.TimeoutError
	require.ErrorAs(t, err, &timeout)
	require.Equal(t, pg.ClassInteractive, timeout.Class)
	require.True(t, pg.IsTimeout(err))
	require.False(t, pg.IsUnavailable(err), "Postgres is there")

	owner := testkit.Owner(t, url)
	lock, err := owner.Begin(ctx)
	require.NoError(t, err)
	_, err = lock.Exec(ctx, `LOCK TABLE memories`)
	require.NoError(t, err)
	err = s.Read(ctx, "t", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '50ms'`); err != nil {
			return err
		}
		return second(tx.Exec(ctx, `SELECT FROM memories`))
	})
	require.NoError(t, lock.Rollback(ctx))
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Lock)
	require.False(t, pg.IsUnavailable(err))
	require.Equal(t, []ended{{pg.ClassInteractive, false}, {pg.ClassInteractive, true}}, counted)

	require.False(t, pg.IsTimeout(&pgconn.PgError{Code: "57014", Message: "canceling statement due to user request"}))
	require.False(t, pg.IsTimeout(errors.New("x")))
	require.True(t, pg.IsUnavailable(&pgconn.PgError{Code: "57P01"}), "an administrator stops the server")
}

// A client that has died does not hold locks that others wait for.
func TestIdleTransactionsTimeOut(t *testing.T) {
	t.Parallel()
	s := testkit.Store(t)
	err := s.Read(ctx, "t", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = '50ms'`); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond)
		return second(tx.Exec(context.Background(), `SELECT 1`))
	})
	require.Error(t, err)
	require.True(t, pg.IsTimeout(err), "%v", err)
	require.NoError(t, s.Ping(ctx))
}
