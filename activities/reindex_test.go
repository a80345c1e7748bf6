package activities_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// do executes an activity without a result.
func (w *world) do(fn any, in ...any) error {
	w.t.Helper()
	w.env.RegisterActivity(fn)
	_, err := w.env.ExecuteActivity(fn, in...)
	return err
}

// asked searches the index for tenant t as recall does.
func (w *world) asked(q vector.Index, model inference.EmbeddingModel, v []float32) ([]search.Hit, error) {
	return q.Search(ctx, pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a"}},
		pg.Embedding{Model: model, Vector: v}, 10)
}

func embedded(t *testing.T, text string) []float32 {
	t.Helper()
	vectors, _, err := rules.New().Embedder.Embed(ctx, []string{text})
	require.NoError(t, err)
	return vectors[0]
}

// compare compares in both directions once.
func (w *world) compare(a *indexing.Indexing, repair bool) api.Drift {
	w.t.Helper()
	memories, err := run[indexing.CompareResult](w, a.CompareMemories, api.CompareRequest{MaxPages: 50, Repair: repair})
	require.NoError(w.t, err)
	require.True(w.t, memories.Done)
	points, err := run[indexing.CompareResult](w, a.ComparePoints, api.CompareRequest{MaxPages: 50, Repair: repair})
	require.NoError(w.t, err)
	require.True(w.t, points.Done)
	return memories.Drift.Add(points.Drift)
}

// verifyTwice verifies in an attempt that fails and in one that continues from its heartbeat.
func verifyTwice(t *testing.T, a *indexing.Indexing, g vector.Generation,
	between func()) (out api.VerifyResult, failed error) {
	t.Helper()
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(a.VerifyGeneration)
	var mu sync.Mutex
	var reported map[string]any
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var at map[string]any
		if details.Get(&at) == nil {
			mu.Lock()
			reported = at
			mu.Unlock()
		}
	})
	request := indexing.VerifyRequest{Generation: g.ID.String()}
	_, failed = env.ExecuteActivity(a.VerifyGeneration, request)
	between()
	mu.Lock()
	require.NotNil(t, reported)
	env.SetHeartbeatDetails(reported)
	mu.Unlock()
	value, err := env.ExecuteActivity(a.VerifyGeneration, request)
	require.NoError(t, err)
	require.NoError(t, value.Get(&out))
	return out, failed
}

// A rebuild is interrupted halfway through its switch: the index searches the new generation, and in Postgres the old
// one is active. The active one is searched again before the other is dropped.
func TestInterruptedSwitchIsReverted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	model := rules.New().Embedder.Model()
	others := func(m inference.EmbeddingModel) (inference.Embedder, error) {
		return renamed{rules.New().Embedder, m.Name}, nil
	}
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q, Others: others}
	w.remember("t", "The harbour has nine berths.")
	_, err := w.drain(a)
	require.NoError(t, err)
	half := func() vector.Generation {
		began, err := run[indexing.BeginReindexResult](w, a.BeginReindex, indexing.BeginReindexRequest{})
		require.NoError(t, err)
		g, err := w.store.Generation(ctx, uuid.MustParse(began.Generation.ID))
		require.NoError(t, err)
		require.NoError(t, q.Activate(ctx, g))
		hits, err := w.asked(q, model, embedded(t, "harbour"))
		require.NoError(t, err)
		require.Empty(t, hits, "the new generation has no points")
		return g
	}
	finds := func() {
		t.Helper()
		hits, err := w.asked(q, model, embedded(t, "harbour"))
		require.NoError(t, err)
		require.Len(t, hits, 1)
	}
	g := half()
	require.NoError(t, w.do(a.AbandonGeneration, indexing.GenerationRequest{Generation: g.ID.String()}))
	finds()

	half()
	require.NoError(t, w.do(a.SearchActive))
	finds()

	// A rebuild for another model drops the generation of the interrupted one.
	half()
	_, err = run[indexing.BeginReindexResult](w, a.BeginReindex, indexing.BeginReindexRequest{Model: "next-v1"})
	require.NoError(t, err)
	finds()
}

