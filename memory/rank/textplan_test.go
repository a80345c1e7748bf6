package rank_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
)

func plain(lexeme string) string { return lexeme }

func TestPlanText(t *testing.T) {
	t.Parallel()
	corpus := rank.Corpus{Docs: 1000, Lexemes: 8000}
	width := rank.SearchWidth{Terms: 3, Matches: 100}
	plan := func(docs ...int64) rank.TextPlan {
		var ls []rank.Lexeme
		for i, d := range docs {
			ls = append(ls, rank.Lexeme{Text: fmt.Sprint("l", i), Docs: d})
		}
		return rank.PlanText(ls, corpus, width)
	}
	for name, c := range map[string]struct {
		plan  rank.TextPlan
		match string
		terms int
	}{
		"rare words select":         {plan(5, 50, 900), "l0 | l1", 3},
		"rarest first":              {plan(60, 5), "l1 | l0", 2},
		"over budget only scores":   {plan(60, 50), "l1", 2},
		"one common":                {plan(900), "l0", 1},
		"all common: all of them":   {plan(900, 800, 950), "l1 & l0 & l2", 3},
		"all common: most of them":  {plan(150, 200, 150), "l0 & (l2 | l1) | l2 & l1", 3},
		"no more terms than wanted": {plan(1, 2, 3, 4, 5), "l0 | l1 | l2", 3},
		"unknown words are dropped": {plan(5, 0), "l0", 1},
	} {
		require.Equal(t, c.match, c.plan.Match(plain), name)
		require.Len(t, c.plan.Terms, c.terms, name)
		require.False(t, c.plan.IsEmpty(), name)
	}
	width.Enough = 10
	require.Equal(t, "l0 | l2 & l1", plan(5, 300, 200).Match(plain), "few rare matches: also the other words")
	require.Equal(t, "l0", plan(5, 800, 700).Match(plain), "too many expected matches")
	require.Equal(t, "l0", plan(10, 300, 200).Match(plain), "enough rare matches")
	width.Pairs = true
	require.Equal(t, "l1 & (l0 | l2)", plan(900, 800, 950).Match(plain),
		"short texts rarely contain most words of a query")
	width.Pairs, width.Rare = false, true
	require.Equal(t, "l1 | l2", plan(900, 5, 60, 70).Match(plain), "only rare words select")
	require.True(t, plan(900).IsEmpty(), "one common word")
	require.True(t, plan(900, 800, 950).IsEmpty(), "common words together")
	require.True(t, plan(0, 0).IsEmpty())
	require.True(t, plan().IsEmpty())
	require.True(t, rank.PlanText([]rank.Lexeme{{Text: "x", Docs: 1}}, rank.Corpus{}, width).IsEmpty())
	sum := func(p rank.TextPlan) (s float64) {
		for _, term := range p.Terms {
			s += term.Weight
		}
		return s
	}
	require.InDelta(t, 1, sum(plan(5, 50)), 1e-9)
	require.Less(t, sum(plan(5, 0)), 0.6, "an unknown key word leaves the query partly unanswered")
}

func TestPlanTextProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		corpus := rank.Corpus{Docs: rapid.Int64Range(1, 1_000_000).Draw(rt, "docs"),
			Lexemes: rapid.Int64Range(0, 10_000_000).Draw(rt, "lexemes")}
		width := rapid.SampledFrom([]rank.SearchWidth{rank.BroadSearch, rank.FocusedSearch,
			{Terms: 1, Matches: 1}}).Draw(rt, "width")
		var ls []rank.Lexeme
		docs := map[string]int64{}
		for i := range rapid.IntRange(0, 40).Draw(rt, "n") {
			// counts may be newer than the corpus size
			l := rank.Lexeme{Text: fmt.Sprint("l", i), Docs: rapid.Int64Range(0, corpus.Docs+5).Draw(rt, "df")}
			ls, docs[l.Text] = append(ls, l), l.Docs
		}
		p := rank.PlanText(ls, corpus, width)
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
			return // common words
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

// About as many memories are ranked as the width allows: those with a rare word of the query, and those with most of
// the weight of its common words.
func TestPlanTextSelectsByWeight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		corpus := rank.Corpus{Docs: rapid.Int64Range(2_000, 10_000_000).Draw(rt, "docs"), Lexemes: 10_000_000}
		var ls []rank.Lexeme
		docs := map[string]int64{}
		for i := range rapid.IntRange(2, 8).Draw(rt, "n") {
			l := rank.Lexeme{Text: fmt.Sprint("l", i),
				Docs: max(1, int64(float64(corpus.Docs)*math.Pow(10, rapid.Float64Range(-6, 0).Draw(rt, "share"))))}
			ls, docs[l.Text] = append(ls, l), l.Docs
		}
		p := rank.PlanText(ls, corpus, rank.BroadSearch)
		match := p.Match(plain)
		matches := selects(match)
		chance, lightest, heaviest, rare := 0.0, 2.0, -1.0, false
		for held := range 1 << len(p.Terms) {
			weight, likely, has := 0.0, 1.0, map[string]bool{}
			for i, term := range p.Terms {
				share := float64(docs[term.Lexeme]) / float64(corpus.Docs)
				if held>>i&1 == 1 {
					weight, likely, has[term.Lexeme] = weight+term.Weight, likely*share, true
				} else {
					likely *= 1 - share
				}
			}
			if matches(has) {
				chance, lightest = chance+likely, min(lightest, weight)
				rare = rare || len(has) == 1
			} else {
				heaviest = max(heaviest, weight)
			}
		}
		all := strings.Join(lexemesOf(p.Terms), " & ")
		if expected := chance * float64(corpus.Docs); match != all &&
			expected > float64(rank.BroadSearch.Matches)*1.001 {
			rt.Fatalf("%s selects %v of %d", match, expected, corpus.Docs)
		}
		if !rare && heaviest > lightest+1e-6 {
			rt.Fatalf("%s selects weight %v and leaves out weight %v", match, lightest, heaviest)
		}
		every := map[string]bool{}
		for word := range docs {
			every[word] = true
		}
		if !matches(every) {
			rt.Fatalf("%s leaves out texts with every word", match)
		}
		if selected := chance * float64(corpus.Docs); !p.FoundLittle(0, 10) && selected > 1 || p.FoundLittle(9, 10) &&
			selected < 45 {
			rt.Fatalf("few of %v", selected)
		}
	})
}

func lexemesOf(terms []rank.Term) []string {
	out := make([]string, len(terms))
	for i, term := range terms {
		out[i] = term.Lexeme
	}
	return out
}

// selects parses a condition of &, | and parentheses like to_tsquery. & binds tighter than |.
func selects(match string) func(has map[string]bool) bool {
	return func(has map[string]bool) bool {
		tokens := strings.Fields(strings.NewReplacer("(", "( ", ")", " )").Replace(match))
		next := func() string {
			token := tokens[0]
			tokens = tokens[1:]
			return token
		}
		var either func() bool
		operand := func() bool {
			token := next()
			if token != "(" {
				return has[token]
			}
			found := either()
			next()
			return found
		}
		both := func() bool {
			found := operand()
			for len(tokens) > 0 && tokens[0] == "&" {
				next()
				found = operand() && found
			}
			return found
		}
		either = func() bool {
			found := both()
			for len(tokens) > 0 && tokens[0] == "|" {
				next()
				found = both() || found
			}
			return found
		}
		return either()
	}
}
