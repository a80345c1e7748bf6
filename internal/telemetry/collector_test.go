package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// holding stages n memories for a tenant.
func holding(t *testing.T, st *store.Store, tenant string, n int) {
	t.Helper()
	req := schema.IngestRequest{Principal: schema.Principal{Tenant: tenant, Agent: "a"},
		Visibility: schema.VisibilityPrivate}
	for i := range n {
		req.Candidates = append(req.Candidates,
			schema.Candidate{Content: fmt.Sprintf("Note %d of %s about %s.", i, tenant, canary)})
	}
	_, err := st.Stage(ctx, pipeline.StageInput{OperationID: uuid.NewString(), WorkflowID: "wf", MaxAttempts: 3,
		Now: time.Now(), Policy: proposals.DefaultWritePolicy(), Request: req})
	require.NoError(t, err)
}

func TestTenantsAreBounded(t *testing.T) {
	t.Parallel()
	st := testkit.Store(t)
	for i, tenant := range []string{"small", telemetry.Others, "large", "middle", "tiny"} {
		holding(t, st, tenant, []int{2, 9, 5, 4, 1}[i])
	}
	tenants := func(m *telemetry.Metrics) (names []string) {
		seen := map[string]bool{}
		families, err := m.Gatherer().Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, series := range family.GetMetric() {
				for _, label := range series.GetLabel() {
					if label.GetName() == "tenant" && !seen[label.GetValue()] {
						seen[label.GetValue()] = true
						names = append(names, label.GetValue())
					}
				}
			}
		}
		return names
	}
	for limit, want := range map[int]map[string]float64{
		2:  {"large": 5, "middle": 4, telemetry.Others: 12}, // a tenant with the name of Others is included
		10: {"large": 5, "middle": 4, "small": 2, "tiny": 1, telemetry.Others: 9},
	} {
		m := newMetrics(t)
		stop, err := m.Read(st, telemetry.Reading{Tenants: limit})
		require.NoError(t, err)
		for tenant, n := range want {
			is(t, m, n, "mneme_memories", "tenant", tenant)
			is(t, m, n, "mneme_memory_changes", "tenant", tenant, "action", "create")
		}
		require.Len(t, tenants(m), len(want), "limit %d", limit)
		is(t, m, 5, "mneme_metrics_tenants")
		is(t, m, 60, "mneme_metrics_lap_seconds")
		stop()
	}
	m := newMetrics(t)
	stop, err := m.Read(st, telemetry.Reading{Tenants: 0})
	require.NoError(t, err)
	defer stop()
	is(t, m, 21, "mneme_memories")
	require.Empty(t, tenants(m))
	require.NotContains(t, scrape(t, m), `tenant="`)
}

// However often a scrape comes, the database is read once in an interval.
func TestScrapesShareARound(t *testing.T) {
	t.Parallel()
	st := testkit.Store(t)
	m := newMetrics(t)
	stop, err := m.Read(st, telemetry.Reading{Tenants: 5, Every: time.Hour})
	require.NoError(t, err)
	defer stop()
	holding(t, st, "first", 1)
	is(t, m, 1, "mneme_memories", "tenant", "first")
	holding(t, st, "second", 3)
	for range 5 {
		is(t, m, 1, "mneme_memories")
	}
	is(t, m, 1, "mneme_metrics_round_duration_seconds")
}

