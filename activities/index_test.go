package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
)

// picky is an embedder that refuses texts with a certain word, and any batch with such a text.
type picky struct {
	inference.Embedder
	word  string
	down  atomic.Bool
	calls atomic.Int64
}

func (e *picky) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	e.calls.Add(1)
	if e.down.Load() {
		return nil, inference.Usage{}, errors.New("down")
	}
	if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, e.word) }) {
		return nil, inference.Usage{}, &inference.PermanentError{Reason: "it does not like a text"}
	}
	return e.Embedder.Embed(ctx, texts)
}

// renamed is the offline embedder with another model name.
type renamed struct {
	inference.Embedder
	name string
}

func (e renamed) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: e.name, Dimensions: e.Embedder.Model().Dimensions}
}

func (w *world) remember(tenant string, texts ...string) []uuid.UUID {
	w.t.Helper()
	req := schema.IngestRequest{Principal: schema.Principal{Tenant: tenant, Agent: "a"}}
	for _, text := range texts {
		req.Candidates = append(req.Candidates, schema.Candidate{Content: text})
	}
	ack, _ := w.stageRequest(req)
	ids := make([]uuid.UUID, len(ack.MemoryIDs))
	for i, id := range ack.MemoryIDs {
		ids[i] = uuid.MustParse(id)
	}
	return ids
}

func (w *world) qdrant() (*vector.Qdrant, *qdranttest.Server) {
	w.t.Helper()
	server := qdranttest.Start(w.t)
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: server.URL})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = q.Close() })
	return q, server
}

func (w *world) drain(a *indexing.Indexing) (indexing.DrainResult, error) {
	w.t.Helper()
	return run[indexing.DrainResult](w, a.DrainOutbox, indexing.DrainRequest{MaxPages: 50})
}

// A text that the embedder always refuses does not delay others. It is delayed longer each time and then parked, is
// listed, and is tried again on request or when its memory changes.
func TestRefusedTextIsParked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	embedder := &picky{Embedder: rules.New().Embedder, word: "poison"}
	a := &indexing.Indexing{Store: w.store, Embedder: embedder, Index: q}
	var texts []string
	for i := range 20 {
		texts = append(texts, fmt.Sprintf("%s harmless %d", canary, i))
	}
	w.remember("t", texts...)
	bad := w.remember("t", canary+" poison")[0]
	w.remember("u", canary+" of another tenant")
	out, err := w.drain(a)
	require.NoError(t, err)
	require.Equal(t, api.IndexResult{Upserted: 21, Embedded: 21, Postponed: 1}, out.IndexResult)
	require.EqualValues(t, 1, out.Lag.Pending)
	require.NotNil(t, out.Lag.Oldest)
	require.Equal(t, 1, w.count("index_outbox", "attempts = 1 AND retry_at > now() AND parked_at IS NULL"))
	called := embedder.calls.Load()
	_, err = w.drain(a)
	require.NoError(t, err)
	require.Equal(t, called, embedder.calls.Load(), "it waits")

	for attempt := 2; attempt <= 8; attempt++ {
		w.exec(`UPDATE index_outbox SET retry_at = now() - interval '1 second'`)
		out, err = w.drain(a)
		require.NoError(t, err)
	}
	require.Equal(t, 1, out.Parked)
	require.EqualValues(t, 1, out.Lag.Parked)
	require.Zero(t, out.Lag.Pending)
	parked, err := w.store.ParkedOutbox(ctx, "t", uuid.Nil, 10)
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, bad, parked[0].MemoryID)
	require.Contains(t, parked[0].LastError, "does not like")
	require.NotContains(t, parked[0].LastError, canary)
	called = embedder.calls.Load()
	_, err = w.drain(a)
	require.NoError(t, err)
	require.Equal(t, called, embedder.calls.Load(), "it is not tried any more")

	n, err := w.store.ReleaseOutbox(ctx, "t", w.now())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	embedder.word = "nothing at all"
	out, err = w.drain(a)
	require.NoError(t, err)
	require.Equal(t, 1, out.Upserted)
	require.Zero(t, w.count("index_outbox", "true"))
}

