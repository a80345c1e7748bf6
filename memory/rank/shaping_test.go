package rank_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

var (
	shapingNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	trained    = rank.VectorTrust{Blend: 0.7, Alone: 1}
)

// judged returns evidence with a fused score, after change.
func judged(id int, score float64, change ...func(*evidence)) evidence {
	e := evidence{ID: number(id), Channels: map[string]float64{}, Score: score}
	for _, c := range change {
		c(&e)
	}
	return e
}

func order(list []evidence) []int {
	out := []int{}
	for _, e := range list {
		out = append(out, int(e.ID[15]))
	}
	return out
}

// drawEvidence draws a ranked list of candidates of every kind, with texts for most of them.
func drawEvidence(rt *rapid.T) ([]evidence, map[uuid.UUID]string) {
	unit := rapid.Float64Range(0, 1)
	texts := map[uuid.UUID]string{}
	var out []evidence
	for i := range rapid.IntRange(0, 12).Draw(rt, "n") {
		e := evidence{ID: number(i), Channels: map[string]float64{}, Score: unit.Draw(rt, "score"),
			Terms: rapid.Uint64Range(0, 31).Draw(rt, "terms")}
		for _, c := range []string{rank.ChannelText, rank.ChannelVector, rank.ChannelHints, rank.ChannelClaims,
			rank.ChannelGraph} {
			if rapid.Bool().Draw(rt, c) {
				e.Channels[c] = unit.Draw(rt, c+" score")
			}
		}
		e.Type = rapid.SampledFrom([]schema.MemoryType{schema.TypeSemantic, schema.TypeEpisodic}).Draw(rt, "type")
		e.Status = rapid.SampledFrom([]schema.Status{schema.StatusActive, schema.StatusSuperseded}).Draw(rt, "status")
		e.Category = rapid.SampledFrom([]schema.Category{schema.CategoryFact,
			schema.CategoryDecision}).Draw(rt, "category")
		e.OccurredAt = shapingNow.Add(-time.Duration(rapid.IntRange(0, 100).Draw(rt, "hours")) * time.Hour)
		e.Accesses = rapid.Int64Range(0, 1000).Draw(rt, "accesses")
		e.LastAccessed = shapingNow.AddDate(0, 0, -rapid.IntRange(-2, 400).Draw(rt, "days"))
		if rapid.IntRange(0, 4).Draw(rt, "read") > 0 {
			texts[e.ID] = rapid.SampledFrom([]string{"Ana likes green tea", "ana really likes green tea",
				"Ana has 3 cats", "Ana has 4 cats", "it rained on 3 May", ""}).Draw(rt, "text")
		}
		out = append(out, e)
	}
	rank.Rank(out)
	return out, texts
}

// Every rule keeps scores in bounds, does not change its input, neither loses nor adds candidates, is deterministic,
// and returns the best first.
func TestShapingKeepsItsBounds(t *testing.T) {
	t.Parallel()
	type rule = func([]evidence, map[uuid.UUID]string) []evidence
	rules := map[string]rule{
		"convolve": func(e []evidence, _ map[uuid.UUID]string) []evidence { return rank.Convolve(e, trained) },
		"facets":   func(e []evidence, _ map[uuid.UUID]string) []evidence { return rank.CoverFacets(e) },
		"rehearse": func(e []evidence, _ map[uuid.UUID]string) []evidence { return rank.Rehearse(e, shapingNow) },
		"rerank": func(e []evidence, _ map[uuid.UUID]string) []evidence {
			return rank.Rerank(e, map[uuid.UUID]float64{number(0): 2, number(1): -1, number(2): math.NaN(),
				number(99): 1}, 0.3)
		},
		"dampen": func(e []evidence, _ map[uuid.UUID]string) []evidence {
			return rank.DampenVectorOnly(e, func(id uuid.UUID) bool { return id[15]%2 == 0 })
		},
		"hubs": func(e []evidence, _ map[uuid.UUID]string) []evidence {
			return rank.DampenHubs(e, map[uuid.UUID]int64{number(0): 9, number(1): 10, number(2): 50}, 10)
		},
		"decisions": func(e []evidence, _ map[uuid.UUID]string) []evidence { return rank.BoostDecisions(e) },
		"dated":     rank.BoostDated,
		"current": func(e []evidence, _ map[uuid.UUID]string) []evidence {
			return rank.Current(slices.Clone(e),
				map[uuid.UUID]rank.Supersession{number(0): {Replaces: true}, number(1): {Superseded: 1},
					number(2): {Active: 1, Superseded: 1}})
		},
		"duplicates": rank.CollapseDuplicates,
	}
	for name, apply := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				in, texts := drawEvidence(rt)
				before := slices.Clone(in)
				out := apply(in, texts)
				require.Equal(rt, before, in, "the input is unchanged")
				require.Equal(rt, out, apply(in, texts), "deterministic")
				ids := map[uuid.UUID]evidence{}
				for _, e := range in {
					ids[e.ID] = e
				}
				for i, e := range out {
					require.True(rt, e.Score >= 0 && e.Score <= 1, "%s: %v", name, e.Score)
					require.True(rt, i == 0 || e.Score <= out[i-1].Score, "best first")
					was, known := ids[e.ID]
					require.True(rt, known, "added or returned twice")
					delete(ids, e.ID)
					if e.Score != was.Score {
						require.NotEmpty(rt, e.Steps, "a changed score has a step")
						require.Equal(rt, e.Score, e.Steps[len(e.Steps)-1].Score)
					}
				}
				if name != "duplicates" {
					require.Empty(rt, ids, "lost")
				}
			})
		})
	}
}

