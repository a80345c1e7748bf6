package contexts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/recall/contexts"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/eventindex"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
)

// village is the stream of these tests.
const village = "world/village"

// laid appends n events of ann and bob to the village: world events, public statements, and private thoughts.
func laid(t *testing.T, st *store.Store, n int) {
	t.Helper()
	topics := []string{"The oven smokes.", "Rain fell on the mill.", "A letter came.", "Bread burns in the bakery."}
	var list []ledger.Event
	for i := range n {
		e := ledger.Event{ID: fmt.Sprintf("e%d", i), Stream: village, Agent: []string{"ann", "bob"}[i%2],
			Kind: []string{ledger.KindAgentSpoke, ledger.KindAgentThought, ledger.KindClueFound}[i%3], Turn: 1 + i/4,
			OccurredAt: time.Date(2026, 1, 2, 3, 4, i%60, 0, time.UTC)}
		if i%5 == 0 {
			e.Visibility = schema.VisibilityShared
		}
		e.Payload, _ = json.Marshal(ledger.Text{Text: fmt.Sprintf("%s It is event %d.", topics[i%len(topics)], i)})
		list = append(list, e)
	}
	for part := range slices.Chunk(list, ledger.MaxAppend) {
		_, err := st.Append(context.Background(), events.AppendInput{Tenant: "t", Events: part,
			Open: views.GlobalKinds(), Now: time.Now()})
		require.NoError(t, err)
	}
}

// watched records the events that an index is given.
type watched struct {
	views.MemoryIndex
	eligible *[]string
}

func (w watched) Index(ctx context.Context, list []ledger.Event) error {
	*w.eligible = nil
	for _, e := range list {
		*w.eligible = append(*w.eligible, e.ID)
	}
	return w.MemoryIndex.Index(ctx, list)
}

// bakery is a builder whose memory index is in its own Qdrant server.
type bakery struct {
	contexts.Builder
	server   *qdranttest.Server
	eligible []string // events of the last search
}

func newBakery(t *testing.T, n int) *bakery {
	t.Helper()
	b := &bakery{server: qdranttest.Start(t)}
	b.Store = testkit.OpenStore(t, testkit.DatabaseURL(t))
	laid(t, b.Store, n)
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: b.server.URL})
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	b.Recaller = inprocess.New(inprocess.Options{Store: b.Store})
	b.Index = func(tenant, _ string) views.MemoryIndex {
		return watched{&eventindex.Qdrant{Events: b.Store.Events, Server: q, Embedder: rules.New().Embedder,
			Tenant: tenant}, &b.eligible}
	}
	return b
}

// build builds ann's context by salience, with the index if requested.
func (b *bakery) build(t *testing.T, useIndex bool) ledger.ContextResponse {
	t.Helper()
	out, err := b.Build(t.Context(), ledger.ContextRequest{Principal: schema.Principal{Tenant: "t", Agent: "ann"},
		Streams: []string{village}, Scene: "Smoke fills the bakery, the bread burns.",
		Memory: ledger.MemorySettings{UseSalience: true, UseIndex: useIndex, TopK: 5,
			Weights: &ledger.SalienceWeights{Relevance: 0.9, Recency: 0.1}}})
	require.NoError(t, err)
	return out
}

