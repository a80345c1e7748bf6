package workflows_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
)

// Work in excess of the worker's connections waits in Temporal, and not in activities whose timeout runs: nothing is
// retried, and no job becomes dead.
func TestOverloadWaits(t *testing.T) {
	t.Parallel()
	const conns, requests = 4, 16
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	pool, err := store.Open(t.Context(), pg.Config{URL: h.DatabaseURL, MaxConns: conns})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	h.Deps.Store, h.Deps.Index = pool, vector.PGVector{Store: pool}
	db := testkit.Owner(t, h.DatabaseURL)
	// make the staging and linking slow in the database
	for _, table := range []string{"ingest_batches", "memory_entity_mentions"} {
		_, err = db.Exec(t.Context(),
			`CREATE OR REPLACE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$;
			CREATE TRIGGER slowly BEFORE INSERT ON `+table+` FOR EACH STATEMENT EXECUTE FUNCTION slowly()`)
		require.NoError(t, err)
	}
	var now, most atomic.Int32
	var mu sync.Mutex
	attempts := map[string]int32{} // the maximum of all runs, by activity
	options := config.Config{MaxConns: conns}.WorkerOptions()
	options.Interceptors = []interceptor.WorkerInterceptor{&hook{around: func(ctx context.Context, name string,
		run func() (any, error)) (any, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		mu.Lock()
		attempts[name] = max(attempts[name], activity.GetInfo(ctx).Attempt)
		mu.Unlock()
		return run()
	}}}
	h.StartWorkerWith(t, options)
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	p := testkit.Principal()
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue,
				testkit.Request(p, schema.SourceMemory, fmt.Sprintf("Machine number %d stands in hall %d.", i, i)))
			if err == nil {
				err = started.Run.Get(ctx, nil)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, int(most.Load()), conns, "concurrent activities")
	for _, name := range []string{"StageCandidates", "ExtractFacts", "DecideFacts", "WriteProposals", "LinkEntities",
		"IndexBatch", "CompleteJobs"} {
		require.EqualValues(t, 1, attempts[name], name)
	}
	require.Equal(t, requests, testkit.Rows(t, db, "jobs", "state = 'completed'"))
	require.Zero(t, testkit.Rows(t, db, "jobs", "state <> 'completed' OR attempts > 1"))
}

// After its texts are staged, a waiting run keeps none of them in the worker's memory.
func TestARunKeepsNoContentAfterStaging(t *testing.T) {
	const runs, size = 20, 200 << 10
	text := func(i int) string { return strings.Repeat(fmt.Sprintf("Hall %d is long. ", i), size/16) }
	for activity, start := range map[string]func(h *harness.Harness, i int) error{
		"ExtractFacts": func(h *harness.Harness, i int) error {
			_, err := mneme.StartIngest(t.Context(), h.Temporal, h.TaskQueue,
				testkit.Request(testkit.Principal(), schema.SourceMemory, text(i)))
			return err
		},
		"Put": func(h *harness.Harness, i int) error {
			_, err := mneme.StartPut(t.Context(), h.Temporal, h.TaskQueue,
				putRequest(t, testkit.Principal(), putSkill("walk", text(i))))
			return err
		},
	} {
		t.Run(activity, func(t *testing.T) {
			reached, release := make(chan struct{}, 100), make(chan struct{})
			h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
			options := config.Config{MaxConns: 12, Slots: 40}.WorkerOptions()
			options.Interceptors = []interceptor.WorkerInterceptor{&hook{around: func(ctx context.Context, name string,
				run func() (any, error)) (any, error) {
				if name == activity {
					reached <- struct{}{}
					<-release
				}
				return run()
			}}}
			h.StartWorkerWith(t, options)
			t.Cleanup(sync.OnceFunc(func() { close(release) }))
			inUse := func() uint64 {
				for range 3 {
					runtime.GC()
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := inUse()
			for i := range runs {
				require.NoError(t, start(h, i))
			}
			for range runs {
				<-reached
			}
			held := int64(inUse()) - int64(before)
			t.Logf("%d runs of %d bytes hold %d", runs, size, held)
			require.Less(t, held, int64(runs*size), "less than the size of the texts")
		})
	}
}
