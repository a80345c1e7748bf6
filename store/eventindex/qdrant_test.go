package eventindex_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/eventindex"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
)

// openQdrant opens collections for one test, which are removed with it. It uses a real server if QDRANT_URL is set.
func openQdrant(t *testing.T, a qdranttest.Address) *vector.Qdrant {
	t.Helper()
	prefix := "test-" + uuid.NewString()
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: a.URL, APIKey: a.APIKey, RootCA: a.RootCA, Prefix: prefix})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = q.Close()
		if err := a.Drop(context.Background(), prefix); err != nil {
			t.Log("collections not dropped: ", err) // the test may have stopped the server
		}
	})
	return q
}

// appended appends events with the texts to run/a of a tenant, and returns them as stored.
func appended(t *testing.T, st *store.Store, tenant string, texts ...string) []ledger.Event {
	t.Helper()
	var list []ledger.Event
	for i, text := range texts {
		e := says(i+1, text)
		e.Seq, e.RecordedAt = 0, nil
		if text == "" {
			e.Payload = json.RawMessage(`{}`)
		}
		list = append(list, e)
	}
	_, err := st.Append(context.Background(), events.AppendInput{Tenant: tenant, Events: list, Now: time.Now()})
	require.NoError(t, err)
	all, err := st.Page(context.Background(), tenant, "run/a", 0, 100)
	require.NoError(t, err)
	return all
}

// count returns how many vectors of a tenant's events there are, of all models.
func count(t *testing.T, q *vector.Qdrant, tenant string) (n int) {
	t.Helper()
	_, err := q.SweepEvents(context.Background(), tenant, 100, func(_ context.Context, ids []string) ([]string, error) {
		n += len(ids)
		return nil, nil
	})
	require.NoError(t, err)
	return n
}

// Vectors in Qdrant rank as those in Postgres do: they change the relevance of events and nothing else. They are
// computed once, can be wiped, and are computed again from the ledger.
func TestQdrantRanksAsPostgresDoes(t *testing.T) {
	t.Parallel()
	st := testkit.OpenStore(t, testkit.DatabaseURL(t))
	q := openQdrant(t, qdranttest.Any(t))
	ctx := context.Background()
	all := appended(t, st, "t", "The oven is on fire.", "Rain fell on the mill.", "A letter came.", "",
		"The oven is cold.")
	e := rules.New().Embedder
	now := views.Now{Turn: 6, Scene: "is the oven on fire"}
	ranked := func(index views.MemoryIndex) []views.Scored {
		out, err := views.SalienceMemory{Viewer: views.Viewer{Agent: "ann"}, K: 10, Index: index}.Rank(ctx, all, now)
		require.NoError(t, err)
		return out
	}
	inPostgres := ranked(&eventindex.Vectors{Events: st.Events, Embedder: e, Tenant: "t"})
	embedder := &counted{Embedder: e}
	for range 2 {
		inQdrant := ranked(&eventindex.Qdrant{Events: st.Events, Server: q, Embedder: embedder, Tenant: "t"})
		require.Len(t, inQdrant, len(inPostgres))
		for i, want := range inPostgres {
			got := inQdrant[i]
			require.Equal(t, want.Event.ID, got.Event.ID)
			require.Equal(t, [2]float64{want.Recency, want.Importance}, [2]float64{got.Recency, got.Importance})
			require.InDelta(t, want.Relevance, got.Relevance, 1e-4)
		}
		require.Equal(t, 4, embedder.texts, "those with a text, each once")
		require.Equal(t, 4, count(t, q, "t"))
	}
	n, err := q.WipeEvents(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Zero(t, count(t, q, "t"))
	again := ranked(&eventindex.Qdrant{Events: st.Events, Server: q, Embedder: e, Tenant: "t"})
	require.InDelta(t, inPostgres[0].Relevance, again[0].Relevance, 1e-4)
	require.Equal(t, 4, count(t, q, "t"))
}

// counted counts the texts that are embedded as passages.
type counted struct {
	inference.Embedder
	texts int
	then  func()
}

func (c *counted) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	out, usage, err := c.Embedder.Embed(ctx, texts)
	if len(texts) > 1 || c.then != nil {
		c.texts += len(texts)
	}
	if c.then != nil {
		c.then()
	}
	return out, usage, err
}

// Two tenants may have events with the same ids. Each tenant finds, wipes and removes only its own.
func TestQdrantKeepsTheEventsOfTenantsApart(t *testing.T) {
	t.Parallel()
	st := testkit.OpenStore(t, testkit.DatabaseURL(t))
	q := openQdrant(t, qdranttest.Any(t))
	ctx := context.Background()
	index := func(tenant string) *eventindex.Qdrant {
		return &eventindex.Qdrant{Events: st.Events, Server: q, Embedder: rules.New().Embedder, Tenant: tenant}
	}
	ours := appended(t, st, "t", "The oven is on fire.", "Rain fell on the mill.")
	theirs := appended(t, st, "u", "The harbour is closed.", "The oven is on fire.", "Snow fell.")
	mine, other := index("t"), index("u")
	require.NoError(t, mine.Index(ctx, ours))
	require.NoError(t, other.Index(ctx, theirs))
	best := func(of *eventindex.Qdrant) string {
		hits, err := of.Search(ctx, "is the oven on fire", 1)
		require.NoError(t, err)
		require.Len(t, hits, 1)
		return hits[0].ID
	}
	require.Equal(t, "e1", best(mine))
	require.Equal(t, "e2", best(other))
	require.NoError(t, mine.Index(ctx, ours[1:]))
	hits, err := mine.Search(ctx, "is the oven on fire", 5)
	require.NoError(t, err)
	require.Len(t, hits, 1, "only what is eligible")
	require.Equal(t, "e2", hits[0].ID)
	_, err = q.WipeEvents(ctx, "t")
	require.NoError(t, err)
	require.Zero(t, count(t, q, "t"))
	require.Equal(t, 3, count(t, q, "u"))
	require.Equal(t, "e2", best(other))
}

