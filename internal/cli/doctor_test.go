package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/doctor"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// quietSchedules are schedules that start no run during a test.
const quietSchedules = `
schedules:
  - {name: decay, every: 24h}
  - {name: retention, every: 24h}
  - {name: sync_index, every: 24h}
  - {name: drift, every: 24h}
  - {name: topics, every: 24h}
  - {name: consolidation, every: 24h}
`

// patient is a healthy installation, in its own database and namespace.
type patient struct {
	t         *testing.T
	cli       *cli
	db        *pgx.Conn
	st        *store.Store
	temporal  client.Client
	schedules mneme.Schedules
	specs     []mneme.ScheduleSpec
	memory    string
	since     time.Duration // by which the doctor's clock is ahead
	adjust    func(*app.App)
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	ctx := t.Context()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	h := harness.NewAt(t, testkit.FreshDatabaseURL(t), c, nil)
	p := &patient{t: t, cli: newCLI(t, h), db: testkit.Owner(t, h.DatabaseURL), st: h.Store, temporal: c,
		schedules: mneme.Schedules{Client: c, Namespace: namespace, TaskQueue: h.TaskQueue, Index: vector.PGVectorName}}
	p.cli.cfg.TemporalEnv = temporalAt(address, namespace)
	p.cli.cfg.Namespace, p.cli.cfg.ReadyJobAge, p.cli.cfg.ReadyIndexLag = namespace, 15*time.Minute, 15*time.Minute
	_, err := vector.Ensure(ctx, h.Store, h.Deps.Index, h.Deps.Brain.Embedder.Model(), time.Now())
	require.NoError(t, err)
	p.specs, err = mneme.ParseSchedules([]byte(quietSchedules))
	require.NoError(t, err)
	require.NoError(t, p.schedules.Ensure(ctx, p.specs))
	h.Ingest(t, testkit.Request(p.cli.cfg.Principal, schema.SourceMemory, "The doctor sees everybody.",
		"Patience is needed."))
	run, err := p.schedules.Trigger(ctx, mneme.ScheduleSyncIndex)
	require.NoError(t, err)
	require.NoError(t, c.GetWorkflow(ctx, run.WorkflowID, "").Get(ctx, nil))
	require.NoError(t, p.db.QueryRow(ctx,
		`SELECT id::text FROM memories WHERE live ORDER BY id LIMIT 1`).Scan(&p.memory))
	return p
}

// examine runs the doctor.
func (p *patient) examine() doctor.Diagnosis {
	p.t.Helper()
	a := &app.App{In: strings.NewReader(""), Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}, Cfg: p.cli.cfg,
		Probe: p.cli.probe, Timeout: 30 * time.Second}
	if p.adjust != nil {
		p.adjust(a)
	}
	defer a.Close()
	d := &doctor.Doctor{A: a, Specs: p.specs, Now: func() time.Time { return time.Now().Add(p.since) }}
	return d.Examine(p.t.Context())
}

// complaints are the checks that are not ok, without those that are skipped.
func complaints(d doctor.Diagnosis) map[string]doctor.CheckStatus {
	out := map[string]doctor.CheckStatus{}
	for _, f := range d.Checks {
		if f.Status == doctor.CheckWarn || f.Status == doctor.CheckFail {
			out[f.Check] = f.Status
		}
	}
	return out
}

func (p *patient) exec(query string, args ...any) {
	p.t.Helper()
	_, err := p.db.Exec(p.t.Context(), query, args...)
	require.NoError(p.t, err)
}

func (p *patient) handle(id string) client.ScheduleHandle {
	return p.temporal.ScheduleClient().GetHandle(p.t.Context(), id)
}

func (p *patient) keepHistories(d time.Duration) {
	p.t.Helper()
	_, err := p.temporal.WorkflowService().UpdateNamespace(p.t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: p.cli.cfg.Namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(d)}})
	require.NoError(p.t, err)
}

// fault is a fault that is planted in a healthy installation.
type fault struct {
	name  string
	plant func()
	undo  func()
	check string // the only check that must fail
	as    doctor.CheckStatus
	found string // part of the finding
	do    string // part of the advice
}

