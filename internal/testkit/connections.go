package testkit

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/pg"
)

// database is a database of the pool with its open connections. Only the test that has the database uses them.
type database struct {
	url    string      // as the owner
	owners []*pgx.Conn // of the owner, used by resets and by tests; those that are free
	store  *pg.DB      // of the store; nil before the first store
	used   bool        // a store of the test has them
}

// spareOwners is how many connections of the owner stay open for the next test.
const spareOwners = 3

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
	if d := p.at(databaseURL); d != nil && !d.used {
		d.used = true
		return d
	}
	return nil
}

// at returns the pooled database with this URL, or nil. The caller holds mu.
func (p *pool) at(databaseURL string) *database {
	for _, d := range p.own {
		if d.url == databaseURL {
			return d
		}
	}
	return nil
}

// owner returns a connection of the owner, and the function to call when the test ends. Like those of the store, the
// connections to a pooled database stay open for the next test.
func (p *pool) owner(ctx context.Context, databaseURL string) (*pgx.Conn, func(), error) {
	p.mu.Lock()
	d := p.at(databaseURL)
	var conn *pgx.Conn
	if d != nil {
		conn = d.spareOwner()
	}
	p.mu.Unlock()
	if conn != nil {
		if err := conn.Ping(ctx); err == nil {
			return conn, func() { p.giveBack(d, conn) }, nil
		}
		_ = conn.Close(ctx)
	}
	conn, err := pgx.Connect(ctx, databaseURL)
	return conn, func() { p.giveBack(d, conn) }, err
}

// spareOwner takes a free connection of the owner; nil if there is none.
func (d *database) spareOwner() *pgx.Conn {
	n := len(d.owners)
	if n == 0 {
		return nil
	}
	conn := d.owners[n-1]
	d.owners = d.owners[:n-1]
	return conn
}

// asNew removes what a test may have left in a session of the owner.
const asNew = `SET SESSION AUTHORIZATION DEFAULT; RESET ALL; CLOSE ALL; UNLISTEN *; SELECT pg_advisory_unlock_all();
	DISCARD TEMP; DISCARD SEQUENCES`

// giveBack keeps a connection of the owner for the next test if its session can be reset, and otherwise closes it.
func (p *pool) giveBack(d *database, conn *pgx.Conn) {
	ctx := context.Background()
	if d == nil || conn.IsClosed() || conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != 'I' ||
		second(conn.PgConn().Exec(ctx, asNew).ReadAll()) != nil || !p.keep(d, conn) {
		_ = conn.Close(ctx)
	}
}

// keep adds a connection of the owner to the free ones if there are not enough of them.
func (p *pool) keep(d *database, conn *pgx.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(d.owners) >= spareOwners {
		return false
	}
	d.owners = append(d.owners, conn)
	return true
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

// idle returns the process ids of the free connections: those of the owner, and those of the store that wait for a
// statement, after it has reset their sessions. It closes those that a test broke. A connection that is not idle
// belongs to a goroutine of an ended test.
func (d *database) idle(ctx context.Context) []int32 {
	pids := []int32{}
	for _, conn := range d.owners {
		pids = append(pids, int32(conn.PgConn().PID()))
	}
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
	for _, conn := range d.owners {
		_ = conn.Close(ctx)
	}
	if d.store != nil {
		d.store.Pool.Reset()
	}
}
