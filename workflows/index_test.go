package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
	"github.com/mneme/mneme/store/vectorindex"
	"github.com/mneme/mneme/workflows"
)

// named is an index with a unique name: run ids contain the name, and tests share the server.
type named struct {
	*vector.Qdrant
	name string
}

func (n named) Name() string { return n.name }

// indexed is a harness whose index is in Qdrant.
type indexed struct {
	*harness.Harness
	t      *testing.T
	qdrant named
	server *qdranttest.Server
	p      schema.Principal
}

// nextModel is the offline embedder under another name, and so another embedding space.
type nextModel struct{ inference.Embedder }

func (e nextModel) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: "next-v1", Dimensions: e.Embedder.Model().Dimensions}
}

func embedderOf(m inference.EmbeddingModel) (inference.Embedder, error) {
	if m.Name == "next-v1" {
		return nextModel{rules.New().Embedder}, nil
	}
	return nil, vector.ErrNoEmbedder
}

func newIndexed(t *testing.T) indexed {
	t.Helper()
	server := qdranttest.Start(t)
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: server.URL})
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	x := indexed{t: t, qdrant: named{q, "qdrant-" + uuid.NewString()}, server: server, p: testkit.Principal()}
	x.Harness = harness.New(t, func(d *workflows.Dependencies) { d.Index, d.Embedders = x.qdrant, embedderOf })
	return x
}

func (x indexed) remember(n int) {
	x.t.Helper()
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("The harbour of town number %d has %d berths for sailing ships.", i, i+3))
	}
	_, result := x.Ingest(x.t, testkit.Request(x.p, schema.SourceUserInput, texts...))
	require.Empty(x.t, result.Deferred)
}

func (x indexed) recaller() *recall.Recaller {
	return &recall.Recaller{Settings: recall.Settings{TimeoutFactor: harness.RecallTimeoutFactor},
		Store: x.Store, Index: x.qdrant,
		Embedder: &vector.Embedders{Configured: x.Deps.Brain.Embedder, Other: embedderOf, Store: x.Store,
			Index: x.qdrant.Name()}}
}

// ask recalls, and reports whether the vector channel contributed to the answer.
func (x indexed) recall(r *recall.Recaller) (schema.RecallResponse, bool) {
	x.t.Helper()
	answer, err := r.Recall(context.Background(),
		schema.RecallRequest{Principal: x.p, Query: "harbour berths of town number 3"})
	require.NoError(x.t, err)
	require.NotEmpty(x.t, answer.Results)
	return answer, answer.Meta.Channels[rank.ChannelVector] > 0
}

func (x indexed) reindex(in api.ReindexInput) (api.ReindexResult, error) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	in.GraceSeconds = -1
	run, err := x.start(ctx, in)
	require.NoError(x.t, err)
	var result api.ReindexResult
	err = run(&result)
	return result, err
}

// start starts a rebuild under a unique id, because tests share the server.
func (x indexed) start(ctx context.Context, in api.ReindexInput) (func(any) error, error) {
	run, err := x.Temporal.ExecuteWorkflow(ctx, clientOptions("reindex", x.TaskQueue), workflows.Reindex, in)
	if err != nil {
		return nil, err
	}
	return func(result any) error { return run.Get(ctx, result) }, nil
}

func (x indexed) drift() api.DriftResult {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := x.Temporal.ExecuteWorkflow(ctx, clientOptions("drift", x.TaskQueue), workflows.DriftCheck,
		api.DriftInput{})
	require.NoError(x.t, err)
	var result api.DriftResult
	require.NoError(x.t, run.Get(ctx, &result))
	return result
}

func (x indexed) generations() (models []string, states []vectorindex.GenerationState) {
	x.t.Helper()
	known, err := x.Store.Generations(context.Background(), x.qdrant.Name())
	require.NoError(x.t, err)
	for _, g := range known {
		models, states = append(models, g.Model.Name), append(states, g.State)
	}
	return models, states
}