// A sweep removes erased events, and events that the ledger does not have, from the collections of all models. An
// event that is erased while it is embedded does not stay, even if the sweep passed earlier.
func TestErasedEventsLeaveQdrant(t *testing.T) {
	t.Parallel()
	st := testkit.OpenStore(t, testkit.DatabaseURL(t))
	q := openQdrant(t, qdranttest.Any(t))
	ctx := context.Background()
	e := rules.New().Embedder
	all := appended(t, st, "t", "The oven is on fire.", "Rain fell on the mill.", "A letter came.")
	other := &named{Embedder: e}
	for _, embedder := range []inference.Embedder{e, other} {
		index := &eventindex.Qdrant{Events: st.Events, Server: q, Embedder: embedder, Tenant: "t"}
		require.NoError(t, index.Index(ctx, append(slices.Clone(all), says(9, "of the past"))))
	}
	require.Equal(t, 6, count(t, q, "t"), "no vector is stored for an event that the ledger does not have")
	require.NoError(t, q.PutEvents(ctx, "t", e.Model(), []string{"purged"}, [][]float32{unit(e.Model().Dimensions)}))
	_, err := st.Empty(ctx, "t", []string{"e1"}, time.Now())
	require.NoError(t, err)
	sweep := (&eventindex.QdrantSweeper{Events: st.Events, Server: q}).Sweep
	removed, err := sweep(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, 3, removed)
	require.Equal(t, 4, count(t, q, "t"))
	removed, err = sweep(ctx, "t")
	require.NoError(t, err)
	require.Zero(t, removed)

	_, err = q.WipeEvents(ctx, "t")
	require.NoError(t, err)
	late := &counted{Embedder: e, then: func() {
		_, err := st.Empty(ctx, "t", []string{"e2"}, time.Now())
		require.NoError(t, err)
		_, err = sweep(ctx, "t")
		require.NoError(t, err)
	}}
	index := &eventindex.Qdrant{Events: st.Events, Server: q, Embedder: late, Tenant: "t"}
	require.NoError(t, index.Index(ctx, all[1:]))
	require.Equal(t, 1, count(t, q, "t"), "the one that was not erased")
}

// named is an embedder with another model name.
type named struct{ inference.Embedder }

func (n *named) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: "another/v1", Dimensions: n.Embedder.Model().Dimensions}
}

func unit(n int) []float32 {
	out := make([]float32, n)
	out[0] = 1
	return out
}

// Each filter names the tenant first, and no text is sent. A server that fails causes an error without content.
func TestNoTextIsSentToQdrant(t *testing.T) {
	t.Parallel()
	st := testkit.OpenStore(t, testkit.DatabaseURL(t))
	server := qdranttest.Start(t)
	q := openQdrant(t, qdranttest.Address{URL: server.URL})
	ctx := context.Background()
	asked, down := 0, false
	server.Before(func(_ context.Context, _ string, req any) error {
		if down {
			return errors.New("the canary")
		}
		assert.NotContains(t, fmt.Sprint(req), "oven")
		filtered, ok := req.(interface{ GetFilter() *qd.Filter })
		filter := (*qd.Filter)(nil)
		if ok {
			filter = filtered.GetFilter()
		} else if deleted, isDelete := req.(*qd.DeletePoints); isDelete {
			filter, ok = deleted.GetPoints().GetFilter(), true
		}
		if ok {
			asked++
			if assert.NotEmpty(t, filter.GetMust()) {
				first := filter.GetMust()[0].GetField()
				assert.Equal(t, "tenant", first.GetKey())
				assert.Equal(t, "t", first.GetMatch().GetKeyword())
			}
		}
		return nil
	})
	all := appended(t, st, "t", "The oven is on fire.", "The oven is cold.")
	index := &eventindex.Qdrant{Events: st.Events, Server: q, Embedder: rules.New().Embedder, Tenant: "t"}
	require.NoError(t, index.Index(ctx, all))
	_, err := index.Search(ctx, "oven", 2)
	require.NoError(t, err)
	_, err = q.WipeEvents(ctx, "t")
	require.NoError(t, err)
	require.GreaterOrEqual(t, asked, 4)

	down = true
	_, err = index.Search(ctx, "oven", 2)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "canary")
	require.Error(t, index.Index(ctx, all))
	_, err = (&eventindex.QdrantSweeper{Events: st.Events, Server: q}).Sweep(ctx, "t")
	require.Error(t, err)
	down = false
}
