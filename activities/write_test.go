package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
)

func TestUnavailableEmbedderDelaysOnlyVectors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := rules.New().Embedder
	down := testkit.BrokenEmbedder{Embedder: good}
	r := w.extracted(3)
	decided, err := run[schema.DecideCounts](w, (&activities.Decision{Store: w.store, Decider: rules.New().Decider,
		Embedder: down}).DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.True(t, decided.WithoutVectors)
	require.Equal(t, 3, decided.Candidates)
	written, err := run[schema.WriteCounts](w, (&activities.Writing{Store: w.store, Embedder: down}).WriteProposals,
		activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Positive(t, written.Added)
	require.Zero(t, w.count("memory_embeddings", "true"))
	question, err := w.store.Analyse(ctx, "t", search.Wording{Query: canary})
	require.NoError(t, err)
	ranking, err := w.store.RankText(ctx, pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a"}}, question, 10)
	require.NoError(t, err)
	require.NotEmpty(t, ranking.Hits, "still found by its words")

	index := vector.PGVector{Store: w.store}
	_, err = run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: down,
		Index: index}).DrainOutbox, indexing.DrainRequest{MaxPages: 10})
	require.Error(t, err)
	before := w.count("index_outbox", "true")
	require.Positive(t, before, "the outbox still requests the vectors")
	drained, err := run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: good,
		Index: index}).DrainOutbox, indexing.DrainRequest{MaxPages: 10})
	require.NoError(t, err)
	require.Equal(t, w.count("memories", "live"), drained.Embedded)
	require.False(t, drained.More)
	require.Zero(t, w.count("index_outbox", "true"))
	require.Equal(t, drained.Embedded, w.count("memory_embeddings", "true"))
}

func TestWriteEmbedsSourcesBeforeTheTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(2)
	_, err := run[schema.DecideCounts](w, (&activities.Decision{Store: w.store, Decider: rules.New().Decider,
		Embedder: rules.New().Embedder}).DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	a := &activities.Writing{Store: w.store, Embedder: rules.New().Embedder}
	first, err := run[schema.WriteCounts](w, a.WriteProposals, activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Positive(t, first.Added)
	require.Equal(t, w.count("memories", "live"), w.count("memory_embeddings", "true"))
	again, err := run[schema.WriteCounts](w, a.WriteProposals, activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Equal(t, schema.WriteCounts{Stale: first.Stale}, again, "only stale proposals are left")
}

// A write that is repeated because its result was lost counts what the lost attempt has written, and nothing that was
// written before.
func TestARepeatedWriteCountsWhatTheFirstHasWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(4)
	all := r
	var earlier pipeline.WrittenCounts
	a := &activities.Writing{Store: w.store, Embedder: rules.New().Embedder}
	decide := (&activities.Decision{Store: w.store, Decider: rules.New().Decider,
		Embedder: rules.New().Embedder}).DecideFacts
	for _, r.To = range []int{2, 4} { // an earlier run has written the first half
		decided, err := run[activities.DecideResult](w, decide, activities.DecideRequest{Range: all})
		require.NoError(t, err)
		require.Equal(t, &earlier, decided.Written)
		request := activities.WriteRequest{Range: r, MaxRounds: 3, Before: decided.Written}
		request.Range.To = r.To
		first, err := run[schema.WriteCounts](w, a.WriteProposals, request)
		require.NoError(t, err)
		require.Positive(t, first.Added)
		for range 2 {
			again, err := run[schema.WriteCounts](w, a.WriteProposals, request)
			require.NoError(t, err)
			require.Equal(t, first, again)
		}
		earlier.Added, earlier.Skipped = earlier.Added+first.Added, earlier.Skipped+first.Skipped
	}
	require.Equal(t, w.count("proposals", "state = 'applied' AND action = 'add'"), earlier.Added)
}
