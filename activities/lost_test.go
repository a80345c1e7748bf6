package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
)

// step compares one page of memories and repairs differences.
func (w *world) step(a *indexing.Indexing, at api.IndexCursor) indexing.CompareResult {
	w.t.Helper()
	out, err := run[indexing.CompareResult](w, a.CompareMemories,
		api.CompareRequest{Cursor: at, MaxPages: 1, Repair: true})
	require.NoError(w.t, err)
	return out
}

// lost is an index that had two memories, of two tenants, and has lost them.
func lost(t *testing.T) (w *world, a *indexing.Indexing, q *vector.Qdrant, old uuid.UUID) {
	w = newWorld(t)
	q, _ = w.qdrant()
	a = &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	old = w.remember("t", "The harbour has nine berths.")[0]
	w.remember("u", "Of another tenant.")
	out, err := w.drain(a)
	require.NoError(t, err)
	require.False(t, out.Lost)
	require.NoError(t, q.Drop(ctx, w.active(q)))
	return w, a, q, old
}

// A lost index is not created by the next write: searches would find only the few changes since then. It is searched
// again after a whole pass has filled it.
func TestLostIndexIsSearchedOnceItIsFilled(t *testing.T) {
	t.Parallel()
	w, a, q, old := lost(t)
	model := a.Embedder.Model()
	g := w.active(q)
	out, err := w.drain(a)
	require.NoError(t, err)
	require.True(t, out.Lost, "although nothing is pending")
	require.Equal(t, q.Name(), out.Index)

	ack, r := w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Candidates: []schema.Candidate{{Content: "The harbour was built in May."}}})
	fresh := uuid.MustParse(ack.MemoryIDs[0])
	_, err = w.owner.Exec(ctx,
		`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) VALUES ('t', $1, 1, 'delete', now())`,
		uuid.New())
	require.NoError(t, err)
	out, err = w.drain(a)
	require.NoError(t, err)
	require.True(t, out.Lost)
	require.Equal(t, api.IndexResult{Deleted: 1, Embedded: 1}, out.IndexResult)
	require.False(t, out.More)
	require.Equal(t, 1, w.count("index_outbox", "op = 'upsert' AND attempts = 0"),
		"the deletion is settled, the other change stays")
	require.Equal(t, 1, w.count("index_outbox", "true"))
	_, err = run[api.IndexResult](w, a.IndexBatch, r)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeIndexLost, app.Type())
	require.True(t, app.NonRetryable(), "a retry does not help")
	_, err = q.Count(ctx, g, "t")
	require.ErrorIs(t, err, vector.ErrMissing, "it was not created")

	half := w.step(a, api.IndexCursor{})
	require.False(t, half.Done)
	require.EqualValues(t, 1, half.Repaired)
	require.EqualValues(t, 1, half.Pending)
	_, err = w.asked(q, model, embedded(t, "harbour"))
	require.ErrorIs(t, err, vector.ErrMissing)
	require.NoError(t, w.do(a.SearchActive))
	_, err = w.asked(q, model, embedded(t, "harbour"))
	require.ErrorIs(t, err, vector.ErrMissing, "it is not filled yet")
	out, err = w.drain(a)
	require.NoError(t, err)
	require.True(t, out.Lost, "it is created but not searched yet")
	require.Equal(t, 1, out.Upserted)
	for at := half.Cursor; ; {
		next := w.step(a, at)
		if at = next.Cursor; next.Done {
			break
		}
		_, err = w.asked(q, model, embedded(t, "harbour"))
		require.ErrorIs(t, err, vector.ErrMissing)
	}
	hits, err := w.asked(q, model, embedded(t, "harbour"))
	require.NoError(t, err)
	require.Len(t, hits, 2)
	require.ElementsMatch(t, []uuid.UUID{old, fresh}, []uuid.UUID{hits[0].ID, hits[1].ID})
	out, err = w.drain(a)
	require.NoError(t, err)
	require.False(t, out.Lost)
	require.Equal(t, api.Drift{Memories: 3, Points: 3}, w.compare(a, true))
}

// If the embedder is unavailable too, the index is still reported as lost.
func TestALostIndexAndNoEmbedder(t *testing.T) {
	t.Parallel()
	w, _, q, _ := lost(t)
	embedder := &picky{Embedder: rules.New().Embedder, word: "poison"}
	a := &indexing.Indexing{Store: w.store, Embedder: embedder, Index: q}
	embedder.down.Store(true)
	w.remember("t", "It comes while the embedder is down.")
	out, err := w.drain(a)
	require.NoError(t, err)
	require.True(t, out.Lost)
	require.Equal(t, 1, w.count("index_outbox", "attempts = 0"))
}

// If the index is lost during a pass, the comparison begins again.
func TestAnIndexLostDuringAPass(t *testing.T) {
	t.Parallel()
	w, a, q, old := lost(t)
	g := w.active(q)
	first := w.step(a, api.IndexCursor{})
	require.NoError(t, q.Drop(ctx, g))
	again := w.step(a, first.Cursor)
	require.False(t, again.Done)
	require.Equal(t, api.IndexCursor{}, again.Cursor)
	require.Equal(t, api.Drift{Memories: 2, Points: 2, Missing: 2, Repaired: 2}, w.compare(a, true))
	hits, err := w.asked(q, a.Embedder.Model(), embedded(t, "harbour"))
	require.NoError(t, err)
	require.Equal(t, old, hits[0].ID)
}

