package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/vector"
)

// Tests that change the time limit of an attempt are not parallel, because the limit is global.

// slowIndexes makes each index build in Postgres take a while.
func (w *world) slowIndexes(seconds float64) *indexing.Indexing {
	w.t.Helper()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: vector.PGVector{Store: w.store}}
	w.active(a.Index)
	w.remember("t", "The harbour has nine berths.")
	w.exec(`CREATE TABLE builds (class text)`)
	w.exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION mneme_build_vector_index(model text, dims integer, tier text, typology text, rebuild boolean)
		RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
		BEGIN INSERT INTO builds VALUES (tier || ' ' || typology); PERFORM pg_sleep(%g); RETURN true; END $$`, seconds))
	return a
}

// An index build at the start of a comparison is one long statement, which has its own limit.
func TestAnIndexBuildIsNotAStall(t *testing.T) {
	defer activities.StalledAfter(300 * time.Millisecond)()
	w := newWorld(t)
	a := w.slowIndexes(0.8)
	out, err := run[indexing.CompareResult](w, a.CompareMemories, api.CompareRequest{MaxPages: 5, Repair: true})
	require.NoError(t, err)
	require.True(t, out.Done)

	defer activities.LongStatement(300 * time.Millisecond)()
	_, err = run[indexing.CompareResult](w, a.CompareMemories, api.CompareRequest{MaxPages: 5, Repair: true})
	stalls(t, err)
}

// Each of several long statements has the whole limit.
func TestEachIndexThatIsBuiltIsProgress(t *testing.T) {
	defer activities.LongStatement(700 * time.Millisecond)()
	w := newWorld(t)
	a := w.slowIndexes(0.4)
	g := w.active(a.Index)
	require.NoError(t, w.do(a.RebuildIndexes, indexing.GenerationRequest{Generation: g.ID.String()}))
	require.Equal(t, 5, w.count("builds", "true"))
	require.Equal(t, map[string]any{"parts": 5.0}, w.lastBeat())

	w.env.SetHeartbeatDetails(map[string]any{"parts": 3}) // from an interrupted attempt
	require.NoError(t, w.do(a.RebuildIndexes, indexing.GenerationRequest{Generation: g.ID.String()}))
	require.Equal(t, 7, w.count("builds", "true"), "finished indexes are not built again")
}

func stalls(t *testing.T, err error) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeStalled, app.Type())
	require.False(t, app.NonRetryable())
}

// slowly delays the statements of a kind on a table, for each row.
func (w *world) slowly(table, event string, seconds float64) {
	w.t.Helper()
	w.exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION slow_%[1]s() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_sleep(%[3]g); IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$;
		CREATE TRIGGER slow BEFORE %[2]s ON %[1]s FOR EACH ROW EXECUTE FUNCTION slow_%[1]s()`, table, event, seconds))
}

// A long loop of small steps is progress: pages removed from the index, and words removed from the statistics.
func TestForgettingManyPagesIsProgress(t *testing.T) {
	defer activities.StalledAfter(time.Second)()
	w := newWorld(t)
	id := uuid.NewString()
	w.exec(`INSERT INTO forget_runs (tenant, id, workflow_id, agent_id, mode, state, total, digest, requested_by,
		expires_at, created_at, receipt)
		VALUES ('t', '` + id +
		`', 'wf', 'a', 'force', 'confirmed', 2500, '', 'a', now(), now(), '{"forgotten": 2500}')`)
	w.exec(`WITH gone AS (SELECT n, gen_random_uuid() AS id FROM generate_series(1, 2500) n),
		item AS (INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version, outcome) SELECT 't', '` + id +
		`', n, id, 1, 'forgotten' FROM gone)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) SELECT 't', id, 1, 'delete', now() FROM gone`)
	w.exec(`INSERT INTO lexeme_stats (tenant, lexeme, docs) SELECT 't', 'word' || n, 0
		FROM generate_series(1, 25000) n`)
	for _, table := range []string{"index_outbox", "lexeme_stats"} { // five pages of each
		w.exec(`CREATE FUNCTION slow_` + table +
			`() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
			CREATE TRIGGER slow AFTER DELETE ON ` + table + ` FOR EACH STATEMENT EXECUTE FUNCTION slow_` + table + `()`)
	}
	forgetting := &activities.Forgetting{Store: w.store, Index: vector.PGVector{Store: w.store},
		Embedder: rules.New().Embedder}
	began := time.Now()
	require.NoError(t, w.do(forgetting.ForgetVectors, activities.ForgetRef{Tenant: "t", RunID: id}))
	require.Greater(t, time.Since(began), 2*time.Second, "it took longer than an attempt may run without progress")
	require.Zero(t, w.count("index_outbox", "true"))
	require.Zero(t, w.count("lexeme_stats", "docs = 0"))
}

