package testkit

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/pg"
)

// database is a database of the pool with its open connections. Only the test that has the database uses them.
type database struct {
	owner *pgx.Conn // for resets; nil before the first
	store *pg.DB    // of the store; nil before the first store
	used  bool      // a store of the test has them
}

// connections returns connections for a store, and the function to call when the test ends. The connections to a
// pooled database stay open for the next test, because a new connection compiles the functions and plans the statements
// that it runs, which takes longer than most tests. A second store of a test gets its own connections.
func (p *pool) connections(ctx context.Context, databaseURL string) (*pg.DB, func(), error) {
	config := pg.Config{URL: databaseURL, MaxConns: 12}
	d := p.use(databaseURL)
	if d != nil && d.store != nil && d.store.Ping(ctx) == nil { // a test may have closed its store
		return d.lent(), func() { p.unuse(d) }, nil
	}
	db, err := pg.Open(context.WithoutCancel(ctx), config)
	if err != nil || d == nil {
		p.unuse(d)
		return db, func() { db.Close() }, err
	}
	d.store = db
	return d.lent(), func() { p.unuse(d) }, nil
}

// use reserves the connections of the pooled database with this URL. It returns nil if there is none, or if a store has
// them.
func (p *pool) use(databaseURL string) *database {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, d := range p.own {
		if u, err := in(p.server, name, "main"); err == nil && u == databaseURL && !d.used {
			d.used = true
			return d
		}
	}
	return nil
}

func (p *pool) unuse(d *database) {
	if d != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		d.used = false
	}
}

// lent returns a copy, because tests set its fields.
func (d *database) lent() *pg.DB {
	db := *d.store
	return &db
}

// idle returns the process ids of the store's connections that wait for a statement, after it has reset their
// sessions. It closes those that a test broke. A connection that is not idle belongs to a goroutine of an ended test.
func (d *database) idle(ctx context.Context) []int32 {
	pids := []int32{}
	if d.store == nil {
		return pids
	}
	for _, conn := range d.store.Pool.AcquireAllIdle(ctx) {
		if _, err := conn.Conn().PgConn().Exec(ctx, "RESET ALL; SELECT pg_advisory_unlock_all()").ReadAll(); err == nil {
			pids = append(pids, int32(conn.Conn().PgConn().PID()))
		}
		conn.Release() // closes a broken one
	}
	return pids
}

// close closes the connections; those that goroutines of ended tests use, when they return them.
func (d *database) close(ctx context.Context) {
	if d.owner != nil {
		_ = d.owner.Close(ctx)
	}
	if d.store != nil {
		d.store.Pool.Reset()
	}
}