// Scrapes are answered while Postgres is down: with the last values, their age, and the number of failed reads. When
// Postgres is back, the values are updated.
func TestScrapesWithoutPostgres(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner := testkit.Owner(t, url)
	holding(t, testkit.OpenStore(t, url), "kept", 3)
	var away atomic.Bool
	var later atomic.Int64
	m := newMetrics(t)
	stop, err := m.Open(ctx, pg.Config{URL: url, Configure: func(pc *pgxpool.Config) {
		dial := pc.ConnConfig.DialFunc
		pc.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if away.Load() {
				return nil, errors.New("unreachable")
			}
			return dial(ctx, network, address)
		}
	}}, telemetry.Reading{Tenants: 5, Every: time.Nanosecond}.Aged(func() time.Time {
		return time.Now().Add(time.Duration(later.Load()))
	}))
	require.NoError(t, err)
	defer stop()
	is(t, m, 3, "mneme_memories", "tenant", "kept")
	is(t, m, 0, "mneme_metrics_failures_total")

	away.Store(true)
	var cut int
	require.NoError(t, owner.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = 'mneme-metrics' AND datname = current_database()`).Scan(&cut))
	require.Positive(t, cut)
	before := time.Now()
	for range 3 {
		is(t, m, 3, "mneme_memories", "tenant", "kept")
	}
	failures, _ := value(t, m, "mneme_metrics_failures_total")
	require.GreaterOrEqual(t, failures, 3.0)
	age, _ := value(t, m, "mneme_metrics_age_seconds")
	require.GreaterOrEqual(t, age, time.Since(before).Seconds()/2)
	require.Contains(t, scrape(t, m), "mneme_jobs_dead 0")

	// Old values might raise an outdated alert, so they are dropped.
	later.Store(int64(16 * time.Minute))
	text := scrape(t, m)
	for _, name := range []string{"mneme_jobs_dead", "mneme_jobs_oldest_waiting_seconds", "mneme_index_lag_seconds",
		"mneme_sweeps_held"} {
		require.NotContains(t, text, "\n"+name)
	}
	is(t, m, 3, "mneme_memories", "tenant", "kept")
	age, _ = value(t, m, "mneme_metrics_age_seconds")
	require.Greater(t, age, (15 * time.Minute).Seconds())

	away.Store(false)
	holding(t, testkit.OpenStore(t, url), "kept", 5) // two of them are new
	require.NoError(t, testkit.Eventually(within(t), func() error {
		if n, _ := value(t, m, "mneme_memories", "tenant", "kept"); n != 5 {
			return fmt.Errorf("%v memories", n)
		}
		return nil
	}))
}

// For a tenant that could never be read, the age counts from when it was first seen.
func TestTenantThatCannotBeRead(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	st := testkit.OpenStore(t, url)
	holding(t, st, "well", 1)
	holding(t, st, "ill", 1)
	_, err := testkit.Owner(t, url).Exec(ctx,
		`INSERT INTO sweep_runs (tenant, id, sweep, counts, started_at, updated_at)
			VALUES ('ill', 'r', 'decay', '{"pruned": 1e30}', now(), now())`)
	require.NoError(t, err)
	var later atomic.Int64
	m := newMetrics(t)
	stop, err := m.Read(st, telemetry.Reading{Tenants: 5, Every: time.Nanosecond}.Aged(func() time.Time {
		return time.Now().Add(time.Duration(later.Load()))
	}))
	require.NoError(t, err)
	defer stop()
	is(t, m, 1, "mneme_metrics_tenants")
	later.Store(int64(20 * time.Minute))
	require.NoError(t, testkit.Eventually(within(t), func() error { // the other tenant can be read
		if n, _ := value(t, m, "mneme_metrics_failures_total"); n < 2 {
			return fmt.Errorf("%v reads failed", n)
		}
		return nil
	}))
	is(t, m, 0, "mneme_jobs_dead")
	age, _ := value(t, m, "mneme_metrics_age_seconds")
	require.Greater(t, age, (19 * time.Minute).Seconds())
}

// Without Postgres since the start, its metrics are missing, and the age says for how long.
func TestScrapesWithoutAnyRead(t *testing.T) {
	t.Parallel()
	st := testkit.Store(t)
	st.Close()
	m := newMetrics(t)
	stop, err := m.Read(st, telemetry.Reading{Tenants: 5})
	require.NoError(t, err)
	defer stop()
	text := scrape(t, m)
	require.NotContains(t, text, "mneme_jobs_dead")
	require.NotContains(t, text, "mneme_memories{")
	require.Contains(t, text, "mneme_metrics_failures_total 1")
	require.Contains(t, text, "mneme_metrics_age_seconds ")
	require.True(t, strings.Contains(text, "mneme_phase_duration_seconds_count{"),
		"metrics of the process itself are present")
}

// Every kind of confirmation is exported, even if no sweep has asked.
func TestEverySweepConfirmationIsExported(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	_, err := testkit.Owner(t, url).Exec(ctx,
		`INSERT INTO sweep_holds (tenant, sweep, would_take, stored, share, asked_at)
			VALUES ('t', 'history', 90, 100, 0.5, now() - interval '1 hour')`)
	require.NoError(t, err)
	m := newMetrics(t)
	stop, err := m.Open(ctx, pg.Config{URL: url}, telemetry.Reading{Tenants: 5, Every: time.Hour})
	require.NoError(t, err)
	defer stop()
	is(t, m, 1, "mneme_sweeps_held", "sweep", "history")
	for _, quiet := range []schema.Sweep{schema.SweepDecay, schema.SweepRetention} {
		is(t, m, 0, "mneme_sweeps_held", "sweep", string(quiet))
		is(t, m, 0, "mneme_sweep_held_seconds", "sweep", string(quiet))
	}
	since, _ := value(t, m, "mneme_sweep_held_seconds", "sweep", "history")
	require.GreaterOrEqual(t, since, time.Hour.Seconds())
}