// The index is killed during recalls: none fails, the answers report the missing channel, and after the index is back,
// empty, one drift check refills it.
func TestIndexKilledDuringRecalls(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(12)
	require.Zero(t, x.drift().Found.Found())
	recaller := x.recaller()
	answer, byVector := x.recall(recaller)
	require.Empty(t, answer.Meta.Degraded)
	require.True(t, byVector)

	var with, without atomic.Int64
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				answer, err := recaller.Recall(context.Background(),
					schema.RecallRequest{Principal: x.p, Query: "harbour berths of town number 3"})
				if err != nil || len(answer.Results) == 0 {
					t.Errorf("a recall failed: %v", err)
					return
				}
				if slices.Contains(answer.Meta.Degraded, rank.ChannelVector) {
					without.Add(1)
				} else {
					with.Add(1)
				}
			}
		})
	}
	reaches := func(n *atomic.Int64) {
		t.Helper()
		from := n.Load()
		require.Eventually(t, func() bool { return n.Load() > from+5 || t.Failed() }, 2*time.Minute,
			10*time.Millisecond)
	}
	reaches(&with)
	x.server.Stop()
	reaches(&without)
	x.server.Restart(t, false)
	result := x.drift()
	require.Zero(t, result.Left.Found())
	require.Positive(t, result.Found.Missing)
	require.Equal(t, result.Found.Missing, result.Repaired)
	reaches(&with)
	close(stop)
	asking.Wait()
	answer, byVector = x.recall(recaller)
	require.Empty(t, answer.Meta.Degraded)
	require.True(t, byVector)
}

// The index loses all its data while the system runs. Writes do not create it: an index with only a few entries would
// be searched as if it were complete. Answers report the missing channel until the index is complete, including what
// was written in the meantime.
func TestALostIndex(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(8)
	recaller := x.recaller()
	_, byVector := x.recall(recaller)
	require.True(t, byVector)
	known, err := x.Store.Generations(context.Background(), x.qdrant.Name())
	require.NoError(t, err)
	require.NoError(t, x.qdrant.Drop(context.Background(), known[0]))
	_, late := x.Ingest(t, testkit.Request(x.p, schema.SourceUserInput, "The lighthouse of Nazaré burns oil."))
	require.Equal(t, []string{api.PhaseIndex}, late.Deferred)
	require.Zero(t, late.Dead)
	without := func() {
		t.Helper()
		answer, byVector := x.recall(recaller)
		require.False(t, byVector)
		require.Contains(t, answer.Meta.Degraded, rank.ChannelVector)
	}
	without()

	var made, held atomic.Bool
	reached, release := make(chan struct{}), make(chan struct{})
	x.server.Before(func(_ context.Context, method string, _ any) error { // the collection exists and is empty
		made.CompareAndSwap(false, strings.HasSuffix(method, "Points/CreateFieldIndex"))
		if strings.HasSuffix(method, "Points/Upsert") && made.Load() && held.CompareAndSwap(false, true) {
			close(reached)
			<-release
		}
		return nil
	})
	_, _, err = syncIndex(t, x.Harness)
	require.NoError(t, err)
	<-reached
	without()
	_, _, err = syncIndex(t, x.Harness)
	require.NoError(t, err, "the check is already running")
	close(release)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	var result api.DriftResult
	require.NoError(t, x.Temporal.GetWorkflow(ctx, api.DriftWorkflowID(x.qdrant.Name()), "").Get(ctx, &result))
	require.Positive(t, result.Repaired)
	require.Zero(t, result.Left.Found())
	answer, byVector := x.recall(recaller)
	require.Empty(t, answer.Meta.Degraded)
	require.True(t, byVector)
	_, _, err = syncIndex(t, x.Harness)
	require.NoError(t, err)
	answer, err = recaller.Recall(ctx, schema.RecallRequest{Principal: x.p, Query: "lighthouse of Nazaré burns oil"})
	require.NoError(t, err)
	require.Empty(t, answer.Meta.Degraded)
	require.Contains(t, answer.Results[0].Content, "lighthouse")
	require.Contains(t, answer.Results[0].Channels, rank.ChannelVector)
	require.Zero(t, x.drift().Found.Found())
}

