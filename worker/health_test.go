package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

// probed is a health endpoint with a clock of the test.
type probed struct {
	*health
	t   *testing.T
	mux *http.ServeMux
	mu  sync.Mutex
	at  time.Time
}

func newProbed(t *testing.T, databaseURL string) *probed {
	t.Helper()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	policies, err := config.LoadPolicies("", nil)
	require.NoError(t, err)
	p := &probed{t: t, mux: http.NewServeMux(), at: time.Now()}
	p.health = &health{store: testkit.OpenStore(t, databaseURL), temporal: c, policies: policies,
		jobAge: 15 * time.Minute, indexLag: 15 * time.Minute, now: p.now,
		schedules: mneme.Schedules{Client: c, Namespace: namespace, TaskQueue: "none", Index: "pgvector"}}
	p.register(p.mux)
	return p
}

func (p *probed) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// later advances the clock, so that the next probe is not cached.
func (p *probed) later() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = p.at.Add(schedulesFor)
}

func (p *probed) get(path string) (int, string) {
	p.t.Helper()
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// reasons probes until there are n reasons, and returns them: Temporal shows a change of a schedule after a moment.
func (p *probed) reasons(n int) []string {
	p.t.Helper()
	var all []string
	for range 10 {
		if all = p.unready(); len(all) == n {
			return all
		}
		time.Sleep(500 * time.Millisecond)
	}
	require.Len(p.t, all, n)
	return all
}

// unready probes again, and returns the reasons.
func (p *probed) unready() []string {
	p.t.Helper()
	p.later()
	status, body := p.get("/readyz")
	if status == http.StatusOK {
		require.Equal(p.t, "ok", body)
		return nil
	}
	require.Equal(p.t, http.StatusServiceUnavailable, status)
	live, _ := p.get("/livez")
	require.Equal(p.t, http.StatusOK, live, "a restart fixes none of this")
	return strings.Split(body, "\n")
}

// Readiness fails for each reason and names it; liveness does not fail.
func TestReadinessNamesEveryReason(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := testkit.DatabaseURL(t)
	p, db := newProbed(t, url), testkit.Owner(t, url)
	exec := func(query string, args ...any) {
		t.Helper()
		_, err := db.Exec(ctx, query, args...)
		require.NoError(t, err)
	}
	require.NoError(t, p.schedules.Ensure(ctx, mneme.DefaultSchedules()))
	require.Empty(t, p.unready())

	exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, migrations.Latest()+1)
	require.Empty(t, p.unready(), "a newer schema is fine")
	exec(`DELETE FROM goose_db_version WHERE version_id >= $1`, migrations.Latest())
	behind := p.unready()
	require.Len(t, behind, 1)
	require.Contains(t, behind[0], "migrations are missing")

	old := p.now().Add(-20 * time.Minute)
	exec(`INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id,
		max_attempts, created_at, updated_at)
		VALUES ('t', $1, 'ingest', 'pending', 'extract', $1, $1, $1, 'w', 3, $2, $2)`, uuid.New(), old)
	exec(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) VALUES ('t', $1, 1, 'upsert', $2)`,
		uuid.New(), old)
	drift := p.temporal.ScheduleClient().GetHandle(ctx, "drift/pgvector")
	require.NoError(t, drift.Pause(ctx, client.SchedulePauseOptions{Note: "for the night"}))
	retention := p.temporal.ScheduleClient().GetHandle(ctx, "retention-purge")
	require.NoError(t, retention.Pause(ctx,
		client.SchedulePauseOptions{Note: "paused due to workflow failure: retention-purge-1: a wall"}))
	all := p.reasons(4)
	require.Regexp(t, "the oldest of 1 open jobs has waited 2.m", all[1])
	require.Contains(t, all[1], "MNEME_READY_JOB_AGE (15m)")
	require.Regexp(t, "the index lags by 2.m", all[2])
	require.Contains(t, all[2], "MNEME_READY_INDEX_LAG (15m)")
	require.Contains(t, all[3], "schedule retention is paused by a failure")
	require.NotContains(t, strings.Join(all, " "), "wall", "which is for those who may see the namespace")

	p.jobAge, p.indexLag = 0, 0 // disabled
	require.NoError(t, retention.Unpause(ctx, client.ScheduleUnpauseOptions{}))
	p.reasons(1)
	exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, migrations.Latest())
	require.Empty(t, p.unready(), "a schedule paused by an operator is no fault")

	p.store.Close()
	require.Equal(t, []string{"postgres does not answer"}, p.unready())
}

// A result is cached for a while, for all callers, and even if a caller disconnects.
func TestReadinessIsCheap(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	p, db := newProbed(t, url), testkit.Owner(t, url)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/readyz", nil))
	require.Equal(t, http.StatusOK, w.Code, "a cancelled caller does not spoil the cached result")
	_, err := db.Exec(context.Background(), `DELETE FROM goose_db_version WHERE version_id = $1`, migrations.Latest())
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if status, _ := p.get("/readyz"); status != http.StatusOK {
				t.Errorf("not cached: %d", status)
			}
		})
	}
	wg.Wait()
	require.Len(t, p.unready(), 1)
}

// A worker whose loop has ended is not alive: a restart fixes that.
func TestLivenessOfADeadLoop(t *testing.T) {
	t.Parallel()
	p := newProbed(t, testkit.DatabaseURL(t))
	status, body := p.get("/livez")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok", body)
	p.ended(errors.New("the namespace is gone"))
	p.ended(errors.New("and so is everything else"))
	for _, path := range []string{"/livez", "/readyz"} {
		status, body = p.get(path)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "the worker has stopped: the namespace is gone", body)
	}
}

// Readiness does not wait for the worker's connections: under load it would report a working Postgres as unavailable.
func TestReadinessHasItsOwnConnection(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := testkit.DatabaseURL(t)
	p, db := newProbed(t, url), testkit.Owner(t, url)
	database := pg.Config{URL: url, MaxConns: 1}
	workers, err := store.Open(ctx, database)
	require.NoError(t, err)
	defer workers.Close()
	p.store, err = openHealth(ctx, database)
	require.NoError(t, err)
	defer p.store.Close()

	lock, err := db.Begin(ctx)
	require.NoError(t, err)
	_, err = lock.Exec(ctx, `LOCK TABLE corpus_stats`)
	require.NoError(t, err)
	long := make(chan error, 1)
	go func() { _, err := workers.LiveCount(ctx, "t"); long <- err }()
	require.NoError(t, testkit.Eventually(ctx, func() error { // wait until the worker's only connection is in use
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		if workers.Ping(short) == nil {
			return errors.New("it is free")
		}
		return nil
	}))
	require.Empty(t, p.unready())
	require.NoError(t, lock.Rollback(ctx))
	require.NoError(t, <-long)
}

// deaf is a Temporal client that blocks on schedules while it is told to.
type deaf struct {
	client.Client
	now *atomic.Bool
}

func (d deaf) ScheduleClient() client.ScheduleClient {
	return deafSchedules{d.Client.ScheduleClient(), d.now}
}

type deafSchedules struct {
	client.ScheduleClient
	now *atomic.Bool
}

func (d deafSchedules) GetHandle(ctx context.Context, id string) client.ScheduleHandle {
	return deafHandle{d.ScheduleClient.GetHandle(ctx, id), d.now}
}

type deafHandle struct {
	client.ScheduleHandle
	now *atomic.Bool
}

func (d deafHandle) Describe(ctx context.Context) (*client.ScheduleDescription, error) {
	if d.now.Load() {
		return nil, errors.New("too busy")
	}
	return d.ScheduleHandle.Describe(ctx)
}

// If it is unknown for too long whether a schedule was paused by a failure, the worker is not ready.
func TestReadinessWithUnknownSchedules(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProbed(t, testkit.DatabaseURL(t))
	require.NoError(t, p.schedules.Ensure(ctx, mneme.DefaultSchedules()))
	var silent atomic.Bool
	p.schedules.Client = deaf{p.temporal, &silent}
	after := func(d time.Duration) []string {
		p.mu.Lock()
		p.at = p.at.Add(d - schedulesFor) // which unready adds
		p.mu.Unlock()
		return p.unready()
	}

	silent.Store(true)
	require.Empty(t, after(0), "a starting server is given some time")
	require.Empty(t, after(schedulesGrace))
	never := after(schedulesFor)
	require.Len(t, never, 1)
	require.Contains(t, never[0], "never")

	// On a busy machine a probe may time out before the server has answered; the next one has the answer.
	told := func(n int) bool {
		for range 10 {
			if len(after(schedulesFor)) == n {
				return true
			}
		}
		return false
	}
	silent.Store(false)
	require.True(t, told(0))
	retention := p.temporal.ScheduleClient().GetHandle(ctx, "retention-purge")
	require.NoError(t, retention.Pause(ctx,
		client.SchedulePauseOptions{Note: "paused due to workflow failure: retention-purge-1: a wall"}))
	require.True(t, told(1))

	silent.Store(true)
	paused := after(schedulesStale)
	require.Len(t, paused, 1, "the last known state is used for a while")
	require.Contains(t, paused[0], "schedule retention is paused")
	unknown := after(schedulesFor)
	require.Len(t, unknown, 1)
	require.Contains(t, unknown[0], "for 5m30s")
	require.NotContains(t, unknown[0], "too busy")
}
