package rank_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
)

type evidence = rank.Evidence

// number returns the n-th id.
func number(n int) uuid.UUID { return uuid.UUID{15: byte(n)} }

func found(id int, text, vector float64) evidence {
	e := evidence{ID: number(id), Channels: map[string]float64{}}
	if text >= 0 {
		e.Channels[rank.ChannelText] = text
	}
	if vector >= 0 {
		e.Channels[rank.ChannelVector] = vector
	}
	return e
}

func TestFuse(t *testing.T) {
	t.Parallel()
	trust := rank.VectorTrust{Blend: 0.5, Alone: 0.2}
	got := rank.Fuse([]evidence{found(1, 0.4, -1), found(2, -1, 1), found(3, 0.4, 1), found(4, 0.8, 0.1),
		found(6, 0.4, -1), found(5, 0.4, 0.4)}, trust)
	var order []int
	for _, e := range got {
		order = append(order, int(e.ID[15]))
	}
	require.Equal(t, []int{4, 3, 5, 1, 6, 2}, order, "best first; ties by vector, then by id")
	require.InDelta(t, 0.8, got[0].Score, 1e-12, "never less than the text score alone")
	require.InDelta(t, 0.7, got[1].Score, 1e-12)
	require.InDelta(t, 0.2, got[5].Score, 1e-12)
	require.Empty(t, rank.Fuse(nil, trust))
}

func TestFuseKeepsItsBounds(t *testing.T) {
	t.Parallel()
	unit := rapid.Float64Range(0, 1)
	rapid.Check(t, func(rt *rapid.T) {
		trust := rank.VectorTrust{Blend: unit.Draw(rt, "blend"), Alone: unit.Draw(rt, "alone")}
		var in []evidence
		for i := range rapid.IntRange(0, 8).Draw(rt, "n") {
			in = append(in, found(i, unit.Draw(rt, "text"), unit.Draw(rt, "vector")))
		}
		out := rank.Fuse(in, trust)
		if len(out) != len(in) {
			rt.Fatal("lost some")
		}
		for i, e := range out {
			text, vector := e.Channels[rank.ChannelText], e.Channels[rank.ChannelVector]
			if e.Score < text || e.Score > max(text, vector) || e.Score > 1 {
				rt.Fatalf("%v", e)
			}
			if i > 0 && e.Score > out[i-1].Score {
				rt.Fatal("not in order")
			}
		}
		cut := rank.Relevant(out)
		for i, e := range cut {
			if e.ID != out[i].ID || e.Score <= 0 || e.Score < 0.1*out[0].Score {
				rt.Fatal("kept what is too weak")
			}
		}
		if len(cut) < len(out) && out[len(cut)].Score > 0 && out[len(cut)].Score >= 0.1*out[0].Score {
			rt.Fatal("cut what is strong enough")
		}
	})
}

func TestTrustIn(t *testing.T) {
	t.Parallel()
	for _, model := range []string{rank.HashModel, "text-embedding-3-small", "potion:static:0123abcd", ""} {
		trust := rank.TrustIn(model)
		for _, share := range []float64{trust.Blend, trust.Alone, trust.Meaning} {
			require.True(t, share >= 0 && share <= 1)
		}
		require.Equal(t, model != rank.HashModel, trust.Meaning > 0, model)
	}
	require.Less(t, rank.TrustIn(rank.HashModel).Alone, rank.TrustIn("trained").Alone)
}

func TestStrongestEvidenceWins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		channels map[string]float64
		want     float64
	}{
		"a hint alone":                 {map[string]float64{rank.ChannelHints: 0.9}, 0.75},
		"a hint beside text":           {map[string]float64{rank.ChannelHints: 0.9, rank.ChannelText: 0.2}, 0.9},
		"a hint below text":            {map[string]float64{rank.ChannelHints: 0.3, rank.ChannelText: 0.5}, 0.5},
		"a claim":                      {map[string]float64{rank.ChannelClaims: 0.6, rank.ChannelText: 0.5}, 0.6},
		"a claim alone":                {map[string]float64{rank.ChannelClaims: 0.6}, 0.6},
		"the graph alone":              {map[string]float64{rank.ChannelGraph: 0.9}, 0.35},
		"the graph, a weak claim":      {map[string]float64{rank.ChannelGraph: 0.9, rank.ChannelClaims: 0.3}, 0.35},
		"the graph, anchored by text":  {map[string]float64{rank.ChannelGraph: 0.6, rank.ChannelText: 0.1}, 0.6},
		"the graph, anchored by claim": {map[string]float64{rank.ChannelGraph: 0.6, rank.ChannelClaims: 0.4}, 0.6},
		"its time alone":               {map[string]float64{rank.ChannelTime: 0.1}, 0.1},
	} {
		got := rank.Fuse([]evidence{{Channels: c.channels}}, rank.VectorTrust{})
		require.InDelta(t, c.want, got[0].Score, 1e-12, name)
	}
}
