package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/pg"
)

const (
	// DefaultTenants is how many tenants have their own label.
	DefaultTenants = 50
	// Others is the label of the sum of all other tenants.
	Others = "_others"

	// scrapeTimeout is how long a scrape waits for numbers that are being read. It then serves the numbers that it
	// has, and the next scrape has the rest.
	scrapeTimeout = 2 * time.Second
	// roundShare limits the share of the time that rounds may take, so that with very many tenants Postgres is not busy
	// all the time. After that a round reads no further tenant; the remaining tenants keep their numbers, and are the
	// first of the next round.
	roundShare = 2
	// leastRound is the time that every round may take.
	leastRound = 10 * time.Second
	// readDeadline is how long one read may take.
	readDeadline = 5 * time.Second
	// costShare bounds the share of the time for one tenant: numbers that take a second to read are read every 50
	// seconds, but at least every leastOften.
	costShare  = 50
	leastOften = 10 * time.Minute
	// staleAfter is the age after which numbers over all tenants are omitted. The age of a queue that is not read again
	// only grows, so one worker that cannot reach Postgres would raise an alarm for all.
	staleAfter = 15 * time.Minute

	tenantsPage = 1000
)

// Reading sets how numbers are read from Postgres.
type Reading struct {
	// Tenants is how many tenants have their own label, those with the most memories; the others are summed under
	// Others. With 0 there is no label tenant, and all are summed.
	Tenants int
	// Every is the minimum interval between two reads; a minute if 0.
	Every time.Duration
	Now   func() time.Time // the clock of the memories; time.Now when nil
	Log   *slog.Logger     // may be nil

	wall func() time.Time // the clock for the age of numbers; time.Now if nil
}

// Open is Read with its own connection, so that slow readings do not delay memories and recalls.
func (m *Metrics) Open(ctx context.Context, database pg.Config, r Reading) (stop func(), err error) {
	database.MaxConns, database.ApplicationName = 1, "mneme-metrics"
	database.StatementTimeout = readDeadline
	st, err := store.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	stopReading, err := m.Read(st, r)
	if err != nil {
		st.Close()
		return nil, err
	}
	return func() {
		stopReading()
		st.Close()
	}, nil
}

// Read collects the numbers in Postgres with every scrape, until stop is called. A tenant is read only when a scrape
// needs it.
func (m *Metrics) Read(st *store.Store, r Reading) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	if r.wall == nil {
		r.wall = time.Now
	}
	c := &collector{store: st, Reading: r, ctx: ctx, begun: r.wall(), tenants: map[string]reading{},
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "mneme_metrics_failures_total",
			Help: "Reads of these numbers from Postgres that failed."}),
		rounds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "mneme_metrics_round_duration_seconds",
			Buckets: phaseBuckets,
			Help:    "Time that one round of reading these numbers from Postgres took."})}
	c.Every = cmp.Or(c.Every, time.Minute)
	c.describe()
	if err := m.registry.Register(c); err != nil {
		cancel()
		return nil, fmt.Errorf("metrics of Postgres: %w", err)
	}
	return func() {
		cancel()
		m.registry.Unregister(c)
		c.working.Wait()
	}, nil
}

// collector serves the numbers that were last read from Postgres, and reads them again if they are old when a scrape
// comes.
type collector struct {
	Reading
	store    *store.Store
	ctx      context.Context
	begun    time.Time
	failures prometheus.Counter
	rounds   prometheus.Histogram
	system   systemDescs
	tenant   tenantDescs
	working  sync.WaitGroup

	mu      sync.Mutex
	round   chan struct{} // closed when the current round ends; nil if there is none
	last    time.Time     // when the last one began
	whole   admin.SystemMetrics
	wholeAt time.Time // zero: never read
	tenants map[string]reading
}

// reading has the numbers of a tenant.
type reading struct {
	admin.TenantMetrics
	seen  time.Time     // when it was first heard of
	at    time.Time     // zero: never
	tried time.Time     // when it was last read, or could not be
	took  time.Duration // how long that took
}

// due reports whether a tenant must be read again.
func (r reading) due(now time.Time, every time.Duration) bool {
	return now.Sub(r.tried) >= min(max(every, costShare*r.took), max(leastOften, every))
}

func (c *collector) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// refresh starts a round if the numbers are old, and waits for it up to scrapeTimeout.
func (c *collector) refresh() {
	c.mu.Lock()
	// A scrape may be slightly early and still counts as on time.
	if c.round == nil && c.ctx.Err() == nil && time.Since(c.last) >= c.Every-c.Every/10 {
		done := make(chan struct{})
		c.round, c.last = done, time.Now()
		c.working.Go(func() {
			c.readAll()
			c.mu.Lock()
			c.round = nil
			c.mu.Unlock()
			close(done)
		})
	}
	round := c.round
	c.mu.Unlock()
	if round == nil {
		return
	}
	timeout := time.NewTimer(scrapeTimeout)
	defer timeout.Stop()
	select {
	case <-round:
	case <-timeout.C:
	}
}

// readAll is one round: it reads the numbers over all tenants, and then tenants, beginning with the oldest numbers.
func (c *collector) readAll() {
	start := time.Now()
	defer func() { c.rounds.Observe(since(start)) }()
	ok := c.reads("the system", func(ctx context.Context) error {
		whole, err := c.store.SystemMetrics(ctx)
		if err == nil {
			c.mu.Lock()
			c.whole, c.wholeAt = whole, c.wall()
			c.mu.Unlock()
		}
		return err
	})
	if !ok || !c.list() {
		return // Postgres is unavailable: other reads would fail too
	}
	for _, tenant := range c.turn() {
		if time.Since(start) > c.budget() {
			return
		}
		if !c.readTenant(tenant) {
			return
		}
	}
}