// If a memory index in Qdrant is down, refuses, fails in the middle or does not answer, there is no error and no event
// is hidden. The same events are eligible, salience falls back to words in common, and the answer reports the missing
// index. When the server is back, the index is used again.
func TestUnavailableIndexHidesNoEvents(t *testing.T) {
	t.Parallel()
	b := newBakery(t, 60)
	byWords := b.build(t, false)
	require.Empty(t, byWords.Degraded)
	byMeaning := b.build(t, true)
	require.Empty(t, byMeaning.Degraded)
	require.NotEqual(t, byWords.Text, byMeaning.Text, "otherwise the test is vacuous")
	eligible := b.eligible
	require.Greater(t, len(eligible), 20)

	refuse := func(methods ...string) func(context.Context, string, any) error {
		return func(_ context.Context, method string, _ any) error {
			named := func(m string) bool { return strings.HasSuffix(method, m) }
			if len(methods) > 0 && !slices.ContainsFunc(methods, named) {
				return nil
			}
			return status.Error(codes.Internal, "no room left on the device")
		}
	}
	down := func(name string) {
		t.Helper()
		b.eligible = nil
		out := b.build(t, true)
		require.Equal(t, []string{contexts.WithoutIndex}, out.Degraded, name)
		require.Equal(t, byWords.Text, out.Text, name)
		require.Equal(t, byWords.Sections, out.Sections, name)
		require.Equal(t, eligible, b.eligible, "%s: the same events are eligible", name)
	}
	b.server.Before(refuse())
	down("refuses everything")
	b.server.Before(refuse("/Query"))
	down("fails in the search, when the events are there")
	b.server.Before(func(ctx context.Context, _ string, _ any) error {
		<-ctx.Done()
		return ctx.Err()
	})
	began := time.Now()
	down("does not answer")
	require.Less(t, time.Since(began), 20*time.Second)
	b.server.Before(nil)
	b.server.Stop()
	down("is not there")

	b.server.Restart(t, false)
	b.server.Before(refuse("/Upsert"))
	down("takes no vectors")
	b.server.Before(nil)
	require.Eventually(t, func() bool { return len(b.build(t, true).Degraded) == 0 }, 2*time.Minute,
		100*time.Millisecond)
	require.Equal(t, byMeaning.Text, b.build(t, true).Text)
	require.Equal(t, eligible, b.eligible)
}

// A failing embedder is reported as a failing index.
func TestIndexWithAFailingEmbedder(t *testing.T) {
	t.Parallel()
	b := newBakery(t, 12)
	want := b.build(t, false)
	b.Index = func(tenant, _ string) views.MemoryIndex {
		return &eventindex.Vectors{Events: b.Store.Events, Tenant: tenant, Embedder: noEmbedder{rules.New().Embedder}}
	}
	out := b.build(t, true)
	require.Equal(t, []string{contexts.WithoutIndex}, out.Degraded)
	require.Equal(t, want.Text, out.Text)
}

type noEmbedder struct{ inference.Embedder }

func (noEmbedder) Embed(context.Context, []string) ([][]float32, inference.Usage, error) {
	return nil, inference.Usage{}, fmt.Errorf("the endpoint is away")
}

// With an index, more events may be among the most salient than with words, and the limit of events to read is reached
// sooner. When the index fails, the context equals that of a request without an index, which is not partial.
func TestIndexFailsOnALongStream(t *testing.T) {
	t.Parallel()
	b := newBakery(t, 0)
	var list []ledger.Event
	for i := range 2 * events.MaxRanked {
		e := ledger.Event{ID: fmt.Sprintf("e%d", i), Stream: village, Agent: "ann", Turn: 1 + i,
			Kind: ledger.KindClueFound, OccurredAt: time.Now()}
		e.Payload, _ = json.Marshal(ledger.Text{Text: "?"})
		list = append(list, e)
	}
	for part := range slices.Chunk(list, ledger.MaxAppend) {
		_, err := b.Store.Append(t.Context(), events.AppendInput{Tenant: "t", Events: part, Now: time.Now()})
		require.NoError(t, err)
	}
	b.server.Before(func(context.Context, string, any) error { return status.Error(codes.Internal, "away") })
	req := ledger.ContextRequest{Principal: schema.Principal{Tenant: "t", Agent: "ann"}, Streams: []string{village},
		Scene: "...", Memory: ledger.MemorySettings{UseSalience: true, TopK: 5}}
	want, err := b.Build(t.Context(), req)
	require.NoError(t, err)
	require.False(t, want.Partial)
	req.Memory.UseIndex = true
	got, err := b.Build(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, []string{contexts.WithoutIndex}, got.Degraded)
	got.Degraded = nil
	require.Equal(t, want, got)
}
