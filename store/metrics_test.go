package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/pg"
)

// measured inserts n live memories of a tenant, with a salience that is ten days old: every tenth is a procedure,
// every hundredth a plan, the others facts.
func (w *world) measured(tenant string, n int) {
	w.t.Helper()
	_, err := w.owner.Exec(ctx,
		`INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content,
			content_hash,
			confidence, importance, salience, salience_at, decay_curve, half_life, min_salience, reinforcement_gain,
			last_reinforced_at, pinned, deletion_policy,
			decay_due_at, occurred_at, created_at, updated_at, created_by, payload)
		SELECT $1, gen_random_uuid(), 'a', t, 'fact', 'persistent',
		CASE t WHEN 'semantic' THEN 'semantic' ELSE 'procedural' END, 'memory ' || i, 'memory ' || i,
			sha256(convert_to($1 || i, 'UTF8')), 0.9, 0.5, (i % 100) / 100.0, $3::timestamptz - interval '10 days',
			CASE i % 3 WHEN 0 THEN 'linear' ELSE 'exponential' END,
			interval '10 days', 0.05, 0.1, $3, i % 50 = 0, 'auto_prune',
			$3::timestamptz + (i - 100) * interval '1 hour', $3, $3, $3, 'test', jsonb_build_object('kind', t)
		FROM (SELECT i, CASE WHEN i % 100 = 0 THEN 'plan_graph' WHEN i % 10 = 0 THEN 'competence' ELSE 'semantic' END t
			FROM generate_series(1, $2) i) rows`,
		tenant, n, w.now)
	require.NoError(w.t, err)
	_, err = w.owner.Exec(ctx, `INSERT INTO corpus_stats (tenant, docs, lexemes) VALUES ($1, $2, 0)`, tenant, n)
	require.NoError(w.t, err)
}

func (w *world) metrics(tenant string) admin.TenantMetrics {
	w.t.Helper()
	m, err := w.TenantMetrics(ctx, tenant, w.now)
	require.NoError(w.t, err)
	return m
}

// The metrics of a tenant are what the rules compute for each of its memories.
func TestTenantMetricsOfASmallTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.measured("t", 1000)
	w.measured("other", 300)
	_, err := w.owner.Exec(ctx,
		`UPDATE memories SET decay_curve = 'custom',
			decay_points = '[{"after_seconds":0,"share":1},{"after_seconds":86400,"share":0.25}]'
		WHERE tenant = 't' AND content = 'memory 99'`)
	require.NoError(t, err)
	m := w.metrics("t")

	var want [admin.SalienceBuckets]int64
	sum := 0.0
	for i := 1; i <= 1000; i++ {
		worth := float64(i%100) / 100
		if i%50 != 0 {
			d := memory.Decay{Curve: schema.CurveExponential, HalfLife: 240 * time.Hour}
			if i%3 == 0 {
				d.Curve = schema.CurveLinear
			}
			if i == 99 {
				d.Curve, d.Points = schema.CurveCustom, []memory.DecayPoint{{Share: 1},
					{After: 24 * time.Hour, Share: 0.25}}
			}
			worth = d.Salience(worth, 240*time.Hour)
		}
		sum += worth
		want[salienceBucket(worth)]++
	}
	require.Equal(t, want, m.Salience)
	require.InDelta(t, sum, m.SalienceSum, 1e-6)
	require.EqualValues(t, 1000, m.Live)
	require.Equal(t, map[schema.MemoryType]int64{schema.TypeSemantic: 900, schema.TypeCompetence: 90,
		schema.TypePlanGraph: 10}, m.ByType)
	require.EqualValues(t, 100, m.Due)
	require.Equal(t, w.now.Add(-99*time.Hour), *m.OldestDue)
	require.EqualValues(t, 300, w.metrics("other").Live)
	require.Zero(t, w.metrics("nobody").Live)
	_, err = w.TenantMetrics(ctx, "", w.now)
	require.Error(t, err)

	var both admin.TenantMetrics
	both.Add(m)
	both.Add(w.metrics("other"))
	require.EqualValues(t, 1300, both.Live)
	require.EqualValues(t, 1000, m.Live, "summing does not change the summands")
	require.EqualValues(t, 900, m.ByType[schema.TypeSemantic])
	require.EqualValues(t, 200, both.Due)
}

