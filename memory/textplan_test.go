package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
)

func plain(lexeme string) string { return lexeme }

func TestPlanText(t *testing.T) {
	t.Parallel()
	corpus := memory.Corpus{Docs: 1000, Lexemes: 8000}
	width := memory.SearchWidth{Terms: 3, Matches: 100}
	plan := func(docs ...int64) memory.TextPlan {
		var ls []memory.Lexeme
		for i, d := range docs {
			ls = append(ls, memory.Lexeme{Text: fmt.Sprint("l", i), Docs: d})
		}
		return memory.PlanText(ls, corpus, width)
	}
	for name, c := range map[string]struct {
		plan  memory.TextPlan
		match string
		terms int
	}{
		"rare ones select":          {plan(5, 50, 900), "l0 | l1", 3},
		"rarest first":              {plan(60, 5), "l1 | l0", 2},
		"over budget only scores":   {plan(60, 50), "l1", 2},
		"one common":                {plan(900), "l0", 1},
		"all common go in pairs":    {plan(900, 800, 950), "l1 & (l0 | l2)", 3},
		"no more terms than wanted": {plan(1, 2, 3, 4, 5), "l0 | l1 | l2", 3},
		"unknown words do not":      {plan(5, 0), "l0", 1},
	} {
		require.Equal(t, c.match, c.plan.Match(plain), name)
		require.Len(t, c.plan.Terms, c.terms, name)
		require.False(t, c.plan.IsEmpty(), name)
	}
	require.True(t, plan(0, 0).IsEmpty())
	require.True(t, plan().IsEmpty())
	require.True(t, memory.PlanText([]memory.Lexeme{{Text: "x", Docs: 1}}, memory.Corpus{}, width).IsEmpty())
	sum := func(p memory.TextPlan) (s float64) {
		for _, term := range p.Terms {
			s += term.Weight
		}
		return s
	}
	require.InDelta(t, 1, sum(plan(5, 50)), 1e-9)
	require.Less(t, sum(plan(5, 0)), 0.6, "a query whose key word is unknown does not look fully answered")
}

func TestPlanTextProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		corpus := memory.Corpus{Docs: rapid.Int64Range(1, 1_000_000).Draw(rt, "docs"), Lexemes: rapid.Int64Range(0, 10_000_000).Draw(rt, "lexemes")}
		width := rapid.SampledFrom([]memory.SearchWidth{memory.BroadSearch, memory.FocusedSearch, {Terms: 1, Matches: 1}}).Draw(rt, "width")
		var ls []memory.Lexeme
		docs := map[string]int64{}
		for i := range rapid.IntRange(0, 40).Draw(rt, "n") {
			l := memory.Lexeme{Text: fmt.Sprint("l", i), Docs: rapid.Int64Range(0, corpus.Docs+5).Draw(rt, "df")} // counts may run ahead of the corpus
			ls, docs[l.Text] = append(ls, l), l.Docs
		}
		p := memory.PlanText(ls, corpus, width)
		if p.IsEmpty() {
			return
		}
		sum := 0.0
		for i, term := range p.Terms {
			if term.Weight <= 0 {
				rt.Fatalf("weight %v", term.Weight)
			}
			sum += term.Weight
			if i > 0 && docs[term.Lexeme] < docs[p.Terms[i-1].Lexeme] {
				rt.Fatal("the rarest come first")
			}
		}
		if sum > 1+1e-9 || len(p.Terms) > width.Terms {
			rt.Fatalf("weights sum to %v over %d terms", sum, len(p.Terms))
		}
		if p.LengthBase <= 0 || p.LengthSlope <= 0 {
			rt.Fatal("length must count")
		}
		match := p.Match(plain)
		if strings.Contains(match, "&") {
			return // common words in pairs
		}
		operands, selected := strings.Split(match, " | "), int64(0)
		for _, o := range operands {
			selected += docs[o]
		}
		if len(operands) > 1 && selected > width.Matches {
			rt.Fatalf("%d memories ranked, %d allowed", selected, width.Matches)
		}
	})
}
