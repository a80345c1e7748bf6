package eventindex_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/eventindex"
	"github.com/mneme/mneme/store/events"
)

// Vectors change the relevance of events and nothing else: the same events are eligible, with the same recency and
// importance. They are computed once, removed with an erased event, and can be wiped.
func TestVectorsChangeOnlyRelevance(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	s, owner := testkit.OpenStore(t, url), testkit.Owner(t, url)
	ctx := context.Background()
	var list []ledger.Event
	for n, text := range []string{"The oven is on fire.", "Rain fell on the mill.", "A letter came.", "",
		"The oven is cold."} {
		e := says(n+1, text)
		e.Seq, e.RecordedAt = 0, nil
		list = append(list, e)
	}
	list[3].Payload = json.RawMessage(`{}`)
	secret := list[0]
	secret.ID, secret.Agent = "secret", "bob"
	list = append(list, secret)
	_, err := s.Append(ctx, events.AppendInput{Tenant: "t", Events: list, Now: time.Now()})
	require.NoError(t, err)
	all, err := s.Page(ctx, "t", "run/a", 0, 100)
	require.NoError(t, err)
	index := func() *eventindex.Vectors {
		return &eventindex.Vectors{Events: s.Events, Embedder: rules.New().Embedder, Tenant: "t"}
	}
	plain := views.SalienceMemory{Viewer: views.Viewer{Agent: "ann"}, K: 10}
	now := views.Now{Turn: 6, Scene: "is the oven on fire"}
	terms := func(m views.SalienceMemory) map[string][2]float64 {
		ranked, err := m.Rank(ctx, all, now)
		require.NoError(t, err)
		out := map[string][2]float64{}
		for _, r := range ranked {
			out[r.Event.ID] = [2]float64{r.Recency, r.Importance}
		}
		return out
	}
	before := terms(plain)
	indexed := plain
	indexed.Index = index()
	for range 2 {
		require.Equal(t, before, terms(indexed))
	}
	require.Equal(t, 4, testkit.Rows(t, owner, "event_vectors", ""), "one for each event with a text that ann sees")
	ranked, err := indexed.Rank(ctx, all, now)
	require.NoError(t, err)
	for _, r := range ranked {
		if r.Event.ID == "e1" {
			require.Greater(t, r.Relevance, 0.5)
		}
	}
	v := index()
	require.NoError(t, v.Index(ctx, all[1:2]))
	hits, err := v.Search(ctx, "oven", 5)
	require.NoError(t, err)
	require.Len(t, hits, 1, "only what is eligible")

	_, err = s.Empty(ctx, "t", []string{"e1"}, time.Now())
	require.NoError(t, err)
	require.Zero(t, testkit.Rows(t, owner, "event_vectors", "event_id = 'e1'"))
	model := rules.New().Embedder.Model()
	require.NoError(t, s.PutVectors(ctx, "t", model, []string{"e1", "unknown"},
		[][]float32{make([]float32, model.Dimensions), make([]float32, model.Dimensions)}, time.Now()))
	require.Zero(t, testkit.Rows(t, owner, "event_vectors", "event_id IN ('e1', 'unknown')"),
		"no vector is stored for an erased event")
	n, err := s.WipeVectors(ctx, "t", time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	require.NoError(t, index().Index(ctx, plain.Viewer.Visible(all)))
	require.Equal(t, 3, testkit.Rows(t, owner, "event_vectors", ""))
	found, err := plain.Recall(ctx, all, now)
	require.NoError(t, err)
	require.Len(t, found, 5, "without an index the result is the same")
}