// In a large tenant, procedures and plans are counted and the rest is estimated from a sample. Estimates are close,
// and their total is exact.
func TestTenantMetricsOfALargeTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 5 * admin.SalienceSample
	w.measured("t", n)
	m := w.metrics("t")
	require.EqualValues(t, n, m.Live)
	require.Equal(t, map[schema.MemoryType]int64{schema.TypeSemantic: n * 90 / 100, schema.TypeCompetence: n * 9 / 100,
		schema.TypePlanGraph: n / 100}, m.ByType)
	all := int64(0)
	exact := w.exactSalience("t")
	for i, got := range m.Salience {
		all += got
		require.InDelta(t, float64(exact[i]), float64(got), 0.03*n, "bucket %d", i) // 3 standard deviations
	}
	require.EqualValues(t, n, all)
	require.Equal(t, m.Salience, w.metrics("t").Salience, "the sample is the same each time")
	require.EqualValues(t, 100, m.Due)
	_, err := w.owner.Exec(ctx, `UPDATE memories SET decay_due_at = $1 WHERE tenant = 't'`, w.now)
	require.NoError(t, err)
	require.EqualValues(t, min(n, admin.MaxDueCounted), w.metrics("t").Due)
}

// salienceBucket returns the first bucket whose upper edge is at least the salience.
func salienceBucket(worth float64) (i int) {
	for worth > float64(i+1)/admin.SalienceBuckets {
		i++
	}
	return i
}

func (w *world) exactSalience(tenant string) (out [admin.SalienceBuckets]int64) {
	w.t.Helper()
	rows, err := w.owner.Query(ctx, `SELECT salience, pinned, decay_curve FROM memories WHERE tenant = $1`, tenant)
	require.NoError(w.t, err)
	defer rows.Close()
	for rows.Next() {
		var base float64
		var pinned bool
		d := memory.Decay{HalfLife: 240 * time.Hour}
		require.NoError(w.t, rows.Scan(&base, &pinned, &d.Curve))
		if !pinned {
			base = d.Salience(base, 240*time.Hour)
		}
		out[salienceBucket(base)]++
	}
	return out
}