// budget is the time within which a round may begin to read further tenants.
func (c *collector) budget() time.Duration { return max(leastRound, c.Every/roundShare) }

// lap is how long it takes to read every tenant once, from the durations of their reads and the budget of a
// round. It distinguishes numbers that are old because there are many tenants from those that are old because of a
// fault. A tenant that was not read yet is assumed to take as long as the others.
func lap(tenants map[string]reading, every, budget time.Duration) time.Duration {
	var took, tried time.Duration
	for _, r := range tenants {
		if took += r.took; !r.tried.IsZero() {
			tried++
		}
	}
	if tried == 0 {
		return every
	}
	all := took / tried * time.Duration(len(tenants))
	return every * max(1, (all+budget-1)/budget)
}

// list updates the list of tenants. A new tenant has no numbers yet.
func (c *collector) list() bool {
	var names []string
	for after, more := "", true; more; {
		ok := c.reads("the tenants", func(ctx context.Context) error {
			page, err := c.store.Tenants(ctx, after, tenantsPage)
			names = append(names, page...)
			if more = len(page) == tenantsPage; more {
				after = page[len(page)-1]
			}
			return err
		})
		if !ok {
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := make(map[string]reading, len(names))
	for _, name := range names {
		r, there := c.tenants[name]
		if !there {
			r.seen = c.wall()
		}
		known[name] = r
	}
	c.tenants = known
	return true
}

// turn returns the tenants that are due, beginning with those that have waited longest.
func (c *collector) turn() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var due []string
	for name, r := range c.tenants {
		if r.due(now, c.Every-c.Every/10) {
			due = append(due, name)
		}
	}
	slices.SortFunc(due, func(a, b string) int {
		return cmp.Or(c.tenants[a].tried.Compare(c.tenants[b].tried), cmp.Compare(a, b))
	})
	return due
}

// readTenant reads one tenant. It returns false if Postgres is unavailable. If only this tenant cannot be read, it
// keeps its old numbers, and the round continues.
func (c *collector) readTenant(tenant string) bool {
	start, away := time.Now(), false
	c.reads("a tenant", func(ctx context.Context) error {
		m, err := c.store.TenantMetrics(ctx, tenant, c.now())
		away = err != nil && pg.IsUnavailable(err) && ctx.Err() == nil
		c.mu.Lock()
		defer c.mu.Unlock()
		r := c.tenants[tenant]
		r.tried, r.took = time.Now(), time.Since(start)
		if err == nil {
			r.TenantMetrics, r.at = m, c.wall()
		}
		c.tenants[tenant] = r
		return err
	})
	return !away && c.ctx.Err() == nil
}

// reads runs one read within its deadline, and counts a failure.
func (c *collector) reads(what string, read func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(c.ctx, readDeadline)
	defer cancel()
	err := read(ctx)
	if err == nil {
		return true
	}
	if c.ctx.Err() == nil { // the failure was not caused by the end of the process
		c.failures.Inc()
		if c.Log != nil {
			c.Log.Warn("metrics not read", "of", what, "error", err)
		}
	}
	return false
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	c.failures.Describe(ch)
	c.rounds.Describe(ch)
	for _, d := range c.descs() {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It does not fail: without Postgres it returns the last numbers, and their
// age. The age of a tenant that could never be read counts from when it was first listed.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.refresh()
	c.mu.Lock()
	whole, wholeAt := c.whole, c.wholeAt
	tenants := maps.Clone(c.tenants)
	c.mu.Unlock()
	c.failures.Collect(ch)
	c.rounds.Collect(ch)
	if !wholeAt.IsZero() && c.wall().Sub(wholeAt) <= staleAfter {
		c.system.emit(ch, whole, c.now())
	}
	oldest := wholeAt
	if oldest.IsZero() {
		oldest = c.begun
	}
	for _, r := range tenants {
		at := r.at
		if at.IsZero() {
			at = r.seen
		}
		if at.Before(oldest) {
			oldest = at
		}
	}
	inTurn := lap(tenants, c.Every, c.budget())
	maps.DeleteFunc(tenants, func(_ string, r reading) bool { return r.at.IsZero() }) // they have no numbers yet
	c.system.age(ch, c.wall().Sub(oldest), inTurn, len(tenants))
	c.emitTenants(ch, tenants)
}

// emitTenants gives the largest tenants their own series and sums up the others.
func (c *collector) emitTenants(ch chan<- prometheus.Metric, tenants map[string]reading) {
	if len(tenants) == 0 {
		return
	}
	now := c.now()
	if c.Tenants == 0 {
		var all admin.TenantMetrics
		for _, r := range tenants {
			all.Add(r.TenantMetrics)
		}
		c.tenant.emit(ch, nil, all, now)
		return
	}
	names := slices.SortedFunc(maps.Keys(tenants), func(a, b string) int {
		return cmp.Or(cmp.Compare(tenants[b].Live, tenants[a].Live), cmp.Compare(a, b))
	})
	var others admin.TenantMetrics
	shown, summed := 0, 0
	for _, name := range names {
		if shown < c.Tenants && name != Others { // a tenant named like Others is summed with them
			shown++
			c.tenant.emit(ch, []string{name}, tenants[name].TenantMetrics, now)
			continue
		}
		summed++
		others.Add(tenants[name].TenantMetrics)
	}
	if summed > 0 {
		c.tenant.emit(ch, []string{Others}, others, now)
	}
}