func TestConvolve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		channels    map[string]float64
		fused, want float64
	}{
		"no channels":                {map[string]float64{}, 0.4, 0.4},
		"lexical is a floor":         {map[string]float64{"text": 0.6}, 0.2, 0.6},
		"fusion is a floor":          {map[string]float64{"text": 0.2}, 0.6, 0.6},
		"a hint alone is capped":     {map[string]float64{"hints": 1}, 0.1, 0.75},
		"a hint with lexical is not": {map[string]float64{"hints": 0.9, "text": 0.1}, 0.1, 0.9},
		"agreeing channels add up": {map[string]float64{"text": 0.8, "vector": 0.8, "hints": 0.8,
			"claims": 0.8, "graph": 0.8}, 0.5, 0.92},
		"the sum is bounded": {map[string]float64{"text": 1, "vector": 1, "hints": 1, "claims": 1,
			"graph": 1}, 0.5, 1},
		"a traversal without an anchor":     {map[string]float64{"graph": 1}, 0.9, 0.35},
		"one with a weak semantic anchor":   {map[string]float64{"graph": 1, "vector": 0.34}, 0.9, 0.35},
		"one with a semantic anchor":        {map[string]float64{"graph": 1, "vector": 0.35}, 0.9, 0.9},
		"one with a weak structured anchor": {map[string]float64{"graph": 1, "claims": 0.34}, 0.9, 0.35},
		"one with a structured anchor":      {map[string]float64{"graph": 1, "claims": 0.35}, 0.9, 0.9},
		"one with a lexical anchor":         {map[string]float64{"graph": 1, "text": 0.01}, 0.9, 0.9},
		"one with a hint":                   {map[string]float64{"graph": 1, "hints": 0.01}, 0.9, 0.9},
		"a weak traversal is kept":          {map[string]float64{"graph": 1}, 0.2, 0.2},
		"semantic without a traversal":      {map[string]float64{"vector": 0.2}, 0.9, 0.9},
		"NaN and infinity count as 0": {map[string]float64{"text": math.NaN(), "graph": math.Inf(1)}, 0.3,
			0.3},
		"scores are clamped": {map[string]float64{"text": 7}, 0.3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rank.Convolve([]evidence{{ID: number(1), Channels: c.channels, Score: c.fused}}, trained)
			require.InDelta(t, c.want, got[0].Score, 1e-12)
		})
	}
	hashed := rank.Convolve([]evidence{{ID: number(1), Channels: map[string]float64{"graph": 1, "vector": 1},
		Score: 0.9}}, rank.TrustIn(rank.HashModel))
	require.InDelta(t, 0.35, hashed[0].Score, 1e-12, "an untrusted space is no anchor")
}

// More evidence never lowers the score of an anchored candidate.
func TestConvolveIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		unit := rapid.Float64Range(0, 1)
		low := map[string]float64{"text": rapid.Float64Range(0.01, 1).Draw(rt, "text")}
		for _, c := range []string{"vector", "hints", "claims", "graph"} {
			low[c] = unit.Draw(rt, c)
		}
		high := maps.Clone(low)
		c := rapid.SampledFrom([]string{"text", "vector", "hints", "claims", "graph"}).Draw(rt, "raised")
		high[c] = min(1, high[c]+unit.Draw(rt, "by"))
		fused := unit.Draw(rt, "fused")
		of := func(channels map[string]float64) float64 {
			return rank.Convolve([]evidence{{ID: number(1), Channels: channels, Score: fused}}, trained)[0].Score
		}
		require.GreaterOrEqual(rt, of(high), of(low))
		require.GreaterOrEqual(rt, of(low), fused)
	})
}