// The results of retrievals, memories and sweeps count in the window in which they happened.
func TestTenantMetricsByWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.measured("t", 200)
	w.measured("other", 200)
	var skill, plan, fact uuid.UUID
	for typ, id := range map[string]*uuid.UUID{"competence": &skill, "plan_graph": &plan, "semantic": &fact} {
		require.NoError(t, w.owner.QueryRow(ctx,
			`SELECT id FROM memories WHERE tenant = 't' AND type = $1 ORDER BY id LIMIT 1`, typ).Scan(id))
	}
	retrieval := func(tenant string, ago time.Duration, degraded []string, ids ...uuid.UUID) uuid.UUID {
		id := uuid.New()
		_, err := w.owner.Exec(ctx,
			`INSERT INTO retrievals (tenant, id, agent_id, query_hash, memory_ids, degraded, took_ms, created_at)
			VALUES ($1, $2, 'a', '', coalesce($3, ARRAY[]::uuid[]), $4, 12, $5)`, tenant, id, ids, degraded,
			w.now.Add(-ago))
		require.NoError(t, err)
		return id
	}
	said := func(tenant string, ago time.Duration, retrieval, memory uuid.UUID, verdict string, counted *string) {
		_, err := w.owner.Exec(ctx,
			`INSERT INTO retrieval_feedback (tenant, retrieval_id, memory_id, verdict, weight, moved, counted,
				effective_at, actor, created_at, updated_at)
			VALUES ($1, $2, $3, $4, 0, 0, $5, $6, 'a', $6, $6)`, tenant, retrieval, memory, verdict, counted,
			w.now.Add(-ago))
		require.NoError(t, err)
	}
	success, failure := "success", "failure"
	none := []string{}
	today, lastWeek := retrieval("t", time.Hour, none, skill, plan, fact), retrieval("t", 3*24*time.Hour, none, skill)
	retrieval("t", 2*time.Hour, []string{"vector"}, plan)
	retrieval("t", 3*time.Hour, none)
	retrieval("t", 10*24*time.Hour, none, skill)
	elsewhere := retrieval("other", time.Hour, none, fact)
	said("t", time.Hour, today, skill, "succeeded", &success)
	said("t", time.Hour, today, plan, "failed", &failure)
	said("t", time.Hour, today, fact, "unused", nil)
	said("t", 2*24*time.Hour, lastWeek, skill, "failed", &failure)
	said("other", time.Hour, elsewhere, fact, "succeeded", nil)
	for _, h := range []struct {
		action   string
		ago      time.Duration
		metadata string
	}{{"contest", time.Hour, `{"operationId": "o1"}`}, {"contest", time.Hour, `{"operationId": "o1"}`},
		{"contest", 2 * time.Hour, `{"operationId": "o2"}`},
		{"revise", 2 * time.Hour, `{"proposalId": "p1"}`}, {"revise", 2 * time.Hour, `{"proposalId": "p1"}`},
		{"revise", 2 * time.Hour, `{}`}, {"create", 2 * time.Hour, `{"proposalId": "p1"}`},
		{"archive", 3 * time.Hour, `{"operationId": "o3"}`}, {"retract", 30 * time.Hour, `{"operationId": "o4"}`}} {
		_, err := w.owner.Exec(ctx,
			`INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, created_at, action, metadata)
			VALUES ('t', $1, $2, 'modified', 'a', 'r', $3, $4, $5)`, uuid.New(), fact, w.now.Add(-h.ago), h.action,
			h.metadata)
		require.NoError(t, err)
	}
	for i, run := range []struct {
		sweep, counts string
		ago           time.Duration
	}{{"decay", `{"pruned": 3, "archived": 1}`, time.Hour}, {"decay", `{"pruned": 4, "note": "x"}`, 2 * time.Hour},
		{"retention", `{"tombstones": 7}`, time.Hour},
		{"retention", `{"tombstones": 70}`, 40 * time.Hour}} {
		_, err := w.owner.Exec(ctx,
			`INSERT INTO sweep_runs (tenant, id, sweep, counts, started_at, updated_at)
				VALUES ('t', $1, $2, $3, $4, $4)`,
			fmt.Sprint(i), run.sweep, run.counts, w.now.Add(-run.ago))
		require.NoError(t, err)
	}
	_, err := w.owner.Exec(ctx,
		`INSERT INTO sweep_holds (tenant, sweep, would_take, stored, share, asked_at)
			VALUES ('t', 'decay', 90, 100, 0.5, $1), ('other', 'decay', 90, 100, 0.5, $2)`,
		w.now.Add(-time.Hour), w.now.Add(-2*time.Hour))
	require.NoError(t, err)

	_, err = w.owner.Exec(ctx,
		`UPDATE memories SET deleted_at = $2, version = version + 1, updated_at = $2 WHERE tenant = 't' AND id = $1`,
		plan, w.now)
	require.NoError(t, err, "a returned memory that was deleted since")

	m := w.metrics("t")
	require.Equal(t, admin.Spans{Day: 3, Week: 4}, m.Retrievals)
	require.EqualValues(t, 1, m.Degraded.Day)
	require.Equal(t, admin.Spans{Day: 1, Week: 2}, m.Judged)
	require.Equal(t, admin.Spans{Day: 1, Week: 1}, m.Useful)
	require.Equal(t, map[string]admin.Spans{"succeeded": {Day: 1, Week: 1}, "failed": {Day: 1, Week: 2},
		"unused": {Day: 1, Week: 1}}, m.Verdicts)
	require.Equal(t, map[schema.MemoryType]admin.Spans{schema.TypeCompetence: {Day: 1}, schema.TypePlanGraph: {Day: 2}},
		m.Reused)
	require.Equal(t, map[admin.ProcedureOutcome]admin.Spans{
		{Type: schema.TypeCompetence, Outcome: "success"}: {Day: 1, Week: 1},
		{Type: schema.TypeCompetence, Outcome: "failure"}: {Week: 1},
		{Type: schema.TypePlanGraph, Outcome: "failure"}:  {Day: 1, Week: 1},
	}, m.Outcomes)
	require.Equal(t, map[schema.AuditAction]int64{schema.AuditContest: 3, schema.AuditRevise: 3, schema.AuditCreate: 1,
		schema.AuditArchive: 1}, m.Changes)
	require.Equal(t, map[schema.AuditAction]int64{schema.AuditContest: 2, schema.AuditRevise: 2}, m.Revisions,
		"an operation counts once")
	require.Equal(t, map[admin.SweepCount]int64{{Sweep: "decay", Done: "pruned"}: 7,
		{Sweep: "decay", Done: "archived"}: 1, {Sweep: "retention", Done: "tombstones"}: 7}, m.Swept)

	whole, err := w.SystemMetrics(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]admin.HeldSweeps{"decay": {Tenants: 2, Since: w.now.Add(-2 * time.Hour)}}, whole.Holds)
	names, err := w.Tenants(ctx, "", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"other"}, names)
	names, err = w.Tenants(ctx, "other", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"t"}, names)

	days, err := w.TenantDays(ctx, "t", 14, w.now)
	require.NoError(t, err)
	require.Len(t, days.Days, 14)
	require.Equal(t, w.now.Truncate(24*time.Hour), days.Days[13].Day)
	require.EqualValues(t, 3, days.Days[13].Retrievals)
	require.EqualValues(t, 1, days.Days[10].Retrievals)
	require.EqualValues(t, 1, days.Days[12].Changes[schema.AuditRetract])
	require.EqualValues(t, 1, days.Days[12].Revisions[schema.AuditRetract])
	require.EqualValues(t, 12, days.Recall.P95)
}

