package rank_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
)

// neighbours returns n candidates of a trained space, without words of the question. The first has the cosine nearest.
// From the second on, cosines fall to background, which the 50th and later ones have.
func neighbours(n int, nearest, background float64) []evidence {
	out := []evidence{found(1, -1, nearest)}
	for i := 1; i < n; i++ {
		out = append(out, found(i+1, -1, background+(nearest-background)*0.2*max(0, float64(49-i))/49))
	}
	return out
}

// Spaces differ in the cosine of unrelated texts. A full-text match ranks before background matches with any cosine.
func TestNearnessIsMeasuredFromBackground(t *testing.T) {
	t.Parallel()
	trust := rank.TrustIn("trained")
	for name, space := range map[string][2]float64{"wide": {0.6, 0.3}, "narrow": {0.86, 0.78}} {
		in := append(neighbours(80, space[0], space[1]), found(200, 0.5, -1))
		scores := map[byte]float64{}
		for _, e := range rank.Fuse(in, trust) {
			scores[e.ID[15]] = e.Score
		}
		require.InDelta(t, 0.5, scores[200], 1e-12, name)
		require.Greater(t, scores[1], 0.24, name)
		require.Less(t, scores[1], 0.5, "%s: a meaning alone counts less than words", name)
		for id := byte(50); id <= 80; id++ {
			require.Less(t, scores[id], 0.05, "%s: background", name)
		}
	}
}

func TestTextAndVectorScoresAddUp(t *testing.T) {
	t.Parallel()
	in := append(neighbours(60, 0.6, 0.3), found(200, 0.5, 0.6), found(201, 0.5, -1), found(202, 0.5, 0.3))
	got := rank.Fuse(in, rank.TrustIn("trained"))
	require.Equal(t, []byte{200, 202, 201}, []byte{got[0].ID[15], got[1].ID[15], got[2].ID[15]})
	require.InDelta(t, 0.5+0.5*0.5*0.5, got[0].Score, 1e-12, "the nearest counts half as much as the best text")
}

// With few neighbours, the background cannot be measured. A text in other words is still found.
func TestNearnessOfFewNeighbours(t *testing.T) {
	t.Parallel()
	got := rank.Fuse(
		[]evidence{found(1, -1, 0.6), found(2, -1, 0.55), found(3, -1, 0.25), found(4, -1, 0.1)},
		rank.TrustIn("trained"),
	)
	require.Equal(t, byte(1), got[0].ID[15])
	require.InDelta(t, 0.25, got[0].Score, 1e-12)
	require.Greater(t, got[1].Score, 0.2)
	require.Positive(t, got[3].Score)
	require.Positive(
		t,
		rank.Fuse([]evidence{found(1, -1, 0.15)}, rank.TrustIn("trained"))[0].Score,
		"a single weak neighbour",
	)
}

func TestNearnessIsMonotone(t *testing.T) {
	t.Parallel()
	unit := rapid.Float64Range(0, 1)
	rapid.Check(t, func(rt *rapid.T) {
		var in []evidence
		for i := range rapid.IntRange(1, 90).Draw(rt, "n") {
			in = append(in, found(i, unit.Draw(rt, "text"), unit.Draw(rt, "vector")))
		}
		out := rank.Fuse(in, rank.TrustIn("trained"))
		for i, e := range out {
			if e.Score < e.Channels[rank.ChannelText] || e.Score > 1 || i > 0 && e.Score > out[i-1].Score {
				rt.Fatalf("%v", e)
			}
			for _, other := range out[:i] {
				if other.Channels[rank.ChannelText] <= e.Channels[rank.ChannelText] &&
					other.Channels[rank.ChannelVector] < e.Channels[rank.ChannelVector] && other.Score > e.Score {
					rt.Fatalf("%v before %v", other, e)
				}
			}
		}
	})
}

func TestNearnessCountsAsRelevance(t *testing.T) {
	t.Parallel()
	fused := rank.Fuse([]evidence{found(1, -1, 0.7), found(2, 0.2, -1)}, rank.TrustIn("trained"))
	var far evidence
	for _, e := range rank.PreferRelevant(fused, rank.RelevanceBlend(fused, 0)) {
		if e.ID == number(1) {
			require.InDelta(t, 0.625, e.Relevance, 1e-12, "relevant without a word of the question")
			require.InDelta(t, 0.625, e.Near(), 1e-12)
		} else {
			far = e
		}
	}
	require.Zero(t, far.Relevance)
	hashed := rank.Fuse([]evidence{found(1, -1, 0.7)}, rank.TrustIn(rank.HashModel))
	require.Zero(t, rank.PreferRelevant(hashed, 0.5)[0].Relevance, "hashed letters carry no meaning")
}