func TestCoverFacets(t *testing.T) {
	t.Parallel()
	terms := func(bits uint64) func(*evidence) { return func(e *evidence) { e.Terms = bits } }
	got := rank.CoverFacets([]evidence{judged(1, 0.5, terms(0b11)), judged(2, 0.45, terms(0b11)),
		judged(3, 0.4, terms(0b100)), judged(4, 0.42)})
	require.Equal(t, []int{1, 3, 4, 2}, order(got), "new facets come before repeated ones")
	require.InDelta(t, 0.66, got[0].Score, 1e-12)
	require.InDelta(t, 0.48, got[1].Score, 1e-12)
	require.InDelta(t, 0.42, got[2].Score, 1e-12, "a candidate without matched words keeps its score")
	require.InDelta(t, 0.41, got[3].Score, 1e-12)
	require.Empty(t, rank.CoverFacets(nil))
}

func TestRehearse(t *testing.T) {
	t.Parallel()
	accessed := func(n int64, days int) func(*evidence) {
		return func(e *evidence) { e.Accesses, e.LastAccessed = n, shapingNow.AddDate(0, 0, -days) }
	}
	for name, c := range map[string]struct {
		e    evidence
		want float64
	}{
		"never":               {judged(1, 0.5), 0.5},
		"once, now":           {judged(1, 0.5, accessed(1, 0)), 0.5 * (1 + 0.1*math.Log(2))},
		"once, 30 days ago":   {judged(1, 0.5, accessed(1, 30)), 0.5 * (1 + 0.05*math.Log(2))},
		"often, now":          {judged(1, 0.5, accessed(99, 0)), 0.5 * (1 + 0.1*math.Log(100))},
		"in the future":       {judged(1, 0.5, accessed(1, -9)), 0.5 * (1 + 0.1*math.Log(2))},
		"no more than one":    {judged(1, 1, accessed(99, 0)), 1},
		"without a last time": {judged(1, 0.5, func(e *evidence) { e.Accesses = 9 }), 0.5},
	} {
		require.InDelta(t, c.want, rank.Rehearse([]evidence{c.e}, shapingNow)[0].Score, 1e-12, name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		n, days := rapid.Int64Range(1, 1e6).Draw(rt, "n"), rapid.IntRange(0, 5000).Draw(rt, "days")
		of := func(n int64, days int) float64 {
			return rank.Rehearse([]evidence{judged(1, 0.2, accessed(n, days))}, shapingNow)[0].Score
		}
		require.GreaterOrEqual(rt, of(n+1, days), of(n, days), "more accesses never lower the score")
		require.LessOrEqual(rt, of(n, days+1), of(n, days), "an older access never raises the score")
	})
}

func TestRerankBlends(t *testing.T) {
	t.Parallel()
	in := []evidence{judged(1, 0.9), judged(2, 0.5), judged(3, 0.4)}
	got := rank.Rerank(in, map[uuid.UUID]float64{number(1): 0, number(2): 1}, 0.5)
	require.Equal(t, []int{2, 1, 3}, order(got))
	require.InDelta(t, 0.75, got[0].Score, 1e-12)
	require.InDelta(t, 0.45, got[1].Score, 1e-12)
	require.InDelta(t, 0.4, got[2].Score, 1e-12, "a candidate that was not reranked keeps its score")
	require.Equal(t, []int{1, 2, 3}, order(rank.Rerank(in, nil, 0.5)))
	require.Equal(t, []int{1, 2, 3}, order(rank.Rerank(in, map[uuid.UUID]float64{number(2): math.NaN()}, 1)))
}