// limited is a store with a stricter limit for statements. It counts the statements that time out.
func (w *world) limited(limit time.Duration) (*store.Store, *atomic.Int32) {
	w.t.Helper()
	var timeouts atomic.Int32
	s, err := store.Open(ctx, pg.Config{URL: w.url, StatementTimeout: limit, TimedOut: func(pg.Class, bool) {
		timeouts.Add(1)
	}})
	require.NoError(w.t, err)
	w.t.Cleanup(s.Close)
	return s, &timeouts
}

// lastBeat returns the details of the last heartbeat, as the next attempt gets them. The test must not be parallel.
func (w *world) lastBeat() (details map[string]any) {
	w.t.Helper()
	last, _ := carried.Load().([]any)
	require.Len(w.t, last, 1)
	encoded, err := json.Marshal(last[0])
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(encoded, &details))
	return details
}

// After a purge statement that times out, the next one removes fewer rows.
func TestPurgeBatchShrinksAfterATimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("t", "Something that is kept.")
	w.exec(`INSERT INTO retrievals (tenant, id, agent_id, query_hash, memory_ids, took_ms, created_at)
		SELECT 't', gen_random_uuid(), 'a', '', '{}', 1, now() - interval '1 year' FROM generate_series(1, 60)`)
	w.slowly("retrievals", "DELETE", 0.02)
	s, timeouts := w.limited(500 * time.Millisecond)
	sweeping := &activities.Sweeping{Store: s}
	req := activities.SweepRequest{Run: "run", At: time.Now(), Tenant: "t", MaxBatches: 100}
	for range 20 {
		out, err := run[api.SweepResult](w, sweeping.PurgeExpired, req)
		require.NoError(t, err)
		require.Empty(t, out.Failed)
		if req.Cursor = out.Cursor; out.Done {
			break
		}
	}
	require.Zero(t, w.count("retrievals", "true"))
	require.EqualValues(t, 5, timeouts.Load(),
		"500, 250, 125, 62 and 31 rows took too long, and these sizes are not tried again")
}