// An index that has lost its alias gets it again from the drift check, although no point differs. A check without
// repair changes nothing.
func TestDriftCheckRestoresTheAlias(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	model := rules.New().Embedder.Model()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	w.remember("t", "The harbour has nine berths.")
	_, err := w.drain(a)
	require.NoError(t, err)
	other := vector.Generation{ID: uuid.New(), Index: q.Name(), Model: model, State: vectorindex.GenerationActive}
	require.NoError(t, q.Create(ctx, other))
	require.NoError(t, q.Drop(ctx, other))
	_, err = w.asked(q, model, embedded(t, "harbour"))
	require.ErrorIs(t, err, vector.ErrMissing)
	require.Zero(t, w.compare(a, false).Found())
	_, err = w.asked(q, model, embedded(t, "harbour"))
	require.ErrorIs(t, err, vector.ErrMissing, "a check without repair changes nothing")
	require.Zero(t, w.compare(a, true).Found())
	hits, err := w.asked(q, model, embedded(t, "harbour"))
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

// A check without repair creates nothing if the index has lost everything.
func TestCompareWithoutRepairCreatesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	w.remember("t", "First of two.", "Second of two.")
	_, err := w.drain(a)
	require.NoError(t, err)
	g := w.active(q)
	require.NoError(t, q.Drop(ctx, g))
	require.Equal(t, api.Drift{Memories: 2, Missing: 2}, w.compare(a, false))
	_, err = q.Count(ctx, g, "t")
	require.ErrorIs(t, err, vector.ErrMissing)
	require.EqualValues(t, 2, w.compare(a, true).Repaired)
	require.Equal(t, api.Drift{Memories: 2, Points: 2}, w.compare(a, true))
}

// While the deletion of a purged memory is pending, its point counts as lag and not as drift.
func TestPendingDeletionIsNoDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	w.remember("t", "Somebody is here.")
	_, err := w.drain(a)
	require.NoError(t, err)
	gone := vector.Point{MemoryID: uuid.New(), Version: 1, Vector: embedded(t, "gone")}
	require.NoError(t, q.Apply(ctx, w.active(q), "t", vector.Changes{Upserts: []vector.Point{gone}}))
	require.EqualValues(t, 1, w.compare(a, false).Dead)
	_, err = w.owner.Exec(ctx,
		`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) VALUES ('t', $1, 1, 'delete', now())`,
		gone.MemoryID)
	require.NoError(t, err)
	require.Equal(t, api.Drift{Memories: 1, Points: 2}, w.compare(a, true))
	_, err = w.drain(a)
	require.NoError(t, err)
	require.Equal(t, api.Drift{Memories: 1, Points: 1}, w.compare(a, true))
}

// If a memory gets a text that the embedder refuses, it has no vector: its old vector is not searched, and does not
// prevent a rebuild.
func TestARefusedTextLeavesNoOldPoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: &picky{Embedder: rules.New().Embedder, word: "poison"}, Index: q}
	ids := w.remember("t", "The harbour has nine berths.", "It is harmless.")
	_, err := w.drain(a)
	require.NoError(t, err)
	g := w.active(q)
	old, err := w.store.IndexEntries(ctx, "t", g.Model, ids[:1])
	require.NoError(t, err)
	w.exec(`SET session_replication_role = replica`) // the triggers protect the content of an episode
	_, err = w.owner.Exec(ctx,
		`WITH m AS (UPDATE memories SET content = 'poison', content_hash = sha256('poison'), version = version + 1
			WHERE id = $1 RETURNING tenant, id, version)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT tenant, id, version, 'upsert', now() FROM m`, ids[0])
	require.NoError(t, err)
	out, err := w.drain(a)
	require.NoError(t, err)
	require.Equal(t, 1, out.Postponed)
	verified := func() {
		t.Helper()
		result, err := run[api.VerifyResult](w, a.VerifyGeneration,
			indexing.VerifyRequest{Generation: g.ID.String()})
		require.NoError(t, err)
		require.EqualValues(t, 1, result.Points)
	}
	verified()

	// A program that read the memory before may still write its old point. After the change is parked, no program
	// writes it again.
	require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Upserts: []vector.Point{vector.PointOf(old[0])}}))
	require.Zero(t, w.compare(a, true).Found(), "it will be tried again")
	w.exec(`UPDATE index_outbox SET parked_at = now(), attempts = 8`)
	require.Equal(t, api.Drift{Memories: 2, Points: 2, Dead: 1, Parked: 1, Repaired: 1}, w.compare(a, true))
	require.Equal(t, api.Drift{Memories: 2, Points: 1, Parked: 1}, w.compare(a, true))
	require.Equal(t, 1, w.count("index_outbox", "true"), "it stays parked")
	verified()
}