func TestDampening(t *testing.T) {
	t.Parallel()
	vector := func(e *evidence) { e.Channels[rank.ChannelVector] = 0.9 }
	text := func(e *evidence) { e.Channels[rank.ChannelText] = 0.1 }
	none := func(uuid.UUID) bool { return false }
	for name, c := range map[string]struct {
		e    evidence
		want float64
	}{
		"semantic only":      {judged(1, 0.8, vector), 0.4},
		"down to the floor":  {judged(1, 0.5, vector), 0.3},
		"weak is kept":       {judged(1, 0.3, vector), 0.3},
		"with words":         {judged(1, 0.8, vector, text), 0.8},
		"with a term":        {judged(1, 0.8, vector, func(e *evidence) { e.Terms = 1 }), 0.8},
		"with a hint":        {judged(1, 0.8, vector, func(e *evidence) { e.Channels["hints"] = 0.1 }), 0.8},
		"not found by space": {judged(1, 0.8), 0.8},
	} {
		require.InDelta(t, c.want, rank.DampenVectorOnly([]evidence{c.e}, none)[0].Score, 1e-12, name)
	}
	require.InDelta(t, 0.8, rank.DampenVectorOnly([]evidence{judged(1, 0.8, vector)}, func(uuid.UUID) bool {
		return true
	})[0].Score, 1e-12)

	hubs := rank.DampenHubs([]evidence{judged(1, 0.8), judged(2, 0.7), judged(3, 0.6)},
		map[uuid.UUID]int64{number(1): 10, number(2): 9}, 10)
	require.Equal(t, []int{2, 3, 1}, order(hubs), "links to rarer entities, or none, are not dampened")
	require.InDelta(t, 0.56, hubs[2].Score, 1e-12)
	require.Equal(t, []int{1}, order(rank.DampenHubs([]evidence{judged(1, 0.8)}, map[uuid.UUID]int64{number(1): 10},
		0)))

	boosted := rank.BoostDecisions([]evidence{judged(1, 0.5),
		judged(2, 0.45, func(e *evidence) { e.Category = schema.CategoryDecision }),
		judged(3, 0.44, func(e *evidence) { e.Category = schema.CategoryRule })})
	require.Equal(t, []int{2, 3, 1}, order(boosted))
	require.InDelta(t, 0.54, boosted[0].Score, 1e-12)
}

func TestSharesWord(t *testing.T) {
	t.Parallel()
	require.True(t, rank.SharesWord("Where does Ana live?", "ANA moved"))
	require.False(t, rank.SharesWord("Where does Ana live?", "where does she go to"), "function words are ignored")
	require.False(t, rank.SharesWord("", "Ana"))
	require.True(t, rank.SharesWord("東京", "東京"))
}

func TestHubDegree(t *testing.T) {
	t.Parallel()
	require.Zero(t, rank.HubDegree(nil))
	require.Zero(t, rank.HubDegree([]int64{3, 3, 3, 3}), "no entity is a hub")
	require.Zero(t, rank.HubDegree([]int64{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}))
	require.Equal(t, int64(40), rank.HubDegree([]int64{1, 1, 1, 2, 1, 1, 1, 1, 40, 50, 1}))
}

func TestBoostDated(t *testing.T) {
	t.Parallel()
	for text, dated := range map[string]bool{
		"on 2026-03-18": true, "in 2023": true, "5 May": true, "the 5th of June": true, "March 3rd": true,
		"3/4/2024": true, "sept 9": true, "JULY 4": true,
		"she may go": false, "build 1234": false, "room 5": false, "version 3.4": false, "": false,
		"ticket 20261": false, "march on": false,
	} {
		got := rank.BoostDated([]evidence{judged(1, 0.5)}, map[uuid.UUID]string{number(1): text})
		require.Equal(t, dated, got[0].Score > 0.5, text)
	}
}

func TestCurrent(t *testing.T) {
	t.Parallel()
	replaced := func(e *evidence) { e.Status = schema.StatusSuperseded }
	for name, c := range map[string]struct {
		e     evidence
		s     rank.Supersession
		kind  schema.Currentness
		score float64
	}{
		"nothing known": {judged(1, 0.5), rank.Supersession{}, "", 0.5},
		"active facts":  {judged(1, 0.5), rank.Supersession{Active: 2}, "", 0.5},
		"itself superseded": {judged(1, 0.5, replaced), rank.Supersession{SupersededBy: number(9), Active: 1},
			"superseded", 0.325},
		"by an invisible one":      {judged(1, 0.5, replaced), rank.Supersession{}, "superseded", 0.325},
		"all of its facts":         {judged(1, 0.5), rank.Supersession{Superseded: 2}, "superseded", 0.325},
		"some of its facts":        {judged(1, 0.5), rank.Supersession{Active: 1, Superseded: 1}, "mixed", 0.425},
		"a replacement":            {judged(1, 0.5), rank.Supersession{Replaces: true}, "current", 0.515},
		"a superseded replacement": {judged(1, 0.5, replaced), rank.Supersession{Replaces: true}, "superseded", 0.325},
	} {
		got := rank.Current([]evidence{c.e}, map[uuid.UUID]rank.Supersession{number(1): c.s})[0]
		require.Equal(t, c.kind, got.Currentness, name)
		require.Equal(t, c.s.SupersededBy, got.SupersededBy, name)
		require.InDelta(t, c.score, got.Score, 1e-12, name)
	}
}

