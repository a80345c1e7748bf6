package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/sweeping"
	"github.com/mneme/mneme/workflows"
)

var sweepingOf *activities.Sweeping

// faded puts memories that have been due for weeks, and returns their ids.
func faded(t testing.TB, h *harness.Harness, p schema.Principal, n int) []string {
	t.Helper()
	long := time.Now().Add(-60 * 24 * time.Hour).UTC()
	req := schema.PutRequest{Operation: schema.Operation{Principal: p}}
	for i := range n {
		m := testkit.RecordGen(schema.TypeEpisodic).Example(i)
		m.ID, m.Tenant, m.Agent, m.Project, m.Scope, m.PolicyGroup, m.ExternalID, m.WorldID, m.WorldVersion, m.Relations = uuid.NewString(), p.Tenant, p.Agent, "", "", "", "", "", "", nil
		m.Content, m.Payload = fmt.Sprintf("An old note, %s.",
			m.ID), []byte(fmt.Sprintf(`{"kind":"episodic","timeline":[{"t":"2026-01-01T00:00:00Z","event_kind":"note","ref":"evt://%d"}]}`, i))
		m.Visibility, m.Sensitivity, m.Status, m.SupersededBy, m.Supersedes = schema.VisibilityPrivate, schema.SensitivityLow, schema.StatusActive, "", ""
		m.CreatedAt, m.UpdatedAt, m.OccurredAt, m.SalienceAt, m.Salience = long, long, long, long, 1
		m.Lifecycle = schema.Lifecycle{LastReinforcedAt: long, DeletionPolicy: schema.DeleteAutoPrune,
			Decay: schema.DecayProfile{Curve: schema.CurveExponential, HalfLifeSeconds: 3600, MinSalience: 0.05,
				ReinforcementGain: 0.1}}
		req.Records = append(req.Records, m)
	}
	run, err := mneme.StartPut(context.Background(), h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	out, err := mneme.Outcome[schema.PutResult](context.Background(), run)
	require.NoError(t, err)
	var ids []string
	for _, item := range out.Items {
		require.Equal(t, schema.PutCreated, item.Status)
		ids = append(ids, item.ID)
	}
	return ids
}

// sweep runs a sweep under a unique id.
func sweep(t testing.TB, h *harness.Harness, fn any, in api.SweepInput) (client.WorkflowRun, api.SweepResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := h.Temporal.ExecuteWorkflow(ctx, clientOptions("sweep", h.TaskQueue), fn, in)
	require.NoError(t, err)
	var out api.SweepResult
	err = run.Get(ctx, &out)
	return run, out, err
}

// Decayed memories become tombstones, and tombstones are deleted after their window, for every tenant, by the workflows
// that schedules start.
func TestSweepsOfEveryTenant(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	owner := testkit.Owner(t, h.DatabaseURL)
	p, q := testkit.Principal(), testkit.Principal()
	faded(t, h, p, 5)
	faded(t, h, q, 3)
	run, out, err := sweep(t, h, workflows.DecaySweep, api.SweepInput{})
	require.NoError(t, err)
	require.Equal(t, []any{true, 2, 8}, []any{out.Done, out.Tenants, out.Counts["pruned"]})
	require.Equal(t, api.OutcomeOK, attributeOf(t, h, run, mneme.AttrOutcome))
	_, out, err = sweep(t, h, workflows.RetentionPurge, api.SweepInput{})
	require.NoError(t, err)
	require.Zero(t, out.Counts["tombstones"])
	_, err = owner.Exec(context.Background(), `UPDATE memories SET deleted_at = deleted_at - interval '40 days'`)
	require.NoError(t, err)
	_, out, err = sweep(t, h, workflows.RetentionPurge, api.SweepInput{Tenant: p.Tenant})
	require.NoError(t, err)
	require.Equal(t, []int{1, 5}, []int{out.Tenants, out.Counts["tombstones"]})
	_, out, err = sweep(t, h, workflows.RetentionPurge, api.SweepInput{})
	require.NoError(t, err)
	require.Equal(t, 3, out.Counts["tombstones"])
	require.Zero(t, testkit.Rows(t, owner, "memories", "true"))
	testkit.CheckInvariants(t, owner)

	_, _, err = sweep(t, h, workflows.DecaySweep, api.SweepInput{BatchSize: -1})
	require.ErrorContains(t, err, "batch_size")
}

// A cancelled run ends after its current batch; the next one does the rest, and the result is the same as without the
// cancellation.
func TestSweepCancelledInTheMiddle(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	// A cancellation arrives with the response to a heartbeat.
	h.StartWorkerWith(t, worker.Options{MaxHeartbeatThrottleInterval: 50 * time.Millisecond})
	owner := testkit.Owner(t, h.DatabaseURL)
	p := testkit.Principal()
	const n = 40
	faded(t, h, p, n)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	left := func() int { return testkit.Rows(t, owner, "memories", "live") }
	// A sweep skips locked rows, so the test slows down a table that all batches write to.
	_, err := owner.Exec(ctx,
		`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
		CREATE TRIGGER aaa_slow BEFORE INSERT ON memory_history FOR EACH ROW EXECUTE FUNCTION slow()`)
	require.NoError(t, err)
	run, err := h.Temporal.ExecuteWorkflow(ctx, clientOptions("sweep", h.TaskQueue), workflows.DecaySweep,
		api.SweepInput{Tenant: p.Tenant, BatchSize: 1})
	require.NoError(t, err)
	require.NoError(t, testkit.Eventually(ctx, func() error {
		if left() == n {
			return errors.New("not begun")
		}
		return nil
	}))
	require.NoError(t, h.Temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
	require.Error(t, run.Get(ctx, nil))
	_, err = owner.Exec(ctx, `DROP TRIGGER aaa_slow ON memory_history`)
	require.NoError(t, err)
	require.Positive(t, left(), "cancelled before the end")
	_, _, err = sweep(t, h, workflows.DecaySweep, api.SweepInput{Tenant: p.Tenant})
	require.NoError(t, err)
	require.Zero(t, left())
	require.Equal(t, n, testkit.Rows(t, owner, "memories", "version = 2 AND deleted_at IS NOT NULL"))
	require.Equal(t, n, testkit.Rows(t, owner, "memory_history", "action = 'delete'"))
	testkit.CheckInvariants(t, owner)
}

// An activity that is killed after any batch and restarted has the same result, with or without a heartbeat with its
// position.
func TestSweepActivitiesKilledAtEveryBatch(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	owner := testkit.Owner(t, h.DatabaseURL)
	p, q := testkit.Principal(), testkit.Principal()
	faded(t, h, p, 5)
	faded(t, h, q, 4)
	_, err := owner.Exec(context.Background(),
		`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
			created_at)
		SELECT tenant, gen_random_uuid(), id, 'm', 3, '[1,2,3]', tier, typology, content_hash, now() FROM memories`)
	require.NoError(t, err)
	a := &activities.Sweeping{Store: h.Store}
	type step = func(context.Context, activities.SweepRequest) (api.SweepResult, error)
	for _, act := range []struct {
		run   string
		step  step
		at    time.Time
		sweep schema.Sweep
		did   map[string]int64 // per memory

		failed int // times that removing words failed
	}{
		{"decay", a.SweepDecay, time.Now(), schema.SweepDecay, map[string]int64{"pruned": 1}, 0},
		{"purge", a.PurgeExpired, time.Now().Add(40 * 24 * time.Hour), schema.SweepRetention,
			map[string]int64{"embeddings": 2, "tombstones": 1}, 1},
	} {
		a.Now = func() time.Time { return act.at }
		for kill := range 4 {
			// Its cursor is lost with it.
			out, err := act.step(context.Background(),
				activities.SweepRequest{Run: act.run, At: act.at, MaxBatches: kill + 1, BatchSize: 1})
			require.NoError(t, err)
			require.False(t, out.Done)
		}
		// Postgres fails once, between the last memories of a tenant and their words.
		_, err := owner.Exec(context.Background(),
			`CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'away' USING ERRCODE = '57P01'; END $$;
			CREATE TRIGGER away BEFORE DELETE ON lexeme_stats EXECUTE FUNCTION away()`)
		require.NoError(t, err)
		failed := 0
		var at api.SweepCursor
		for done := false; !done; {
			req := activities.SweepRequest{Run: act.run, At: act.at, MaxBatches: 1, BatchSize: 2, Cursor: at}
			for range 2 { // the first result is lost
				out, err := act.step(context.Background(), req)
				if err != nil {
					failed++
					_, err = owner.Exec(context.Background(), `DROP TRIGGER away ON lexeme_stats`)
					require.NoError(t, err)
					break
				}
				at, done = out.Cursor, out.Done
			}
		}
		require.Equal(t, act.failed, failed)
		_, err = owner.Exec(context.Background(), `DROP FUNCTION away CASCADE`)
		require.NoError(t, err)
		for tenant, n := range map[string]int64{p.Tenant: 5, q.Tenant: 4} {
			runs, err := h.Store.SweepRuns(context.Background(), tenant, act.sweep, 10)
			require.NoError(t, err)
			require.Len(t, runs, 1)
			require.NotContains(t, runs[0].Counts, "without_words",
				"internal counters are not reported")
			for what, times := range act.did {
				require.Equal(t, n*times, runs[0].Counts[what], what)
			}
		}
	}
	require.Zero(t, testkit.Rows(t, owner, "memories", "true"))
	require.Zero(t, testkit.Rows(t, owner, "memory_embeddings", "true"))
	require.Zero(t, testkit.Rows(t, owner, "lexeme_stats", "true"))
	testkit.CheckInvariants(t, owner)
}

// purgeable is a tenant that deleted everything two hours ago, which is more than a purge removes without confirmation.
type purgeable struct {
	h        *harness.Harness
	p        schema.Principal
	owner    *pgx.Conn
	n        int
	at       time.Time
	env      *testsuite.TestActivityEnvironment
	sweeping activities.Sweeping
}

func newPurgeable(t *testing.T) *purgeable {
	t.Helper()
	h := harness.New(t, nil)
	x := &purgeable{h: h, p: testkit.Principal(), owner: testkit.Owner(t, h.DatabaseURL), n: lifecycle.SweepFree + 10,
		at: time.Now().Add(2 * time.Hour)}
	for range 2 {
		faded(t, h, x.p, x.n/2)
	}
	_, err := x.owner.Exec(context.Background(),
		`UPDATE memories SET deleted_at = now(); UPDATE corpus_stats SET docs = 0`)
	require.NoError(t, err)
	x.sweeping = activities.Sweeping{Store: h.Store, Now: func() time.Time { return x.at }}
	x.env = (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	x.env.RegisterActivity(&x.sweeping)
	return x
}

// part runs a number of batches of a purge.
func (x *purgeable) part(t *testing.T, batches int, from api.SweepCursor) (out api.SweepResult) {
	t.Helper()
	value, err := x.env.ExecuteActivity(x.sweeping.PurgeExpired,
		activities.SweepRequest{Run: "purge", At: x.at, Tenant: x.p.Tenant, MaxBatches: batches, Cursor: from})
	require.NoError(t, err)
	require.NoError(t, value.Get(&out))
	return out
}

// keep sets the retention of a domain.
func (x *purgeable) keep(t *testing.T, d schema.RetentionDomain, seconds int64) {
	t.Helper()
	_, err := x.h.Store.SetRetention(context.Background(), x.p.Tenant,
		schema.RetentionPolicy{Domain: d, Tier: schema.Any, Typology: schema.Any, KeepSeconds: seconds,
			OnExpiry: schema.ExpiryPurge, UpdatedBy: "alice", Reason: "a test"}, nil, nil, x.at)
	require.NoError(t, err)
}

func (x *purgeable) admit(t *testing.T, sweep schema.Sweep, n int) {
	t.Helper()
	_, err := x.h.Store.AdmitSweep(context.Background(), x.p.Tenant, sweep, int64(n), "alice", "meant so", x.at)
	require.NoError(t, err)
}

// When a policy is set while a run works on a tenant, the run restarts that tenant and asks for confirmation.
func TestSweepRestartsATenantWhenItsPolicyChanges(t *testing.T) {
	t.Parallel()
	x := newPurgeable(t)
	first := x.part(t, 1, api.SweepCursor{})
	require.Equal(t, x.p.Tenant, first.Cursor.Tenant, "it was confirmed")
	x.keep(t, schema.RetainMemory, 3600)
	rest := x.part(t, 100, first.Cursor)
	require.True(t, rest.Done)
	require.Equal(t, []string{x.p.Tenant}, rest.Held)
	require.Zero(t, rest.Counts["tombstones"])
	require.Equal(t, x.n, testkit.Rows(t, x.owner, "memories", "purging_at IS NULL"))
}

// Memories and history are confirmed separately: an answer about one lets the run proceed with it, and the run reports
// that the other waits.
func TestPurgeProceedsWithConfirmedPart(t *testing.T) {
	t.Parallel()
	x := newPurgeable(t)
	x.keep(t, schema.RetainMemory, 3600)
	x.keep(t, schema.RetainHistory, 3600)
	history := testkit.Rows(t, x.owner, "memory_history", "true")
	first := x.part(t, 100, api.SweepCursor{})
	require.True(t, first.Done)
	require.Equal(t, map[string]int{"held": 1}, first.Counts)

	x.admit(t, schema.SweepRetention, x.n)
	begun := x.part(t, 1, api.SweepCursor{})
	require.Equal(t, x.p.Tenant, begun.Cursor.Tenant, "it was confirmed")
	require.Zero(t, begun.Counts["held"], "counted once, at the end")
	x.keep(t, schema.RetainJobsDead, 7200) // restarts the tenant
	second := x.part(t, 100, begun.Cursor)
	require.True(t, second.Done)
	require.Equal(t, []any{x.n, 1, []string{x.p.Tenant}, 0},
		[]any{second.Counts["tombstones"], second.Counts["held"], second.Held, second.Counts["history"]})
	require.Equal(t, []int{0, history + x.n},
		[]int{testkit.Rows(t, x.owner, "memories", "true"), testkit.Rows(t, x.owner, "memory_history", "true")})

	x.admit(t, schema.SweepHistory, history)
	third := x.part(t, 100, api.SweepCursor{})
	require.True(t, third.Done)
	require.Equal(t, []int{0, history}, []int{third.Counts["held"], third.Counts["history"]})
}

// A tenant that would lose too much is skipped; the others are swept, and the run reports the tenant.
func TestSweepHoldsOneTenant(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p, q := testkit.Principal(), testkit.Principal()
	const n = lifecycle.SweepFree + 20
	for range 2 {
		faded(t, h, p, n/2)
	}
	faded(t, h, q, 3)
	run, out, err := sweep(t, h, workflows.DecaySweep, api.SweepInput{})
	require.NoError(t, err)
	require.Equal(t, []any{3, 1, []string{p.Tenant}}, []any{out.Counts["pruned"], out.Counts["held"], out.Held})
	require.Equal(t, api.OutcomeHeld, attributeOf(t, h, run, mneme.AttrOutcome))
	_, err = h.Store.AdmitSweep(context.Background(), p.Tenant, schema.SweepDecay, 110, "alice", "it is a test",
		time.Now())
	require.NoError(t, err)
	_, out, err = sweep(t, h, workflows.DecaySweep, api.SweepInput{})
	require.NoError(t, err)
	require.Equal(t, 110, out.Counts["pruned"], "only the confirmed memories")
	_, out, err = sweep(t, h, workflows.DecaySweep, api.SweepInput{})
	require.NoError(t, err)
	require.Equal(t, n-110, out.Counts["pruned"], "few memories are left")
}

func attributeOf(t testing.TB, h *harness.Harness, run client.WorkflowRun,
	key temporal.SearchAttributeKeyKeyword) string {
	t.Helper()
	described, err := h.Temporal.DescribeWorkflow(context.Background(), run.GetID(), run.GetRunID())
	require.NoError(t, err)
	value, _ := described.TypedSearchAttributes.GetKeyword(key)
	return value
}

// A tenant whose sweep fails does not prevent the others; the run fails at its end, so that an operator notices.
func TestSweepSkipsAFailingTenant(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	owner := testkit.Owner(t, h.DatabaseURL)
	tenants := []schema.Principal{testkit.Principal(), testkit.Principal(), testkit.Principal()}
	slices.SortFunc(tenants, func(a, b schema.Principal) int { return strings.Compare(a.Tenant, b.Tenant) })
	for _, p := range tenants {
		faded(t, h, p, 2)
	}
	_, err := owner.Exec(context.Background(),
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken by the test'; END $$;
		CREATE TRIGGER aaa_refuse BEFORE UPDATE ON memories FOR EACH ROW WHEN (OLD.tenant = '`+tenants[0].Tenant+
			`') EXECUTE FUNCTION refuse()`)
	require.NoError(t, err)
	_, _, err = sweep(t, h, workflows.DecaySweep, api.SweepInput{})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeTenantsFailed, app.Type())
	var failed []string
	require.NoError(t, app.Details(&failed))
	require.Equal(t, []string{tenants[0].Tenant}, failed)
	require.Equal(t, 2, testkit.Rows(t, owner, "memories", "live"), "those of the tenant that failed")
}

// With a clock ahead of the database's clock, nothing is removed.
func TestSweepWithAClockAhead(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	a := &activities.Sweeping{Store: h.Store}
	for _, step := range []func(context.Context, activities.SweepRequest) (api.SweepResult, error){a.SweepDecay,
		a.PurgeExpired} {
		_, err := step(context.Background(),
			activities.SweepRequest{Run: "run", At: time.Now().Add(time.Hour), MaxBatches: 10})
		require.ErrorIs(t, err, sweeping.ErrClockAhead)
		_, err = step(context.Background(),
			activities.SweepRequest{Run: "run", At: time.Now().Add(-time.Hour), MaxBatches: 10})
		require.NoError(t, err)
	}
}

// After a number of batches, or when Temporal suggests it, a run continues as new from its position with its start
// time.
func TestSweepContinuesAsNew(t *testing.T) {
	t.Parallel()
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	began := env.Now()
	part := api.SweepResult{Tenants: 1, Batches: 400, Counts: map[string]int{"pruned": 200_000}, Held: []string{"x"},
		Cursor: api.SweepCursor{After: "a", Tenant: "b", Step: lifecycle.PurgeHistory}}
	calls := 0
	env.OnActivity(sweepingOf.PurgeExpired, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.SweepRequest) (api.SweepResult, error) {
		if calls++; calls > 1 {
			require.Equal(t, part.Cursor, in.Cursor)
		}
		require.WithinDuration(t, began, in.At, time.Minute)
		return part, nil
	})
	env.ExecuteWorkflow(workflows.RetentionPurge, api.SweepInput{BatchSize: 7})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	var in api.SweepInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Equal(t, []any{100, 100, 20_000_000, 7, part.Cursor, 20},
		[]any{calls, in.Sofar.Tenants, in.Sofar.Counts["pruned"], in.BatchSize, in.Sofar.Cursor, len(in.Sofar.Held)})
	require.NotNil(t, in.At)

	// A permanent failure fails the run.
	env = harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	env.OnActivity(sweepingOf.SweepDecay, mock.Anything, mock.Anything).Return(api.SweepResult{},
		temporal.NewNonRetryableApplicationError("broken", api.ErrTypeInvalidRequest, nil))
	env.ExecuteWorkflow(workflows.DecaySweep, api.SweepInput{})
	require.ErrorContains(t, env.GetWorkflowError(), "broken")
}

// recordSweeps records a run of each sweep.
func recordSweeps(t *testing.T, h *harness.Harness) {
	p := testkit.Principal()
	faded(t, h, p, 3)
	run, _, err := sweep(t, h, workflows.DecaySweep, api.SweepInput{Tenant: p.Tenant})
	require.NoError(t, err)
	record(t, h, "decay-sweep", run.GetID(), run.GetRunID())
	run, _, err = sweep(t, h, workflows.RetentionPurge, api.SweepInput{Tenant: p.Tenant})
	require.NoError(t, err)
	record(t, h, "retention-purge", run.GetID(), run.GetRunID())
}
