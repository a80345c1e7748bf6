package layers_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

func items(layer schema.LayerName, tokens ...int) []layers.Item {
	var out []layers.Item
	for _, n := range tokens {
		out = append(out, layers.Item{Layer: layer, Tokens: n, Shell: 12})
	}
	return out
}

func TestFillLeavesRoomForEachLayer(t *testing.T) {
	t.Parallel()
	// For every set of layers and every limit, each layer has a hundred items, and the layers follow one another.
	for set := 1; set < 1<<5; set++ {
		var all []layers.Item
		var in []schema.LayerName
		for i, layer := range schema.Layers() {
			if set&(1<<i) != 0 {
				in = append(in, layer)
				all = append(all, items(layer, slices.Repeat([]int{20}, 100)...)...)
			}
		}
		for limit := 1; limit <= 50; limit++ {
			counts := map[schema.LayerName]int{}
			for _, p := range layers.Fill(all, limit, 0) {
				counts[all[p.Index].Layer]++
			}
			sum := 0
			for _, layer := range in {
				sum += counts[layer]
				if limit >= len(in) {
					require.Positive(t, counts[layer], "%s of %v with limit %d", layer, in, limit)
				}
			}
			require.Equal(t, limit, sum)
		}
	}
	// With a token budget, a hundred higher-ranked turns leave room for the only procedure.
	all := append(items(schema.LayerEpisodic, slices.Repeat([]int{50}, 100)...), items(schema.LayerCompetence, 90)...)
	placed := layers.Fill(all, 50, 500)
	require.Equal(t, 100, placed[len(placed)-1].Index)
	// If no other layer has items, the turns use the whole budget.
	require.Len(t, layers.Fill(items(schema.LayerEpisodic, slices.Repeat([]int{50}, 100)...), 50, 500), 10)
}

func TestFillPrefersWholeItems(t *testing.T) {
	t.Parallel()
	require.Empty(t, layers.Fill(nil, 10, 100))
	require.Empty(t, layers.Fill(items(schema.LayerSemantic, 20), 0, 100))
	// The best item of a layer is cut to the share of the layer if it is too long. Items that fit are not cut.
	all := append(items(schema.LayerSemantic, 400), items(schema.LayerEpisodic, 30, 30)...)
	placed := layers.Fill(all, 10, 200)
	require.Equal(t, 0, placed[0].Index)
	require.True(t, placed[0].Cut)
	require.Len(t, placed, 3)
	placed = layers.Fill(append(items(schema.LayerSemantic, 150), items(schema.LayerEpisodic, 30)...), 10, 200)
	require.Equal(t, []layers.Placed{{Index: 0, Tokens: 150}, {Index: 1, Tokens: 30}}, placed,
		"the other layer leaves room")
	// If no item fits, the best one is cut to the budget.
	require.Equal(t, []layers.Placed{{Index: 0, Tokens: 20, Cut: true}},
		layers.Fill(items(schema.LayerSemantic, 400, 300), 10, 20))
	require.Empty(t, layers.Fill(items(schema.LayerSemantic, 400), 10, 12), "no room for a word")
	// The selected item comes before the rest of its layer.
	all = items(schema.LayerCompetence, 60, 60, 60)
	all[2].Selected = true
	placed = layers.Fill(all, 10, 60)
	require.Equal(t, []layers.Placed{{Index: 2, Tokens: 60}}, placed)
}

func TestFillPassages(t *testing.T) {
	t.Parallel()
	long := layers.Item{Layer: schema.LayerEpisodic, Tokens: 1000, Shell: 12, Passage: 150}
	require.Len(t, layers.Fill(slices.Repeat([]layers.Item{long}, 8), 10, 1300), 8, "only one fits uncut")
	three := slices.Repeat([]layers.Item{long}, 3)
	require.Equal(t, []layers.Placed{{Index: 0, Tokens: 1000}, {Index: 1, Tokens: 150, Cut: true},
		{Index: 2, Tokens: 150, Cut: true}}, layers.Fill(three, 10, 1300), "the best item gets the rest")
	require.Equal(t, []layers.Placed{{Index: 0, Tokens: 1000}}, layers.Fill(three[:1], 10, 0), "without a budget")
}

func TestFillProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var all []layers.Item
		for range rapid.IntRange(0, 60).Draw(rt, "n") {
			shell := rapid.IntRange(0, 20).Draw(rt, "shell")
			item := layers.Item{Layer: rapid.SampledFrom(schema.Layers()).Draw(rt, "layer"), Shell: shell,
				Tokens:   shell + rapid.IntRange(1, 300).Draw(rt, "tokens"),
				Selected: rapid.Bool().Draw(rt, "selected")}
			if item.Tokens-shell > 1 && rapid.Bool().Draw(rt, "long") {
				item.Passage = shell + rapid.IntRange(1, item.Tokens-shell-1).Draw(rt, "passage")
			}
			all = append(all, item)
		}
		limit, budget := rapid.IntRange(0, 50).Draw(rt,
			"limit"), rapid.SampledFrom([]int{0, 1, 20, 100, 1000, 100000}).Draw(rt, "budget")
		placed := layers.Fill(all, limit, budget)
		sum, before := 0, -1
		for _, p := range placed {
			sum += p.Tokens
			if p.Index <= before || p.Cut != (p.Tokens < all[p.Index].Tokens) || p.Tokens > all[p.Index].Tokens ||
				p.Cut && p.Tokens <= all[p.Index].Shell {
				rt.Fatalf("%+v", placed)
			}
			before = p.Index
		}
		if len(placed) > limit || budget > 0 && sum > budget {
			rt.Fatalf("%d results, %d tokens, limit %d, budget %d", len(placed), sum, limit, budget)
		}
		if budget == 0 && len(placed) != min(limit, len(all)) {
			rt.Fatalf("%d of %d", len(placed), len(all))
		}
		again := make([]layers.Item, len(placed)) // the placed items fit
		for i, p := range placed {
			again[i] = all[p.Index]
			again[i].Tokens = p.Tokens
			if p.Cut {
				again[i].Passage = 0
			}
		}
		if len(layers.Fill(again, limit, budget)) != len(placed) {
			rt.Fatal("fitting again leaves something out")
		}
	})
}

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "   ": 0, "cat": 1, "Never deploy on Fridays.": 7, "2026": 2, "今日は晴れ": 5, "привет": 3, "🙂": 2, "a\nb": 3,
		"don't": 3,
	} {
		require.Equal(t, want, layers.EstimateTokens(text), "%q", text)
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.String().Draw(rt, "a"), rapid.String().Draw(rt, "b")
		x, y, both := layers.EstimateTokens(a), layers.EstimateTokens(b), layers.EstimateTokens(a+b)
		if both > x+y || both < max(x, y) {
			rt.Fatalf("%d and %d, together %d", x, y, both)
		}
		n := rapid.IntRange(0, 40).Draw(rt, "tokens")
		cut, was := layers.CutTokens(a, n)
		if layers.EstimateTokens(cut) > n || was != (x > n) || !was && cut != a || was && cut != "" &&
			!strings.HasSuffix(cut, strings.TrimSpace(normalize.CutMark)) || !utf8.ValidString(cut) &&
			utf8.ValidString(a) {
			rt.Fatalf("%q cut to %d is %q", a, n, cut)
		}
		if short, was := normalize.CutChars(a, n+10); utf8.RuneCountInString(short) > n+10 ||
			was != (utf8.RuneCountInString(a) > n+10) {
			rt.Fatalf("%q cut to %d is %q", a, n+10, short)
		}
	})
	require.Equal(t, "one two three […]", first(layers.CutTokens("one two three four five six seven", 6)))
}

func first[A, B any](a A, _ B) A { return a }
