package main_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

// cacheMiss matches the metric of a run that was replayed from its history.
var cacheMiss = regexp.MustCompile(`(?m)^temporal_sticky_cache_miss_total\{[^}]*workflow_type="Ingest"\} [1-9]`)

// Every setting of the environment has its effect.
func TestEverySettingHasItsEffect(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	db := testkit.Owner(t, url)
	at := newPlace(t, url)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	exec := func(sql string, args ...any) {
		_, err := db.Exec(ctx, sql, args...)
		require.NoError(t, err)
	}
	ingest := func(p schema.Principal) api.IngestResult {
		started, err := mneme.StartIngest(ctx, at.client, at.queue,
			testkit.Request(p, schema.SourceUserInput, "Nadia works at Corvex. Nadia lives in Bergen."))
		require.NoError(t, err)
		return harness.Wait(t, started.Run)
	}

	const rate, batch = 0.5, 3
	first := harness.StartProcess(t, at.with(map[string]string{"MNEME_GRAPH": "false", "MNEME_IMPORTANCE_DECAY": "0.5",
		"MNEME_SWEEP_BATCH": strconv.Itoa(batch), "MNEME_ACTIVITY_SLOTS": "7", "MNEME_WORKFLOW_CACHE": "1"}))
	_, metrics := get(t, first, "/metrics")
	require.Regexp(t, `temporal_worker_task_slots_available\{[^}]*worker_type="ActivityWorker"[^}]*\} 7\n`, metrics,
		"MNEME_ACTIVITY_SLOTS")
	p := testkit.Principal()
	result := ingest(p)
	require.Positive(t, result.Written.Added)
	require.Zero(t, testkit.Rows(t, db, "entities", ""), "MNEME_GRAPH")

	exec(`UPDATE memories SET importance = 0.8, created_at = now() - interval '2 days',
		recorded_at = now() - interval '2 days'`)
	run, err := mneme.StartRecall(ctx, at.client, at.queue,
		schema.RecallRequest{Principal: p, Query: "where does Nadia live"})
	require.NoError(t, err)
	answer, err := mneme.Outcome[schema.RecallResponse](ctx, run)
	require.NoError(t, err)
	require.NotEmpty(t, answer.Results)
	require.InDelta(t, memory.Importance(0.8, 48*time.Hour, rate, false), answer.Results[0].ImportanceNow, 1e-3,
		"MNEME_IMPORTANCE_DECAY")

	exec(`CREATE TABLE seen (tx bigint)`)
	exec(`CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO seen VALUES (txid_current()); RETURN NULL; END $$`)
	exec(`CREATE TRIGGER zzz_see AFTER DELETE ON retrievals FOR EACH ROW EXECUTE FUNCTION see()`)
	exec(`INSERT INTO retrievals (tenant, id, agent_id, query_hash, memory_ids, took_ms, created_at)
		SELECT $1, gen_random_uuid(), $2, 'h', '{}', 1, now() - interval '60 days' FROM generate_series(1, 10)`,
		p.Tenant, p.Agent)
	run, err = mneme.StartRetentionPurge(ctx, at.client, at.queue, api.SweepInput{Tenant: p.Tenant})
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	var most int
	require.NoError(t, db.QueryRow(ctx,
		`SELECT max(n) FROM (SELECT count(*) AS n FROM seen GROUP BY tx) x`).Scan(&most))
	require.Equal(t, batch, most, "MNEME_SWEEP_BATCH")

	// A failed change is retried after the delay of its key, which is not a setting but is part of the worker, too.
	exec(`CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken by the test'; END $$`)
	exec(`CREATE TRIGGER broken BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION broken()`)
	started, err := mneme.StartIngest(ctx, at.client, at.queue,
		testkit.Request(p, schema.SourceMemory, "The ferry sails at noon."))
	require.NoError(t, err)
	require.NoError(t, testkit.Eventually(ctx, func() error {
		d, err := at.client.DescribeWorkflowExecution(ctx, started.ID, started.RunID)
		if err != nil {
			return err
		}
		for _, a := range d.GetPendingActivities() {
			if a.GetNextAttemptScheduleTime() == nil || a.GetLastAttemptCompleteTime() == nil {
				continue
			}
			delay := lifecycle.RetryDelay(int(a.GetAttempt())-1, started.ID+"/"+started.RunID+"/"+a.GetActivityId())
			require.WithinDuration(t, a.GetLastAttemptCompleteTime().AsTime().Add(delay),
				a.GetNextAttemptScheduleTime().AsTime(), 5*time.Millisecond)
			return nil
		}
		return context.DeadlineExceeded // no change has failed yet
	}))
	// Two runs are open at times, and the cache has room for one.
	second, err := mneme.StartIngest(ctx, at.client, at.queue,
		testkit.Request(p, schema.SourceMemory, "The ferry rests on Sundays."))
	require.NoError(t, err)
	require.NoError(t, testkit.Eventually(ctx, func() error {
		_, metrics := get(t, first, "/metrics")
		if !cacheMiss.MatchString(metrics) {
			return errors.New("MNEME_WORKFLOW_CACHE: no run had to leave the memory")
		}
		return nil
	}))
	exec(`DROP TRIGGER broken ON jobs`)
	harness.Wait(t, started.Run)
	harness.Wait(t, second.Run)
	require.NoError(t, first.Terminate(t, 25*time.Second))

	harness.StartProcess(t, at.with(map[string]string{"MNEME_PIPELINE": "false"}))
	q := testkit.Principal()
	result = ingest(q)
	require.Equal(t, []int{0, 1}, []int{result.Extracted.Facts, result.Extracted.Warnings}, "MNEME_PIPELINE")
	require.Len(t, result.MemoryIDs, 1)
}

// However many activities run, the setting limits the concurrent calls to a model.
func TestModelCallsAreLimited(t *testing.T) {
	t.Parallel()
	var now, most, calls atomic.Int32
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		n := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		calls.Add(1)
		time.Sleep(time.Second) // longer than the start of the next run takes
		return testkit.FactsOf("It is known that " + call.Data)
	})
	at := newPlace(t, testkit.DatabaseURL(t))
	harness.StartProcess(t, at.with(map[string]string{"MNEME_BRAIN": "openai", "MNEME_OPENAI_BASE_URL": model.URL,
		"MNEME_OPENAI_CHAT_MODEL": "test-model",
		"MNEME_MODEL_CONCURRENCY": "1"}))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var runs []mneme.Started
	for i := range 4 {
		started, err := mneme.StartIngest(ctx, at.client, at.queue,
			testkit.Request(testkit.Principal(), schema.SourceObservation, "Hall "+strconv.Itoa(i)+" is long."))
		require.NoError(t, err)
		runs = append(runs, started)
	}
	for _, started := range runs {
		require.Zero(t, harness.Wait(t, started.Run).Dead)
	}
	require.GreaterOrEqual(t, calls.Load(), int32(4))
	require.EqualValues(t, 1, most.Load(), "calls at once")
}