// Wrong entries of an index never reach an answer.
func TestWrongIndexEntriesAreNotReturned(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(3)
	ctx := context.Background()
	g, err := vector.Ensure(ctx, x.Store, x.qdrant, x.Deps.Brain.Embedder.Model(), time.Now())
	require.NoError(t, err)
	theirs := schema.Principal{Tenant: "tenant-" + uuid.NewString(), Agent: "agent-1"}
	_, result := x.Ingest(t, testkit.Request(theirs, schema.SourceUserInput,
		"The harbour of town number 3 is a secret."))
	vectors, _, err := x.Deps.Brain.Embedder.Embed(ctx, []string{"harbour berths of town number 3"})
	require.NoError(t, err)
	point := func(id string) vector.Point {
		return vector.Point{MemoryID: uuid.MustParse(id), Version: 9, Vector: vectors[0],
			IndexAttributes: vectorindex.IndexAttributes{Agent: x.p.Agent, Sensitivity: schema.SensitivityLow}}
	}
	// A memory of another agent and one that does not exist, both under the caller's tenant, both nearest to the query.
	require.NoError(t, x.qdrant.Apply(ctx, g, x.p.Tenant,
		vector.Changes{Upserts: []vector.Point{point(result.MemoryIDs[0]), point(uuid.NewString())}}))
	answer, _ := x.recall(x.recaller())
	require.Empty(t, answer.Meta.Degraded)
	for _, r := range answer.Results {
		require.NotEqual(t, result.MemoryIDs[0], r.ID)
		require.NotContains(t, r.Content, "secret")
	}
	found := x.drift()
	require.EqualValues(t, 2, found.Found.Dead)
	require.Zero(t, found.Left.Found())

	x.server.Before(func(context.Context, string, any) error { return status.Error(codes.NotFound, "gone") })
	answer, byVector := x.recall(x.recaller())
	require.False(t, byVector)
	require.Contains(t, answer.Meta.Degraded, rank.ChannelVector)
	x.server.Before(func(ctx context.Context, _ string, _ any) error { <-ctx.Done(); return ctx.Err() })
	answer, byVector = x.recall(x.recaller())
	require.False(t, byVector, "a hanging index times out")
	require.Contains(t, answer.Meta.Degraded, rank.ChannelVector)
	x.server.Before(nil)
}

// The embedding model changes: until the rebuild is complete, the old generation answers, although writers already
// embed with the new model; then the new generation answers.
func TestChangingTheEmbeddingModel(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(10)
	recaller := x.recaller()
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	x.server.Before(func(_ context.Context, method string, _ any) error { // at the first comparison
		if strings.HasSuffix(method, "Points/Scroll") {
			once.Do(func() { close(reached); <-release })
		}
		return nil
	})
	done := make(chan error, 1)
	var result api.ReindexResult
	go func() {
		var err error
		result, err = x.reindex(api.ReindexInput{Model: "next-v1"})
		done <- err
	}()
	<-reached
	models, states := x.generations()
	require.Equal(t, []string{"hash-v1", "next-v1"}, models)
	require.Equal(t, []vectorindex.GenerationState{vectorindex.GenerationActive, vectorindex.GenerationBuilding},
		states)
	answer, byVector := x.recall(recaller)
	require.Empty(t, answer.Meta.Degraded)
	require.True(t, byVector)
	_, late := x.Ingest(t, testkit.Request(x.p, schema.SourceUserInput,
		"The harbour of town number 77 was opened during the rebuild."))
	require.Empty(t, late.Deferred)
	close(release)
	require.NoError(t, <-done)
	require.Equal(t, api.PhaseDone, result.Phase)
	require.Equal(t, "next-v1", result.Generation.Model)
	require.EqualValues(t, result.Filled, result.Embedded)
	require.Positive(t, result.Verified.Sampled)
	require.Equal(t, result.Verified.Sampled, result.Verified.Found)
	require.Equal(t, result.Verified.Memories, result.Verified.Points)
	require.Equal(t, 1, result.Dropped)
	models, _ = x.generations()
	require.Equal(t, []string{"next-v1"}, models)
	require.Eventually(t, func() bool {
		answer, byVector := x.recall(recaller)
		return byVector && len(answer.Meta.Degraded) == 0
	}, 20*time.Second, 50*time.Millisecond)
	require.Zero(t, x.drift().Found.Found(), "it contains what was written in the meantime")

	// A reader without an embedder for that model runs without the channel and reports it.
	blind := x.recaller()
	blind.Embedder = &vector.Embedders{Configured: x.Deps.Brain.Embedder, Store: x.Store, Index: x.qdrant.Name()}
	answer, byVector = x.recall(blind)
	require.False(t, byVector)
	require.Contains(t, answer.Meta.Degraded, rank.ChannelVector)
}