// A purge starts the reviews of late proposals once for each tenant, however many batches the ingests take.
func TestPurgeStartsLateReviewsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	late := w.waiting(1)
	_, settled := w.stage(5)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = now()`)
	at := time.Now().Add(100 * 24 * time.Hour)
	var started []string
	sweeping := &activities.Sweeping{Store: w.store, Now: func() time.Time { return at },
		StartReview: func(_ context.Context, _ client.Client, _, _, batchID string) error {
			started = append(started, batchID)
			return nil
		}}
	out, err := run[api.SweepResult](w, sweeping.PurgeExpired,
		activities.SweepRequest{Run: "run", At: at, Tenant: "t", MaxBatches: 1000, BatchSize: 2})
	require.NoError(t, err)
	require.True(t, out.Done)
	require.Zero(t, w.count("memory_candidates", "batch_id = '"+settled.BatchID.String()+"'"))
	require.Equal(t, []string{late.BatchID}, started)
}

// The next attempt, and the next activity for the rest, begin with the size that the search was reduced to.
func TestBatchSizeIsKept(t *testing.T) {
	w := newWorld(t)
	r := w.extracted(16)
	w.exec(`CREATE POLICY slow ON lexeme_stats AS RESTRICTIVE FOR SELECT USING (pg_sleep(0.01)::text IS NOT NULL)`)
	s, timeouts := w.limited(300 * time.Millisecond)
	decision := &activities.Decision{Store: s, Decider: &decider{}, Embedder: rules.New().Embedder}
	out, err := run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.False(t, out.More)
	found := timeouts.Swap(0)
	require.Positive(t, found)
	require.Less(t, out.Group, 16)

	w.exec(`UPDATE memory_candidates SET decided_at = NULL`)
	_, err = run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r, Group: out.Group})
	require.NoError(t, err)
	require.LessOrEqual(t, timeouts.Swap(0), int32(2),
		"at most one try with a larger size, and one more on a busy machine")

	w.exec(`UPDATE memory_candidates SET decided_at = NULL`)
	w.env.SetHeartbeatDetails(w.lastBeat())
	_, err = run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.LessOrEqual(t, timeouts.Load(), int32(2), "another attempt begins with the last size of the previous one")
}

// A small size grows back to the maximum.
func TestBatchSizeGrowsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(60)
	decision := &activities.Decision{Store: w.store, Decider: &decider{}, Embedder: rules.New().Embedder}
	out, err := run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r, Group: 1})
	require.NoError(t, err)
	require.Equal(t, 60, out.Candidates)
	require.Equal(t, 16, out.Group, "after four searches of each size: 4 of 1, 4 of 2, 4 of 4 and 4 of 8 are 60")
}

// A write also begins with the last size.
func TestWriteStartsWithTheLastBatchSize(t *testing.T) {
	write := func(details any) (timeouts int32, last map[string]any) {
		w := newWorld(t)
		r := w.extracted(6)
		decision := &activities.Decision{Store: w.store, Decider: rules.New().Decider, Embedder: rules.New().Embedder}
		_, err := run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r})
		require.NoError(t, err)
		// The size of a batch decides, and not the speed of the machine.
		w.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM changed) > 3 THEN PERFORM pg_sleep(60); END IF; RETURN NULL; END $$`)
		w.exec(`CREATE TRIGGER slow AFTER UPDATE ON proposals REFERENCING NEW TABLE AS changed
			FOR EACH STATEMENT EXECUTE FUNCTION slow()`)
		s, counted := w.limited(2 * time.Second)
		if details != nil {
			w.env.SetHeartbeatDetails(details)
		}
		writing := &activities.Writing{Store: s, Embedder: rules.New().Embedder}
		_, err = run[schema.WriteCounts](w, writing.WriteProposals, activities.WriteRequest{Range: r, MaxRounds: 3})
		require.NoError(t, err)
		require.Zero(t, w.count("proposals", "state = 'proposed'"))
		return counted.Load(), w.lastBeat()
	}
	timeouts, last := write(nil)
	require.Positive(t, timeouts)
	require.Less(t, last["size"], 6.0)
	timeouts, _ = write(last)
	require.Zero(t, timeouts, "another attempt begins with the last size of the previous one")
}

// waiting stages memories, and as many contradictions of them whose review has expired.
func (w *world) waiting(n int) activities.ReviewRef {
	w.t.Helper()
	known := make([]string, n)
	for i := range known {
		known[i] = fmt.Sprintf("Ana likes tea number %d", i)
	}
	targets := w.remember("t", known...)
	_, r := w.stage(n)
	w.exec(`UPDATE memory_candidates SET extraction = '{"facts": []}', decided_at = now(), state = 'done'
		WHERE batch_id = '` + r.BatchID.String() + `'`)
	for i, target := range targets {
		w.exec(fmt.Sprintf(`INSERT INTO proposals (tenant, id, batch_id, candidate_id, ordinal, action, target_id,
			target_version, fact, confidence,
				reason, state, outcome, decided_at, expires_at)
			SELECT 't', gen_random_uuid(), batch_id, id, 0, 'update', '%s', 1,
			'{"content": "Ana does not like tea number %d", "category": "fact", "confidence": 0.9}', 0.9,
				'', 'blocked', 'destructive_mutations_disabled', now(), now() - interval '1 hour'
			FROM memory_candidates WHERE batch_id = '%s' AND ordinal = %d`, target, i, r.BatchID, i))
	}
	return activities.ReviewRef{Tenant: "t", BatchID: r.BatchID.String()}
}

