package rank_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
)

// scored returns a candidate with a score.
func scored(id int, score float64) evidence { return evidence{ID: number(id), Score: score} }

// scores returns the scores by the last byte of the id.
func scores(of []evidence) map[int]float64 {
	out := map[int]float64{}
	for _, e := range of {
		out[int(e.ID[15])] = e.Score
	}
	return out
}

func turn(anchor, id, distance int) rank.Turn {
	return rank.Turn{Anchor: number(anchor), ID: number(id), Distance: distance}
}

func TestNeighbourhood(t *testing.T) {
	t.Parallel()
	in := []evidence{scored(1, 0.5), scored(2, 0.2)}
	asks := turn(1, 4, 1)
	asks.AnchorAsks = true
	got := scores(rank.Neighbourhood(in, []rank.Turn{turn(1, 2, 1), turn(1, 3, -2), asks, turn(2, 1, -1)}))
	require.InDelta(t, 1-0.8*(1-0.4*0.5), got[2], 1e-12, "its own evidence and its neighbour's")
	require.InDelta(t, 0.2*0.5, got[3], 1e-12, "two turns away, no evidence of its own")
	require.InDelta(t, 0.6*0.5, got[4], 1e-12, "right after a question")
	require.InDelta(t, 1-0.5*(1-0.4*0.2), got[1], 1e-12, "only direct evidence is passed on")
	require.Equal(t, 0.5, in[0].Score, "the input is unchanged")
}

// Facts of one source count as one place, so a turn next to it is raised once.
func TestNeighbourhoodCountsOnePlaceOnce(t *testing.T) {
	t.Parallel()
	fact := func(id int, score float64) evidence {
		e := scored(id, score)
		e.Source = number(9)
		return e
	}
	in := []evidence{fact(1, 0.5), fact(2, 0.4), scored(9, 0.1)}
	got := scores(rank.Neighbourhood(in, []rank.Turn{turn(2, 7, 1), turn(1, 7, 1), turn(9, 7, 1)}))
	require.InDelta(t, 0.4*0.5, got[7], 1e-12, "the strongest of the three")
}

func TestAnchorsHaveThePlaceOfTheirSource(t *testing.T) {
	t.Parallel()
	fact := scored(1, 0.9)
	fact.Source = number(5)
	said := scored(2, 0.5)
	said.Session = "s"
	require.Equal(t,
		[]rank.Anchor{{ID: number(1), Place: number(5), Radius: 4}, {ID: number(2), Place: number(2), Radius: 4}},
		rank.Anchors([]evidence{fact, scored(3, 0.7), said}),
		"a candidate without a session or source has no place")
	many := make([]evidence, 1000)
	for i := range many {
		many[i] = said
		many[i].ID = uuid.UUID{14: byte(i >> 8), 15: byte(i)}
	}
	require.Len(t, rank.Anchors(many), rank.MaxAnchors)

	again := scored(4, 0.4)
	again.Source = number(5)
	require.Len(t, rank.Anchors([]evidence{fact, again, said}), 2, "facts of one source have one place")
}

// Neighbours that would get hardly any evidence are not read.
func TestWeakAnchorsHaveASmallerRadius(t *testing.T) {
	t.Parallel()
	for score, want := range map[float64]int{1: 4, 0.35: 4, 0.2: 3, 0.1: 2, 0.05: 1} {
		e := scored(1, score)
		e.Session = "s"
		require.Equal(t, []rank.Anchor{{ID: e.ID, Place: e.ID, Radius: want}}, rank.Anchors([]evidence{e}), score)
	}
	none := scored(1, 0.02)
	none.Session = "s"
	require.Empty(t, rank.Anchors([]evidence{none}))
}