func TestCollapseDuplicates(t *testing.T) {
	t.Parallel()
	semantic := func(e *evidence) { e.Type = schema.TypeSemantic }
	episode := func(speaker string, hours int) func(*evidence) {
		return func(e *evidence) {
			e.Type, e.Speaker, e.OccurredAt = schema.TypeEpisodic, speaker, shapingNow.Add(time.Duration(hours)*time.Hour)
		}
	}
	const long = "the deployment of the billing service failed because the database migration took longer than the " +
		"lock timeout allows in production"
	for name, c := range map[string]struct {
		upper, lower         string
		upperKind, lowerKind func(*evidence)
		dropped              bool
	}{
		"the same words": {"Ana likes green tea.", "ana likes GREEN tea", semantic, semantic, true},
		"with another article": {"Ana bought the new house", "Ana bought a new house", semantic, semantic,
			true},
		"another number":                      {"Ana has 3 cats", "Ana has 4 cats", semantic, semantic, false},
		"another number in a long text":       {long + " 3 times", long + " 4 times", semantic, semantic, false},
		"another name in a long text":         {long + " says Ana", long + " says Bo", semantic, semantic, false},
		"a name that only the upper has":      {long + " says Ana", long, semantic, semantic, false},
		"another value in a long text":        {long + " in red", long + " in blue", semantic, semantic, false},
		"a number that only the upper has":    {long + " 3", long, semantic, semantic, false},
		"a negation that only the upper has":  {long + " never", long, semantic, semantic, false},
		"a condition that only the upper has": {long + " unless forced", long, semantic, semantic, false},
		"a word that only the lower has":      {long, long + " usually", semantic, semantic, false},
		"a word that only the upper has":      {long + " usually", long, semantic, semantic, true},
		"roles reversed": {"Ana beat Bo at chess", "Bo beat Ana at chess", semantic, semantic,
			false},
		"another tense": {"Ana is a nurse", "Ana was a nurse", semantic, semantic, false},
		"one part of a long text": {"Ana likes green tea and Bo likes black coffee with milk",
			"Ana likes green tea", semantic, semantic, false},
		"a negated text": {"Ana does not like tea", "Ana does like tea", semantic, semantic, false},
		"another speaker": {"I like green tea", "I like green tea!", episode("Ana", 0),
			episode("Bo", 0), false},
		"another day": {"we shipped it today", "we shipped it today!", episode("Ana", 0),
			episode("Ana", 30), false},
		"repeated within a day": {"we shipped it today", "we shipped it today!", episode("Ana", 0),
			episode("ana", 5), true},
		"a fact and an episode": {"Ana likes tea", "Ana likes tea", semantic, episode("", 0), false},
		"a contested one": {"Ana likes tea", "Ana likes tea", semantic, func(e *evidence) {
			semantic(e)
			e.Status = schema.StatusContested
		}, false},
		"texts of punctuation only": {"!!!", "???", semantic, semantic, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := []evidence{judged(1, 0.9, c.upperKind), judged(3, 0.8, semantic), judged(2, 0.7, c.lowerKind)}
			got := rank.CollapseDuplicates(in, map[uuid.UUID]string{number(1): c.upper, number(2): c.lower,
				number(3): "something else altogether"})
			if c.dropped {
				require.Equal(t, []int{1, 3}, order(got))
			} else {
				require.Equal(t, []int{1, 3, 2}, order(got))
			}
		})
	}
	in := []evidence{judged(1, 0.9), judged(2, 0.8)}
	require.Equal(t, []int{1, 2}, order(rank.CollapseDuplicates(in, nil)), "candidates without texts stay")
}

// Two texts that differ in a number or a name both stay.
func TestDuplicatesNeverDropANumberOrAName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base := rapid.SliceOfN(rapid.SampledFrom([]string{"the", "service", "in", "region", "failed", "again", "after",
			"deploy", "of", "release"}), 1, 30).Draw(rt, "words")
		mark := rapid.SampledFrom([]string{"7", "v2", "2026-01-02", "Oslo", "Ana", "12.5"})
		one := mark.Draw(rt, "one")
		other := mark.Filter(func(s string) bool { return s != one }).Draw(rt, "other")
		at := rapid.IntRange(0, len(base)).Draw(rt, "at")
		texts := map[uuid.UUID]string{
			number(1): fmt.Sprint(slices.Insert(slices.Clone(base), at, one)),
			number(2): fmt.Sprint(slices.Insert(slices.Clone(base), at, other)),
			number(3): fmt.Sprint(base),
		}
		fact := func(e *evidence) { e.Type = schema.TypeSemantic }
		got := rank.CollapseDuplicates([]evidence{judged(1, 0.9, fact), judged(2, 0.8, fact), judged(3, 0.7, fact)},
			texts)
		require.Len(rt, got, 3)
	})
}