// Proposals expire page by page. Each page is progress, and after a while the rest is left to another attempt.
func TestProposalsExpireByPages(t *testing.T) {
	w := newWorld(t)
	const n = pipeline.ExpirePage + 20
	ref := w.waiting(n)
	reviewing := &activities.Reviewing{Store: w.store, Embedder: rules.New().Embedder,
		Policy: proposals.DefaultWritePolicy()}
	request := activities.ExpireRequest{ReviewRef: ref, Before: time.Now()}
	open := func() int { return w.count("proposals", "state = 'blocked'") }
	require.Equal(t, n, open())

	func() {
		defer activities.PartialAfter(0)()
		out, err := run[activities.ExpireResult](w, reviewing.ExpireProposals, request)
		require.NoError(t, err)
		require.Equal(t, activities.ExpireResult{Expired: pipeline.ExpirePage, More: true}, out)
		require.Equal(t, 20, open())
	}()
	defer activities.StalledAfter(600 * time.Millisecond)()
	w.slowly("proposals", "UPDATE", 0.05)
	began := time.Now()
	out, err := run[activities.ExpireResult](w, reviewing.ExpireProposals, request)
	require.NoError(t, err)
	require.Greater(t, time.Since(began), time.Second)
	require.Equal(t, activities.ExpireResult{Expired: 20}, out)
	require.Zero(t, open())
	require.Equal(t, n, w.count("proposals", "state = '"+string(schema.ProposalExpired)+"'"))
}

// After a batch whose statements time out, the next one forgets fewer memories.
func TestForgetBatchShrinksAfterATimeout(t *testing.T) {
	w := newWorld(t)
	const n = 60
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("Something number %d.", i)
	}
	ids := w.remember("t", texts...)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = now()`) // there is no pipeline to stop
	id := uuid.NewString()
	w.exec(`INSERT INTO forget_runs (tenant, id, workflow_id, agent_id, mode, state, total, digest, requested_by,
		confirmed_by, reason, expires_at, created_at, receipt)
		VALUES ('t', '` + id + `', 'wf', 'a', 'soft', 'confirmed', 60, '', 'a', 'a', 'r', now(), now(),
			'{"total": 60}')`)
	for i, memory := range ids {
		w.exec(fmt.Sprintf(`INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version, outcome)
			SELECT 't', '%s', %d, id, version, '' FROM memories WHERE id = '%s'`, id, i+1, memory))
	}
	w.slowly("memories", "UPDATE", 0.02)
	s, timeouts := w.limited(500 * time.Millisecond)
	forgetting := &activities.Forgetting{Store: s}
	request := activities.ForgetBatchRequest{ForgetRef: activities.ForgetRef{Tenant: "t", RunID: id}}
	receipt, err := run[schema.ForgetReceipt](w, forgetting.ForgetBatch, request)
	require.NoError(t, err)
	require.Equal(t, n, receipt.Forgotten)
	require.Zero(t, receipt.Remaining)
	require.EqualValues(t, 2, timeouts.Load(), "60 and 30 memories took too long")
	require.Equal(t, n, w.count("memories", "deleted_at IS NOT NULL"))

	// The next attempt begins with the size that this one reached: 15, and twice as many after four batches.
	require.Equal(t, map[string]any{"size": 30.0}, w.lastBeat())
}