// A long text needs less context to be understood.
func TestLongTextsNeedLessContext(t *testing.T) {
	t.Parallel()
	long := turn(1, 3, 1)
	long.Bytes = 3700
	short := turn(1, 2, 1)
	short.Bytes = 100
	got := scores(rank.Neighbourhood([]evidence{scored(1, 0.5)}, []rank.Turn{short, long}))
	require.InDelta(t, 0.4*0.5, got[2], 1e-12)
	require.InDelta(t, 0.4*0.5/10, got[3], 1e-12)

	in := []evidence{scored(1, 0.1), scored(2, 0.1)}
	for i := range in {
		in[i].Session, in[i].Terms = "a", 1
	}
	in[1].Bytes = 3700
	got = scores(rank.Sessions(in, []float64{1}))
	require.InDelta(t, 1-0.9*(1-0.15), got[1], 1e-12)
	require.InDelta(t, 1-0.9*(1-0.015), got[2], 1e-12)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	in := func(id int, session string, terms uint64) evidence {
		e := scored(id, 0.1)
		e.Session, e.Terms = session, terms
		return e
	}
	other := in(6, "a", 0b001)
	other.Agent = "another"
	got := scores(rank.Sessions([]evidence{in(1, "a", 0b001), in(2, "a", 0b010), in(3, "b", 0b001), in(4, "", 0b111),
		in(5, "c", 0), other}, []float64{0.5, 0.3, 0.2}))
	require.InDelta(t, 1-0.9*(1-0.15*0.8*0.8), got[1], 1e-12, "the evidence of the whole session")
	require.Equal(t, got[1], got[2])
	require.Greater(t, got[1], got[3])
	require.Equal(t, got[3], got[6], "a session of the same name is another agent's")
	require.Equal(t, 0.1, got[4], "no session")
	require.Equal(t, 0.1, got[5], "no evidence in the session")
}

func TestSpeakers(t *testing.T) {
	t.Parallel()
	said := func(id int, who string) evidence {
		e := scored(id, 0.5)
		e.Speaker = who
		return e
	}
	in := []evidence{said(1, "Ann Lee"), said(2, "Bob"), said(3, ""), said(4, "An")}
	for query, lowered := range map[string][]int{
		"what did Ann decide":        {2, 4},
		"what is ann's favourite":    {2, 4},
		"ANN and bob":                {4},
		"what did anna decide":       {},
		"what did we decide":         {},
		"what did Lee decide":        {},
		"":                           {},
		"ignore the speaker: carole": {},
	} {
		got := scores(rank.Speakers(slices.Clone(in), query))
		for id := 1; id <= 4; id++ {
			want := 0.5
			for _, l := range lowered {
				if l == id {
					want = 0.35
				}
			}
			require.InDelta(t, want, got[id], 1e-12, "%q, %d", query, id)
		}
	}
}

func TestContextKeepsBoundsAndCandidates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		unit := rapid.Float64Range(0, 1)
		var in []evidence
		n := rapid.IntRange(0, 8).Draw(rt, "n")
		for i := range n {
			e := scored(i+1, unit.Draw(rt, "score"))
			e.Session = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "session")
			e.Speaker = rapid.SampledFrom([]string{"", "Ann", "Bob"}).Draw(rt, "speaker")
			e.Terms = rapid.Uint64Range(0, 7).Draw(rt, "terms")
			in = append(in, e)
		}
		var turns []rank.Turn
		for range rapid.IntRange(0, 12).Draw(rt, "turns") {
			x := turn(rapid.IntRange(1, 9).Draw(rt, "anchor"), rapid.IntRange(1, 12).Draw(rt, "id"),
				rapid.IntRange(-4, 4).Draw(rt, "distance"))
			x.AnchorAsks = rapid.Bool().Draw(rt, "asks")
			turns = append(turns, x)
		}
		before := scores(in)
		near := rank.Neighbourhood(in, turns)
		for id, score := range before {
			if scores(near)[id] < score-1e-12 {
				rt.Fatalf("%d lost evidence", id)
			}
		}
		out := rank.Speakers(rank.Sessions(near, []float64{0.5, 0.25, 0.25}), "what did Ann say")
		if len(out) != len(near) {
			rt.Fatal("lost some")
		}
		seen := map[uuid.UUID]bool{}
		for i, e := range out {
			if e.Score < 0 || e.Score > 1 || seen[e.ID] {
				rt.Fatalf("%+v", e)
			}
			seen[e.ID] = true
			if i > 0 && e.Score > out[i-1].Score {
				rt.Fatal("not in order")
			}
		}
	})
}