// A verification that fails at one tenant continues there, with its counts.
func TestVerificationContinues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, server := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	for _, tenant := range []string{"t", "u", "v"} {
		w.remember(tenant, "A memory of "+tenant+".", "Another.")
	}
	_, err := w.drain(a)
	require.NoError(t, err)
	var mu sync.Mutex
	counts, failAt := 0, 2
	server.Before(func(_ context.Context, method string, _ any) error {
		if !strings.HasSuffix(method, "Points/Count") {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if counts++; counts == failAt {
			return status.Error(codes.Unavailable, "away")
		}
		return nil
	})
	out, failed := verifyTwice(t, a, w.active(q), func() {})
	require.ErrorContains(t, failed, "cannot be reached")
	require.Equal(t, api.VerifyResult{Memories: 6, Points: 6, Sampled: 6, Found: 6}, out)
	require.Equal(t, 4, counts, "t once, u twice, v once")
}

// If the sampled memories are not found, the next attempt draws a new sample, because the counts are outdated.
func TestVerificationDrawsANewSample(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, server := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	w.remember("t", "A memory.", "Another.")
	_, err := w.drain(a)
	require.NoError(t, err)
	var blind atomic.Bool
	server.Before(func(_ context.Context, method string, req any) error {
		if query, ok := req.(*qd.QueryPoints); ok && blind.Load() {
			query.Filter = &qd.Filter{Must: []*qd.Condition{qd.NewMatchKeyword("tenant", "nobody")}}
		}
		return nil
	})
	blind.Store(true)
	out, failed := verifyTwice(t, a, w.active(q), func() { blind.Store(false) })
	require.ErrorContains(t, failed, "found 0 of 2 sampled memories by their own vectors")
	require.Equal(t, api.VerifyResult{Memories: 2, Points: 2, Sampled: 2, Found: 2}, out)
}

// unknown is an endpoint without the model, or one that is unavailable.
type unknown struct {
	renamed
	err error
}

func (e unknown) Embed(context.Context, []string) ([][]float32, inference.Usage, error) {
	return nil, inference.Usage{}, e.err
}

// Whether an endpoint has a model is known only after a call. An endpoint that refuses the model is treated as
// missing. If an endpoint does not answer, the activity waits.
func TestEndpointWithoutTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	old := renamed{rules.New().Embedder, "gone-v1"}
	w.remember("t", "Known to the old model.")
	_, err := w.drain(&indexing.Indexing{Store: w.store, Embedder: old, Index: q})
	require.NoError(t, err)
	var refusal error = &inference.PermanentError{Reason: "status 404, model_not_found"}
	configured := &picky{Embedder: rules.New().Embedder, word: "poison"}
	a := &indexing.Indexing{Store: w.store, Embedder: configured, Index: q,
		Others: func(inference.EmbeddingModel) (inference.Embedder, error) {
			return unknown{old, refusal}, nil
		}}
	w.remember("t", "Said when nobody knew the old model any more.")
	configured.down.Store(true)
	_, err = w.drain(a)
	require.Error(t, err, "the endpoint may refuse everything, for example because of an invalid key")
	configured.down.Store(false)
	_, err = w.drain(a)
	require.NoError(t, err)
	require.Zero(t, w.count("index_outbox", "true"))
	_, err = run[indexing.BeginReindexResult](w, a.BeginReindex, indexing.BeginReindexRequest{Model: "gone-v1"})
	require.ErrorContains(t, err, "no embedder")

	refusal = errors.New("away")
	w.remember("t", "Said when it did not answer.")
	_, err = w.drain(&indexing.Indexing{Store: w.store, Embedder: configured, Index: q, Others: a.Others})
	require.ErrorContains(t, err, "away")
	require.Equal(t, 1, w.count("index_outbox", "attempts = 0"))
}

// Cached answers of an embedder do not show whether it works now.
func TestProbeBypassesTheCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	embedder := &picky{Embedder: rules.New().Embedder, word: "poison"}
	cached, err := inference.NewCache(embedder, 100)
	require.NoError(t, err)
	a := &indexing.Indexing{Store: w.store, Embedder: cached, Index: q}
	w.remember("t", "This is poison.")
	_, err = w.drain(a)
	require.NoError(t, err)
	embedder.down.Store(true)
	w.remember("t", "This comes while it is down.")
	_, err = w.drain(a)
	require.ErrorContains(t, err, "down")
	require.Equal(t, 1, w.count("index_outbox", "attempts = 0"), "no memory is postponed")
}