// A healthy installation has no complaints. Each planted fault is found by its check, and only by that one, with
// advice; after the fault is removed, there are no complaints.
func TestDoctorFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	ctx := t.Context()
	healthy := p.examine()
	require.Empty(t, complaints(healthy), "%+v", healthy.Checks)
	require.True(t, healthy.OK)
	require.Len(t, healthy.Checks, len(doctor.DoctorChecks()))
	require.Zero(t, healthy.Counts[doctor.CheckSkipped], "%+v", healthy.Checks)

	file := writeFile(t, quietSchedules)
	var printed doctor.Diagnosis
	p.cli.run("doctor", "--json", "--schedules", file).is(app.ExitOK).json(&printed)
	require.True(t, printed.OK)
	require.Contains(t, p.cli.run("doctor", "--schedules", file).is(app.ExitOK).out, "row_level_security")
	p.cli.run("doctor", "--json").is(app.ExitPartial).json(&printed) // compares with the default schedules
	require.Equal(t, map[string]doctor.CheckStatus{"schedules_differ": doctor.CheckWarn}, complaints(printed))

	open, none := "open-"+uuid.NewString(), "none-"+uuid.NewString()
	_, err := p.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: open, TaskQueue: "nobody"}, "Nothing")
	require.NoError(t, err)
	tenant, ago := p.cli.cfg.Principal.Tenant, func(d time.Duration) time.Time { return time.Now().Add(-d) }
	job := func(state, workflow string, age time.Duration) func() {
		return func() {
			var finished *time.Time
			if at := ago(age); state == "dead" {
				finished = &at
			}
			p.exec(`INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id,
				max_attempts, created_at, updated_at, finished_at)
				VALUES ($1, $2, 'ingest', $3, 'extract', $2, $2, $2, $4, 3, $5, $5, $6)`, tenant, uuid.New(), state,
				workflow, ago(age), finished)
		}
	}
	forget := func(workflow string) func() {
		return func() {
			p.exec(`INSERT INTO forget_runs (tenant, id, workflow_id, agent_id, mode, state, total, digest, reason,
				requested_by, confirmed_by, confirmed_at, expires_at, created_at)
				VALUES ($1, $2, $3, 'bot', 'erase', 'confirmed', 1, '', '', 'bot', 'bot', $4, $4, $4)`, tenant,
				uuid.New(), workflow, ago(10*time.Minute))
		}
	}
	noJobs := func() { p.exec(`DELETE FROM jobs WHERE state <> 'completed'`) }
	sql := func(query string, args ...any) func() { return func() { p.exec(query, args...) } }
	onto := func(queue string, specs ...mneme.ScheduleSpec) {
		s := p.schedules
		s.TaskQueue, s.TakeOver = queue, true
		_, err := s.Apply(ctx, specs)
		require.NoError(t, err)
	}
	well := func() { onto(p.schedules.TaskQueue, p.specs...) }
	// The doctor's advice for a job without a run works.
	principal := p.cli.cfg.Principal
	ack, err := p.st.Stage(ctx, pipeline.StageInput{OperationID: none, WorkflowID: none, MaxAttempts: 3,
		Now: time.Now(), Policy: proposals.DefaultWritePolicy(),
		Request: schema.IngestRequest{Principal: principal, Visibility: schema.VisibilityPrivate,
			Candidates: []schema.Candidate{{Content: "Nobody works on this.", SourceKind: schema.SourceMemory}}}})
	require.NoError(t, err)
	var left string
	require.NoError(t, p.db.QueryRow(ctx, `SELECT id::text FROM jobs WHERE batch_id::text = $1`,
		ack.BatchID).Scan(&left))
	require.Contains(t, p.cli.run("jobs", "retry", left).is(app.ExitFailure).err, "only a dead job",
		"its run may be to begin")
	p.exec(`UPDATE jobs SET created_at = $1 WHERE id::text = $2`, ago(10*time.Minute), left)
	require.Contains(t, complaints(p.examine()), "jobs_orphaned")
	p.cli.run("jobs", "retry", left, "--wait").is(app.ExitOK)

	cfg := p.cli.cfg
	healed := func() { p.cli.cfg, p.adjust, p.since = cfg, nil, 0 }
	var endpoint mneme.Endpoint

	for _, f := range []fault{
		{"a setting that cannot be read", func() {
			p.adjust = func(a *app.App) { a.CfgErr = errors.New("configuration: MNEME_MODE must be one of these") }
		}, healed,
			"configuration", doctor.CheckFail, "MNEME_MODE", "Correct"},
		{"invalid rules", func() { p.cli.cfg.PolicyFile = writeFile(t, "rules: [{name: x}]") }, healed,
			"policy_file", doctor.CheckFail, "rules[0] (x).when", "policy check"},
		{"Postgres away", func() { p.cli.cfg.DatabaseURL = "postgres://u:secret@127.0.0.1:1/x" }, healed, "postgres",
			doctor.CheckFail, "does not answer", "make up"},
		{"a migration missing", sql(`DELETE FROM goose_db_version WHERE version_id = $1`, migrations.Latest()),
			sql(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`,
				migrations.Latest()), "migrations", doctor.CheckFail, fmt.Sprintf("of %d",
				migrations.Latest()), "migrate up"},
		{"a schema from the future", sql(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`,
			migrations.Latest()+1),
			sql(`DELETE FROM goose_db_version WHERE version_id > $1`,
				migrations.Latest()), "migrations", doctor.CheckWarn, "this program knows", "Update this program"},
		{"a clock that is ahead", func() { p.since = 10 * time.Second }, healed, "clock", doctor.CheckWarn,
			"behind this machine", "NTP"},
		{"a clock far behind", func() { p.since = -2 * time.Minute }, healed, "clock", doctor.CheckFail,
			"ahead of this machine", "NTP"},
		{"a table of the application's own", sql(`ALTER TABLE proposals OWNER TO mneme_app`),
			sql(`ALTER TABLE proposals OWNER TO CURRENT_USER`),
			"database_role", doctor.CheckFail, "owns 1 tables", "OWNER TO"},
		{"an old extension", sql(`UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'`),
			sql(`UPDATE pg_extension SET extversion = '0.8.0' WHERE extname = 'vector'`),
			"extensions", doctor.CheckFail, "vector 0.7.4 (needs 0.8.0)", "ALTER EXTENSION"},
		{"row-level security disabled", sql(`ALTER TABLE entities DISABLE ROW LEVEL SECURITY`),
			sql(`ALTER TABLE entities ENABLE ROW LEVEL SECURITY`),
			"row_level_security", doctor.CheckFail, "entities", "ENABLE ROW LEVEL SECURITY"},
		{"a policy that shows every tenant", sql(`CREATE POLICY everything ON entities FOR SELECT USING (true)`),
			sql(`DROP POLICY everything ON entities`), "row_level_security", doctor.CheckFail, "entities", "DROP POLICY"},
		{"a policy that admits every tenant's rows", sql(`CREATE POLICY anything ON jobs FOR INSERT TO mneme_app
			WITH CHECK (tenant <> '')`),
			sql(`DROP POLICY anything ON jobs`), "row_level_security", doctor.CheckFail, "jobs", "DROP POLICY"},
		{"a history that can be overwritten",
			sql(`ALTER TABLE memory_history DISABLE TRIGGER memory_history_append_only`),
			sql(`ALTER TABLE memory_history ENABLE TRIGGER memory_history_append_only`), "append_only",
			doctor.CheckFail, "memory_history_append_only", "ENABLE TRIGGER"},
		{"a half-built index", sql(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'jobs_dead'::regclass`),
			sql(`UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'jobs_dead'::regclass`), "invalid_indexes",
			doctor.CheckFail, "jobs_dead", "REINDEX"},
		{"a table without statistics", func() {
			p.exec(`ALTER TABLE lexeme_stats SET (autovacuum_enabled = false)`) // which would analyze it
			p.exec(`INSERT INTO lexeme_stats (tenant, lexeme, docs) SELECT 'nobody', n::text, 1
				FROM generate_series(1, 1500) n`)
			p.exec(`SELECT pg_stat_force_next_flush()`)
			p.exec(`SELECT 1`)
		}, func() {
			p.exec(`DELETE FROM lexeme_stats WHERE tenant = 'nobody'`)
			p.exec(`ANALYZE lexeme_stats`)
			p.exec(`ALTER TABLE lexeme_stats RESET (autovacuum_enabled)`)
		}, "statistics", doctor.CheckWarn, "lexeme_stats", "ANALYZE"},

		{"Temporal away", func() {
			p.cli.cfg.TemporalEnv = noTemporal()
			p.adjust = func(a *app.App) { a.Timeout = time.Second }
		}, healed, "temporal", doctor.CheckFail, "Temporal", "make up"},
		{"histories that outlast a purge", func() { p.keepHistories(60 * 24 * time.Hour) }, func() {
			p.keepHistories(24 * time.Hour)
		},
			"namespace_retention", doctor.CheckWarn, "60 days",
			"namespace update --namespace " + p.cli.cfg.Namespace + " --retention 720h"},
		{"no worker", func() {
			p.cli.cfg.TaskQueue = "nobody-" + uuid.NewString()
			onto(p.cli.cfg.TaskQueue, p.specs...)
		}, func() { healed(); well() }, "worker", doctor.CheckFail, "no worker polls", "make worker"},
		{"a worker without a key", func() { p.cli.cfg.PayloadKey = []byte(strings.Repeat("k", 32)) }, healed,
			"payload_key", doctor.CheckWarn, "does not encrypt", "MNEME_PAYLOAD_KEY"},
		{"callers that are not authenticated", func() {
			var err error
			endpoint, _, err = mneme.EnsureNexusEndpoint(ctx, p.temporal,
				mneme.Endpoint{Name: "t-" + uuid.NewString(), Namespace: cfg.Namespace, TaskQueue: cfg.TaskQueue},
				false)
			require.NoError(t, err)
		}, func() {
			_, err := p.temporal.OperatorService().DeleteNexusEndpoint(ctx,
				&operatorservice.DeleteNexusEndpointRequest{Id: endpoint.ID, Version: endpoint.Version})
			require.NoError(t, err)
		}, "trust_key", doctor.CheckWarn, "are not authenticated", "MNEME_TRUST_KEY"},
		{"a schedule missing", func() { require.NoError(t, p.handle("drift/pgvector").Delete(ctx)) }, well,
			"schedules_missing", doctor.CheckFail, "drift", "schedules apply"},
		{"a schedule paused by a failure", func() {
			require.NoError(t, p.handle("retention-purge").Pause(ctx,
				client.SchedulePauseOptions{Note: "paused due to workflow failure: retention-purge-1: a wall"}))
		}, func() { require.NoError(t, p.schedules.Resume(ctx, mneme.ScheduleRetention, "")) }, "schedules_failed",
			doctor.CheckFail, "retention (paused due to workflow failure", "schedules resume"},
		{"a schedule paused by a person", func() {
			require.NoError(t, p.schedules.Pause(ctx, mneme.ScheduleDecay, "for the audit"))
		},
			func() { require.NoError(t, p.schedules.Resume(ctx, mneme.ScheduleDecay, "")) }, "schedules_paused",
			doctor.CheckWarn, "decay (for the audit)", "schedules resume"},
		{"a schedule that was changed", func() {
			changed := append([]mneme.ScheduleSpec{}, p.specs...)
			changed[3].Every = time.Hour
			_, err := p.schedules.Apply(ctx, changed)
			require.NoError(t, err)
		}, well, "schedules_differ", doctor.CheckWarn, "drift (every", "schedules apply"},

		{"a schedule of another task queue", func() { onto("elsewhere", p.specs[3]) }, well, "schedules_differ",
			doctor.CheckWarn, "drift (belongs to task queue elsewhere)", "correct MNEME_TASK_QUEUE"},
		{"a schedule of another task queue, and one that was changed", func() {
			changed := append([]mneme.ScheduleSpec{}, p.specs[0])
			changed[0].Every = time.Hour
			onto(p.schedules.TaskQueue, changed...)
			onto("elsewhere", p.specs[3])
		}, well, "schedules_differ", doctor.CheckWarn, "drift (belongs to task queue elsewhere)",
			"a file that names decay only"},
		{"a job that waits too long", job("leased", open, 20*time.Minute), noJobs, "jobs_waiting", doctor.CheckFail,
			"of tenant " + tenant, "jobs show ID --tenant T"},
		{"a dead job", job("dead", open, time.Hour), noJobs, "jobs_dead", doctor.CheckWarn,
			"1 jobs are dead, such as 1 of tenant " + tenant, "`mneme jobs retry ID --tenant T`"},
		{"a job without a run", job("leased", none, 10*time.Minute), noJobs, "jobs_orphaned", doctor.CheckFail,
			"1 open jobs have no run", "jobs retry"},
		{"a forget without a run", forget(none), sql(`DELETE FROM forget_runs`), "forgets_unfinished", doctor.CheckFail,
			"1 confirmed forgets are not done", "forget resume RUN"},
		{"no generation of the index",
			sql(`CREATE TEMP TABLE kept AS SELECT * FROM index_generations; DELETE FROM index_generations`),
			sql(`INSERT INTO index_generations SELECT * FROM kept; DROP TABLE kept`), "index_generation",
			doctor.CheckFail, "no generation", "reindex"},
		{"another embedder than the index's", func() {
			p.cli.cfg.Embedder = "openai"
			p.cli.cfg.OpenAI = openai.Config{BaseURL: "http://127.0.0.1:1/v1", EmbeddingModel: "other",
				EmbeddingDimensions: 8}
		}, healed, "index_generation", doctor.CheckWarn, "other with 8 dimensions", "reindex"},
		{"an abandoned rebuild",
			sql(`INSERT INTO index_generations (id, index_name, model, dims, state, created_at)
				VALUES ($1, 'pgvector', 'next', 8, 'building', $2)`, uuid.New(), ago(time.Hour)),
			sql(`DELETE FROM index_generations WHERE state = 'building'`), "index_rebuild", doctor.CheckWarn,
			"no run continues it", "continues it where it stopped"},
		{"an index far behind",
			sql(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
				VALUES ($1, $2, 1, 'upsert', now() - interval '20 minutes')`, tenant, uuid.New()),
			sql(`DELETE FROM index_outbox`), "index_lag", doctor.CheckFail, "the oldest for 20m", "index status"},
		{"an abandoned change",
			sql(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at, parked_at)
				VALUES ($1, $2, 1, 'upsert', $3, $3)`, tenant, uuid.New(), ago(time.Hour)),
			sql(`DELETE FROM index_outbox`), "index_parked", doctor.CheckWarn, "such as 1 memories of tenant " + tenant,
			"`mneme index retry --tenant T`"},
		{"lost points",
			sql(`CREATE TEMP TABLE kept AS SELECT * FROM memory_embeddings WHERE memory_id::text = '` + p.memory +
				`'; DELETE FROM memory_embeddings WHERE memory_id::text = '` + p.memory + `'`),
			sql(`INSERT INTO memory_embeddings SELECT * FROM kept; DROP TABLE kept`), "index_drift", doctor.CheckWarn,
			"a difference of 1", "index drift"},
		{"decay that does not run", sql(`UPDATE memories SET decay_due_at = $1 WHERE id::text = $2`, ago(72*time.Hour),
			p.memory),
			sql(`UPDATE memories SET decay_due_at = NULL WHERE id::text = $1`,
				p.memory), "decay_overdue", doctor.CheckWarn, "of 1 tenants have been due for more than 48h",
			"schedules trigger decay"},
		{"a sweep that waits for an answer",
			sql(`INSERT INTO sweep_holds (tenant, sweep, would_take, stored, share, asked_at)
				VALUES ($1, 'decay', 90, 100, 0.2, now())`, tenant),
			sql(`DELETE FROM sweep_holds`), "sweep_holds", doctor.CheckWarn, "would remove 90 of 100",
			"mneme sweeps admit SWEEP --tenant T"},
		{"a window shorter than recovery",
			sql(`INSERT INTO retention_policies (tenant, domain, keep, on_expiry, updated_at, updated_by, reason)
				VALUES ($1, 'memory', '7 days', 'purge', now(), 'o', 'r')`, tenant),
			sql(`DELETE FROM retention_policies`), "retention_windows", doctor.CheckWarn, "after 7 days",
			"mneme retention set"},
		{"evidence that no run consolidates", func() {
			for n := range 3 {
				testkit.Build(p.cli.cfg.Principal, n, "linux", testkit.ClearCache(n)).Record(t, p.st)
			}
			p.exec(`UPDATE memories SET created_at = $1, recorded_at = NULL WHERE agent_session_id <> ''`,
				ago(4*time.Hour))
		},
			sql(`INSERT INTO learning_watermarks (tenant, agent_id, workflow, at, memory_id, run_at)
				SELECT tenant, agent_id, 'attempts', now(), id, now() FROM memories WHERE type = 'episodic' LIMIT 1`),
			"evidence_waiting", doctor.CheckWarn, "1 scopes of tenant " + tenant, "`mneme schedules list`"},
		{"evidence that cannot be read", sql(`REVOKE SELECT ON learning_watermarks FROM mneme_app`),
			sql(`GRANT SELECT ON learning_watermarks TO mneme_app`), "evidence_waiting", doctor.CheckFail,
			"it could not be checked", "log"},
		// The last one, because a server takes a while until a removed attribute can be used again.
		{"a search attribute missing", func() {
			_, err := p.temporal.OperatorService().RemoveSearchAttributes(ctx,
				&operatorservice.RemoveSearchAttributesRequest{Namespace: cfg.Namespace,
					SearchAttributes: []string{"MnemeOutcome"}})
			require.NoError(t, err)
		}, func() { require.NoError(t, mneme.RegisterSearchAttributes(ctx, p.temporal, cfg.Namespace)) },
			"search_attributes", doctor.CheckFail, "MnemeOutcome", "Start a worker"},
	} {
		t.Run(f.name, func(t *testing.T) {
			f.plant()
			d := p.examine()
			f.undo()
			require.Equal(t, map[string]doctor.CheckStatus{f.check: f.as}, complaints(d), "%+v", d.Checks)
			require.False(t, d.OK)
			for _, c := range d.Checks {
				require.NotContains(t, c.Found+c.Do, "secret", c.Check)
				if c.Check == f.check {
					require.Contains(t, c.Found, f.found)
					require.Contains(t, c.Do, f.do)
				}
			}
		})
	}
	// Callers that are bound to their tenants are no reason to complain.
	endpoint, _, err = mneme.EnsureNexusEndpoint(ctx, p.temporal,
		mneme.Endpoint{Name: "t-" + uuid.NewString(), Namespace: cfg.Namespace, TaskQueue: cfg.TaskQueue}, false)
	require.NoError(t, err)
	p.cli.cfg.Callers, err = workflows.ParseCallers("namespace:shop=acme")
	require.NoError(t, err)
	require.Empty(t, complaints(p.examine()))
	healed()
	_, err = p.temporal.OperatorService().DeleteNexusEndpoint(ctx,
		&operatorservice.DeleteNexusEndpointRequest{Id: endpoint.ID, Version: endpoint.Version})
	require.NoError(t, err)

	after := p.examine()
	require.Empty(t, complaints(after), "%+v", after.Checks)

	// A due run is late after the interval of its schedule; a calendar has no interval.
	overdue := func() doctor.Finding {
		for _, f := range p.examine().Checks {
			if f.Check == "decay_overdue" {
				return f
			}
		}
		return doctor.Finding{}
	}
	sql(`UPDATE memories SET decay_due_at = $1 WHERE id::text = $2`, ago(40*time.Hour), p.memory)()
	require.Equal(t, doctor.CheckOK, overdue().Status)
	// A confirmation of a sweep does not mean that rows are due.
	p.exec(`INSERT INTO sweep_holds (tenant, sweep, would_take, stored, share, asked_at, admitted, answered_by, reason,
		answered_at)
		VALUES ($1, 'decay', 90, 100, 0.2, now(), 90, 'o', 'r', now())`, tenant)
	require.Equal(t, doctor.CheckOK, overdue().Status)
	sql(`UPDATE memories SET decay_due_at = $1 WHERE id::text = $2`, ago(72*time.Hour), p.memory)()
	require.Equal(t, doctor.CheckWarn, overdue().Status, "and does not hide them")
	p.exec(`DELETE FROM sweep_holds`)
	nightly, err := mneme.ParseSchedules([]byte("schedules: [{name: decay, calendar: [{hour: 3}]}]"))
	require.NoError(t, err)
	onto(p.schedules.TaskQueue, nightly...)
	require.Equal(t, doctor.CheckSkipped, overdue().Status)
	onto(p.schedules.TaskQueue, p.specs[0])

	// If there is no time to check every job, the finding gives the number that was checked.
	for range 3 {
		job("leased", none, 10*time.Minute)()
	}
	// one run, and two replays
	d := &doctor.Doctor{A: &app.App{Cfg: p.cli.cfg}, Now: time.Now, Store: p.st,
		Client: &stuck{Client: p.temporal, after: 3}}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	v, err := d.JobsOrphaned(short)
	require.NoError(t, err)
	require.Equal(t, doctor.CheckFail, v.Status)
	require.Contains(t, v.Found, "2 open jobs have no run (of the first 2 open jobs)")
}