// The metrics are read with a connection that cannot write; the tenant policy applies to it.
func TestTenantMetricsReadOnly(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	st, err := store.Open(ctx, pg.Config{URL: url, MaxConns: 1, Configure: func(pc *pgxpool.Config) {
		pc.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	}})
	require.NoError(t, err)
	defer st.Close()
	_, err = st.TenantMetrics(ctx, "t", time.Now())
	require.NoError(t, err)
	_, err = st.SystemMetrics(ctx)
	require.NoError(t, err)
}

// A contest and a revision count as one each, however many rows they write.
func TestRevisionsCountOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Rome", ""), claims("Ana", "Lyon", ""))
	c := w.keep(claims("Ben", "Bonn", ""))
	w.applied(w.revision(schema.ReviseSupersede, same(claims("Ben", "Oslo", "")), w.as(c)...))
	m := w.metrics(w.p.Tenant)
	require.Equal(t, map[schema.AuditAction]int64{schema.AuditContest: 1, schema.AuditRevise: 1}, m.Revisions, "%v %v",
		a, b)
	require.EqualValues(t, 2, m.Changes[schema.AuditContest])
	require.EqualValues(t, 2, m.Contested)
}

// Shares of a total always add up to the total.
func TestSharesOfATotal(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{47, 49, 22} {
		counts, want := map[int]int64{}, map[int]int64{}
		for i := range int(n) {
			counts[i], want[i] = 1, 1
		}
		require.Equal(t, want, store.Shares(counts, n), "%d of one each", n)
	}
	require.Equal(t, map[int]int64{0: 0, 1: 7}, store.Shares(map[int]int64{0: 0, 1: 3}, 7))
	require.Equal(t, map[int]int64{0: 67, 1: 33}, store.Shares(map[int]int64{0: 2, 1: 1}, 100))
}

// A salience at an edge belongs to the bucket that ends there.
func TestSalienceAtTheEdges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.measured("t", 100)
	_, err := w.owner.Exec(ctx,
		`UPDATE memories SET pinned = true, salience = right(content, 1)::int / 10.0 WHERE tenant = 't'`)
	require.NoError(t, err)
	require.Equal(t, [admin.SalienceBuckets]int64{20, 10, 10, 10, 10, 10, 10, 10, 10, 0}, w.metrics("t").Salience)
}