// One of two concurrent checks began before the index was lost, and ends while the other fills the index: the points
// that it compared no longer exist.
func TestACheckThatBeganBeforeTheLoss(t *testing.T) {
	t.Parallel()
	w, a, q, _ := lost(t)
	model := a.Embedder.Model()
	w.compare(a, true)
	before := w.step(a, api.IndexCursor{})
	require.NoError(t, q.Drop(ctx, w.active(q)))
	filling := w.step(a, api.IndexCursor{})
	for at := before.Cursor; ; {
		next := w.step(a, at)
		if at = next.Cursor; next.Done {
			break
		}
	}
	_, err := w.asked(q, model, embedded(t, "harbour"))
	require.ErrorIs(t, err, vector.ErrMissing)
	for at := filling.Cursor; ; {
		next := w.step(a, at)
		if at = next.Cursor; next.Done {
			break
		}
	}
	_, err = w.asked(q, model, embedded(t, "harbour"))
	require.NoError(t, err)
}

// A generation that is lost while it is being built does not block changes, and is filled like any other.
func TestLostBuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	w.remember("t", "The harbour has nine berths.")
	_, err := w.drain(a)
	require.NoError(t, err)
	began, err := run[indexing.BeginReindexResult](w, a.BeginReindex, indexing.BeginReindexRequest{})
	require.NoError(t, err)
	g, err := w.store.Generation(ctx, uuid.MustParse(began.Generation.ID))
	require.NoError(t, err)
	require.NoError(t, q.Drop(ctx, g))
	w.remember("t", "The harbour was built in May.")
	out, err := w.drain(a)
	require.NoError(t, err)
	require.False(t, out.Lost, "the searched generation exists")
	require.Equal(t, 1, out.Upserted)
	require.Zero(t, w.count("index_outbox", "true"))
	_, err = q.Count(ctx, g, "t")
	require.ErrorIs(t, err, vector.ErrMissing)
	filled, err := run[indexing.FillResult](w, a.FillGeneration,
		indexing.FillRequest{Generation: began.Generation.ID, MaxPages: 10})
	require.NoError(t, err)
	require.True(t, filled.Done)
	n, err := q.Count(ctx, g, "t")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	searched, err := q.Searched(ctx, g)
	require.NoError(t, err)
	require.False(t, searched)
}

// A comparison ends however fast another program writes.
func TestCompareEndsDuringWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, server := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	w.remember("t", "The first.")
	_, err := w.drain(a)
	require.NoError(t, err)
	g := w.active(q)
	var reads atomic.Int64
	server.Before(func(_ context.Context, method string, _ any) error {
		if !strings.HasSuffix(method, "Points/Get") {
			return nil
		}
		n := reads.Add(1)
		if n > 5 {
			return nil // it would not end otherwise
		}
		ids := w.remember("t", fmt.Sprintf("Written at read %d.", n))
		entries, err := w.store.IndexEntries(ctx, "t", g.Model, ids)
		if err != nil {
			return err
		}
		for i := range entries {
			entries[i].Seq, entries[i].Vector = 1<<60, make([]float32, g.Model.Dimensions)
			entries[i].Vector[0] = 1
		}
		return errors.Join(q.Apply(ctx, g, "t", vector.Changes{Upserts: []vector.Point{vector.PointOf(entries[0])}}),
			w.store.SettleOutbox(ctx, "t", entries, w.now()))
	})
	require.Zero(t, w.compare(a, true).Found())
	require.EqualValues(t, 1, reads.Load())
}

// An activity over many pages returns after a while, and the next one continues.
func TestWorkIsDividedByTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	var late atomic.Int64
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q,
		Now: func() time.Time { return time.Now().Add(time.Duration(late.Add(1)) * time.Minute) }}
	for _, tenant := range []string{"t", "u", "v"} {
		w.remember(tenant, "A memory of "+tenant+".")
	}
	pages := 0
	for at := (api.IndexCursor{}); ; pages++ {
		out, err := run[indexing.FillResult](w, a.FillGeneration,
			indexing.FillRequest{Generation: w.active(q).ID.String(), Cursor: at, MaxPages: 50})
		require.NoError(t, err)
		require.LessOrEqual(t, out.Memories, int64(1))
		if at = out.Cursor; out.Done {
			break
		}
	}
	require.Equal(t, 3, pages)
	pages = 0
	for at := (api.IndexCursor{}); ; pages++ {
		out, err := run[indexing.CompareResult](w, a.CompareMemories, api.CompareRequest{Cursor: at, MaxPages: 50})
		require.NoError(t, err)
		require.LessOrEqual(t, out.Memories, int64(1))
		if at = out.Cursor; out.Done {
			break
		}
	}
	require.Equal(t, 3, pages)
	var strangers vector.Changes
	for range 501 {
		strangers.Upserts = append(strangers.Upserts,
			vector.Point{MemoryID: uuid.New(), Version: 1, Vector: embedded(t, "stranger")})
	}
	require.NoError(t, q.Apply(ctx, w.active(q), "nobody", strangers))
	points, err := run[indexing.CompareResult](w, a.ComparePoints, api.CompareRequest{MaxPages: 50})
	require.NoError(t, err)
	require.False(t, points.Done)
	require.EqualValues(t, 500, points.Drift.Points, "one page")
	points, err = run[indexing.CompareResult](w, a.ComparePoints,
		api.CompareRequest{Points: points.Points, MaxPages: 50})
	require.NoError(t, err)
	require.True(t, points.Done)
}