// If the embedder is unavailable, no memory is postponed, and changes that need no vector are written.
func TestUnavailableEmbedderParksNoMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	embedder := &picky{Embedder: rules.New().Embedder, word: "poison"}
	a := &indexing.Indexing{Store: w.store, Embedder: embedder, Index: q}
	ids := w.remember("t", "One thing is known.", "Another is known, too.")
	_, err := w.drain(a)
	require.NoError(t, err)
	embedder.down.Store(true)
	w.remember("t", "This comes while it is down.")
	_, err = w.owner.Exec(ctx,
		`WITH gone AS (UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1
			RETURNING tenant, id, version)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT tenant, id, version, 'delete', now() FROM gone`, ids[0])
	require.NoError(t, err)
	_, err = w.drain(a)
	require.ErrorContains(t, err, "down")
	require.Equal(t, 1, w.count("index_outbox", "attempts = 0 AND retry_at IS NULL"))
	require.Equal(t, 1, w.count("index_outbox", "true"), "the deletion is settled")
	g := w.active(q)
	n, err := q.Count(ctx, g, "t")
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "the deleted memory is removed from the index")
}

func (w *world) active(index vector.Index) vector.Generation {
	w.t.Helper()
	g, err := vector.Ensure(ctx, w.store, index, rules.New().Embedder.Model(), w.now())
	require.NoError(w.t, err)
	return g
}

// While a generation is being built, every change is written to both. A retired generation gets deletions only.
func TestChangesReachEveryGeneration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	next := renamed{rules.New().Embedder, "next-v1"}
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q,
		Others: func(m inference.EmbeddingModel) (inference.Embedder, error) {
			if m.Name == "next-v1" {
				return next, nil
			}
			return nil, vector.ErrNoEmbedder
		}}
	old := w.remember("t", "Known before the rebuild.")[0]
	_, err := w.drain(a)
	require.NoError(t, err)
	first := w.active(q)
	began, err := run[indexing.BeginReindexResult](w, a.BeginReindex, indexing.BeginReindexRequest{Model: "next-v1"})
	require.NoError(t, err)
	second, err := w.store.Generation(ctx, uuid.MustParse(began.Generation.ID))
	require.NoError(t, err)
	require.Equal(t, next.Model(), second.Model)
	meanwhile := w.remember("t", "Learned during the rebuild.")[0]
	_, err = w.drain(a)
	require.NoError(t, err)
	has := func(g vector.Generation, id uuid.UUID) bool {
		found, err := q.Lookup(ctx, g, "t", []uuid.UUID{id})
		require.NoError(t, err)
		return len(found) == 1
	}
	require.True(t, has(first, meanwhile))
	require.True(t, has(second, meanwhile))
	require.False(t, has(second, old), "earlier changes are written by the fill")
	filled, err := run[indexing.FillResult](w, a.FillGeneration,
		indexing.FillRequest{Generation: began.Generation.ID, MaxPages: 10})
	require.NoError(t, err)
	require.True(t, filled.Done)
	require.EqualValues(t, 2, filled.Memories)
	require.EqualValues(t, 1, filled.Embedded)
	require.True(t, has(second, old))
	w.env.RegisterActivity(a.ActivateGeneration)
	_, err = w.env.ExecuteActivity(a.ActivateGeneration, indexing.GenerationRequest{Generation: began.Generation.ID})
	require.NoError(t, err)
	require.Equal(t, second.ID, w.active(q).ID)

	_, err = w.owner.Exec(ctx,
		`WITH gone AS (UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1
			RETURNING tenant, id, version)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT tenant, id, version, 'delete', now() FROM gone`, meanwhile)
	require.NoError(t, err)
	_, err = w.drain(a)
	require.NoError(t, err)
	require.False(t, has(first, meanwhile), "a generation that waits to be dropped gets deletions too")
	require.False(t, has(second, meanwhile))

	// A model without an embedder does not block the others.
	a = &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	late := w.remember("t", "Said when the model's embedder had gone.")[0]
	_, err = w.drain(a)
	require.NoError(t, err)
	require.False(t, has(second, late))
	require.Zero(t, w.count("index_outbox", "true"))
}