// The worker stops at every step of a rebuild: the next one continues it, and no change is lost.
func TestReindexContinuesOnAnotherWorker(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(10)
	var mu sync.Mutex
	left := []string{"Collections/Create", "Points/CreateFieldIndex", "Points/Upsert", "Points/Get", "Points/Scroll",
		"Points/Count", "Points/Query", "Collections/UpdateAliases", "Collections/Delete"}
	hits := make(chan string)
	x.server.Before(func(_ context.Context, method string, _ any) error {
		mu.Lock()
		at := slices.IndexFunc(left, func(s string) bool { return strings.HasSuffix(method, s) })
		if at < 0 {
			mu.Unlock()
			return nil
		}
		left = slices.Delete(left, at, at+1)
		mu.Unlock()
		hits <- method
		return status.Error(codes.Unavailable, "the line is dead")
	})
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	wait, err := x.start(ctx, api.ReindexInput{GraceSeconds: -1})
	require.NoError(t, err)
	done := make(chan error, 1)
	var result api.ReindexResult
	go func() { done <- wait(&result) }()
	for ended := false; !ended; {
		select {
		case <-hits:
			x.StopWorker()
			x.StartWorker(t)
		case err := <-done:
			require.NoError(t, err)
			ended = true
		}
	}
	mu.Lock()
	require.Empty(t, left, "every step was interrupted")
	mu.Unlock()
	require.Equal(t, api.PhaseDone, result.Phase)
	require.Equal(t, result.Verified.Memories, result.Verified.Points)
	require.Zero(t, x.drift().Found.Found())
	_, states := x.generations()
	require.Equal(t, []vectorindex.GenerationState{vectorindex.GenerationActive}, states)
	answer, byVector := x.recall(x.recaller())
	require.Empty(t, answer.Meta.Degraded)
	require.True(t, byVector)
}

// A cancelled rebuild leaves the index unchanged.
func TestReindexCancelled(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(4)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	options := clientOptions("reindex", x.TaskQueue)
	var once sync.Once
	x.server.Before(func(_ context.Context, method string, _ any) error {
		if strings.HasSuffix(method, "Points/Scroll") {
			once.Do(func() { _ = x.Temporal.CancelWorkflow(ctx, options.ID, "") })
		}
		return nil
	})
	run, err := x.Temporal.ExecuteWorkflow(ctx, options, workflows.Reindex, api.ReindexInput{GraceSeconds: -1})
	require.NoError(t, err)
	require.Error(t, run.Get(ctx, nil))
	_, states := x.generations()
	require.Equal(t, []vectorindex.GenerationState{vectorindex.GenerationActive}, states)
	_, byVector := x.recall(x.recaller())
	require.True(t, byVector)
}

// In Postgres, a rebuild embeds the memories without a vector and builds the model's indexes.
func TestReindexInPostgres(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) { d.Embedders = embedderOf })
	x := indexed{Harness: h, t: t, p: testkit.Principal()}
	x.remember(5)
	owner := testkit.Owner(t, h.DatabaseURL)
	rebuilt := func() string {
		return strings.Join(testkit.Strings(t, owner,
			`SELECT indexrelid::text FROM pg_index WHERE indrelid = 'memory_embeddings'::regclass AND NOT indisprimary
				ORDER BY 1`), " ")
	}
	before := rebuilt()
	same, err := x.reindex(api.ReindexInput{})
	require.NoError(t, err)
	require.Zero(t, same.Embedded)
	require.NotEqual(t, before, rebuilt(), "the indexes were rebuilt")
	require.Equal(t, 5, len(strings.Fields(rebuilt())))
	next, err := x.reindex(api.ReindexInput{Model: "next-v1"})
	require.NoError(t, err)
	require.Equal(t, next.Filled, next.Embedded)
	require.Equal(t, 10, len(strings.Fields(rebuilt())))
	require.EqualValues(t, next.Filled, testkit.Rows(t, owner, "memory_embeddings", "model = 'next-v1'"))

	_, err = x.reindex(api.ReindexInput{Model: "unheard-of"})
	require.ErrorContains(t, err, "no embedder")
	run, err := x.start(context.Background(), api.ReindexInput{Index: "elsewhere"})
	require.NoError(t, err)
	require.ErrorContains(t, run(nil), "this worker's index is pgvector")
}

// clientOptions are the options of a run under a unique id, because tests share the server.
func clientOptions(kind, taskQueue string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: kind + "/" + uuid.NewString(), TaskQueue: taskQueue}
}
