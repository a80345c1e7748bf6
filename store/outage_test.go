package store_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

// cable is a connection to the database that a test can cut.
type cable struct {
	mu    sync.Mutex
	ends  []net.Conn
	reset bool // the peer is told by a reset instead of the end of the stream
}

// layCable returns the URL of a database through a cable.
func layCable(t *testing.T, database string, reset bool) (string, *cable) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	c := &cable{reset: reset}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				return
			}
			c.mu.Lock()
			c.ends = append(c.ends, near, far)
			c.mu.Unlock()
			go func() { _, _ = io.Copy(far, near) }()
			go func() { _, _ = io.Copy(near, far) }()
		}
	}()
	t.Cleanup(c.cut)
	u.Host = l.Addr().String()
	return u.String(), c
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		if tcp, ok := end.(*net.TCPConn); ok && c.reset {
			_ = tcp.SetLinger(0)
		}
		_ = end.Close()
	}
	c.ends = nil
}

// A connection that breaks during a statement is an outage, however the statement was sent: the command line says that
// Postgres does not answer, and a sweep tries again instead of counting a tenant that cannot be swept.
func TestABrokenConnectionIsAnOutage(t *testing.T) {
	t.Parallel()
	const slow = `SELECT pg_sleep(4)`
	for name, run := range map[string]func(*store.Store) error{
		"in a transaction": func(s *store.Store) error {
			return s.Read(ctx, "t", func(tx pgx.Tx) error { return second(tx.Exec(ctx, slow)) })
		},
		"in a batch": func(s *store.Store) error {
			return s.QueryBatch(ctx, "t", pg.PlanOnce, slow, nil, func(rows pgx.Rows) error {
				rows.Close()
				return rows.Err()
			})
		},
		"bound to no tenant": func(s *store.Store) error { return second(s.Pool.Exec(ctx, slow)) },
	} {
		for how, reset := range map[string]bool{"closed": false, "reset": true} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				through, line := layCable(t, testkit.DatabaseURL(t), reset)
				s, err := store.Open(ctx, pg.Config{URL: through, MaxConns: 1})
				require.NoError(t, err)
				t.Cleanup(s.Close)
				time.AfterFunc(500*time.Millisecond, line.cut)
				err = run(s)
				require.Error(t, err)
				require.True(t, pg.IsUnavailable(err), "%T: %v", err, err)
				require.False(t, pg.IsTimeout(err))
			})
		}
	}
	require.False(t, pg.IsUnavailable(pgx.ErrNoRows))
	require.False(t, pg.IsUnavailable(context.Canceled), "the caller has stopped waiting")
}