// If two runs drain at once, the one with the older version may write last.
func TestOlderWriteIsCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	embedder := rules.New().Embedder
	a := &indexing.Indexing{Store: w.store, Embedder: embedder, Index: q}
	id := w.remember("t", "It is alive.")[0]
	_, err := w.drain(a)
	require.NoError(t, err)
	g := w.active(q)
	old, err := w.store.IndexEntries(ctx, "t", embedder.Model(), []uuid.UUID{id})
	require.NoError(t, err)
	_, err = w.owner.Exec(ctx,
		`WITH gone AS (UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1
			RETURNING tenant, id, version)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT tenant, id, version, 'delete', now() FROM gone`, id)
	require.NoError(t, err)
	_, err = w.drain(a)
	require.NoError(t, err)
	require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Upserts: []vector.Point{vector.PointOf(old[0])}}))
	require.NoError(t, w.store.SettleOutbox(ctx, "t", old, w.now()))
	n, err := q.Count(ctx, g, "t")
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "the deleted memory is in the index again")
	_, err = w.drain(a)
	require.NoError(t, err)
	n, err = q.Count(ctx, g, "t")
	require.NoError(t, err)
	require.Zero(t, n)
}

// Every difference between Postgres and the index is found and repaired.
func TestDriftIsFoundFromBothSides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, server := w.qdrant()
	embedder := rules.New().Embedder
	a := &indexing.Indexing{Store: w.store, Embedder: embedder, Index: q}
	ids := w.remember("t", "First of five things.", "Second of five things.", "Third of five things.",
		"Fourth of five things.", "Fifth of five things.")
	w.remember("u", "Of another tenant.")
	_, err := w.drain(a)
	require.NoError(t, err)
	g := w.active(q)
	require.Equal(t, api.Drift{Memories: 6, Points: 6}, w.compare(a, true))

	entries, err := w.store.IndexEntries(ctx, "t", embedder.Model(), ids)
	require.NoError(t, err)
	byID := map[uuid.UUID]vector.Point{}
	for _, e := range entries {
		byID[e.MemoryID] = vector.PointOf(e)
	}
	apply := func(tenant string, c vector.Changes) { require.NoError(t, q.Apply(ctx, g, tenant, c)) }
	apply("t", vector.Changes{Deletes: []vector.Ref{{MemoryID: ids[0]}}})                    // missing
	w.exec(fmt.Sprintf(`UPDATE memories SET version = version + 1 WHERE id = '%s'`, ids[1])) // older than the row
	ahead := byID[ids[2]]
	ahead.Version = 99
	apply("t", vector.Changes{Upserts: []vector.Point{ahead}})
	w.exec(fmt.Sprintf(`UPDATE memories SET deleted_at = now() WHERE id = '%s'`, ids[3])) // dead
	stranger := byID[ids[4]]
	stranger.MemoryID = uuid.New()
	apply("t", vector.Changes{Upserts: []vector.Point{stranger}}) // of no memory
	apply("nobody", vector.Changes{Upserts: []vector.Point{stranger}})
	pending := w.remember("t", "On its way.")
	want := api.Drift{Memories: 6, Points: 7, Missing: 1, Behind: 1, Ahead: 1, Dead: 3, Pending: 1}
	require.Equal(t, want, w.compare(a, false))
	require.Equal(t, want, w.compare(a, false), "a comparison without repair changes nothing")
	want.Repaired, want.Points = 6, 8
	require.Equal(t, want, w.compare(a, true))
	require.Equal(t, api.Drift{Memories: 6, Points: 5, Pending: 1}, w.compare(a, true))
	_, err = w.drain(a)
	require.NoError(t, err)
	require.Equal(t, api.Drift{Memories: 6, Points: 6}, w.compare(a, true))
	require.NotEmpty(t, pending)

	server.Stop()
	server.Restart(t, false)
	// The connection is restored after a while; in a workflow the activity would be retried.
	waiting, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	require.NoError(t, testkit.Eventually(waiting, func() error {
		_, err := run[indexing.CompareResult](w, a.CompareMemories, api.CompareRequest{MaxPages: 50})
		return err
	}))
	wiped := w.compare(a, true)
	require.EqualValues(t, 6, wiped.Missing)
	require.EqualValues(t, 6, wiped.Repaired)
	require.Equal(t, api.Drift{Memories: 6, Points: 6}, w.compare(a, true))
	hits, err := q.Search(ctx, pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a"}},
		pg.Embedding{Model: embedder.Model(), Vector: byID[ids[0]].Vector}, 3)
	require.NoError(t, err)
	require.Equal(t, ids[0], hits[0].ID)
}

func (w *world) now() time.Time { return time.Now() }
