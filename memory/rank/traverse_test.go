package rank_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
)

func TestFocalNames(t *testing.T) {
	t.Parallel()
	names := rank.FocalNames("What is Caroline's LGBTQ support group (in New York)?")
	for _, want := range []string{"caroline", "lgbtq support group", "new york", "what is caroline lgbtq", "support"} {
		require.Contains(t, names, want)
	}
	require.NotContains(t, names, "what")
	require.NotContains(t, names, "is")
	require.Equal(t, 4, len(strings.Fields(names[0])), "the longest first")
	require.Empty(t, rank.FocalNames(" ?! . of the"))
	require.Empty(t, rank.FocalNames(""))
	require.Contains(t, rank.FocalNames("wo wohnt Jörg"), "jörg")
	rapid.Check(t, func(rt *rapid.T) {
		if n := len(rank.FocalNames(strings.Repeat(rapid.String().Draw(rt, "query")+" ",
			rapid.IntRange(1, 5000).Draw(rt, "times")))); n > 4*64 {
			rt.Fatalf("got %d names, want at most 256", n)
		}
	})
}

func graphed(n int, score float64, channels map[string]float64) rank.Evidence {
	return rank.Evidence{ID: number(n), Score: score, Channels: channels}
}

func TestPrimaryScalesGraphScores(t *testing.T) {
	t.Parallel()
	var in []rank.Evidence
	for i := range 20 {
		in = append(in, graphed(i, 0.8-float64(i)/100, map[string]float64{rank.ChannelText: 0.8 - float64(i)/100}))
	}
	for i := range 40 {
		in = append(in, graphed(100+i, 0.1, map[string]float64{rank.ChannelGraph: 0.2 - float64(i)/1000}))
	}
	in[1].Channels[rank.ChannelGraph] = 0.001 // a weak graph score next to strong direct evidence
	out := rank.Primary(in, 10)
	require.Len(t, out, 20, "min(20, 4·limit)")
	flat, graph := 0, 0
	for _, e := range out {
		if e.Channels[rank.ChannelText] > 0 {
			flat++
		} else {
			graph++
		}
	}
	require.Equal(t, 8, flat, "at least 40 % of the results are direct matches")
	require.Equal(t, 12, graph)
	weak := out[slices.IndexFunc(out, func(e rank.Evidence) bool { return e.ID == number(1) })]
	require.InDelta(t, 0.79, weak.Score, 1e-9, "a weak graph score does not lower a strong one")
	require.Equal(t, out[0].Score, out[1].Score, "the best graph match ranks equal to the best direct match")

	require.Len(t, rank.Primary(in, 1), 4)
	require.Len(t, rank.Primary(in, 50), 50)
	require.Equal(t, in[2:5], rank.Primary(in[2:5], 10), "unchanged without graph matches")
}

func TestPrimaryProperties(t *testing.T) {
	t.Parallel()
	share := rapid.Float64Range(0, 1)
	rapid.Check(t, func(rt *rapid.T) {
		var in []rank.Evidence
		for i := range rapid.IntRange(0, 60).Draw(rt, "n") {
			in = append(in, graphed(i, 0, map[string]float64{rank.ChannelText: share.Draw(rt, "text"),
				rank.ChannelGraph: share.Draw(rt, "graph") * float64(i%2)}))
		}
		in = rank.Fuse(in, rank.VectorTrust{})
		before := map[uuid.UUID]float64{}
		for _, e := range in {
			before[e.ID] = e.Score
		}
		limit := rapid.IntRange(1, 50).Draw(rt, "limit")
		out := rank.Primary(in, limit)
		if len(out) < min(limit, len(in)) {
			rt.Fatalf("got %d of %d results for limit %d", len(out), len(in), limit)
		}
		seen := map[uuid.UUID]bool{}
		for i, e := range out {
			if seen[e.ID] || e.Score < before[e.ID] || e.Score > 1 || i > 0 && e.Score > out[i-1].Score {
				rt.Fatalf("result %d repeats an id, lost score, exceeds 1 or is out of order: %+v", i, e)
			}
			seen[e.ID] = true
		}
	})
}
