package rank_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
)

func TestExpandQuery(t *testing.T) {
	t.Parallel()
	require.Equal(t, "went gone", rank.ExpandQuery("Where did Ann go?"))
	require.Equal(t, "buy", rank.ExpandQuery("what was BOUGHT"))
	require.Contains(t, strings.Fields(rank.ExpandQuery("which pets has Ann")), "puppy")
	require.Contains(t, strings.Fields(rank.ExpandQuery("which physician does she see")), "doctor")
	require.Contains(t, strings.Fields(rank.ExpandQuery("Which instrument does she play?")), "cello")
	require.Contains(t, strings.Fields(rank.ExpandQuery("what kind of sport do I do")), "swimming")
	require.Contains(t, strings.Fields(rank.ExpandQuery("What board game did we buy?")), "chess")
	require.Equal(t, "v1.2.3 3.13", rank.ExpandQuery("did 1.2.3 or V3.13, and not 7 or x1.2, work"))
	require.NotContains(t, strings.Fields(rank.ExpandQuery("Where is the instrument?")), "cello", "not asked for")
	require.NotContains(t, strings.Fields(rank.ExpandQuery("What does he play?")), "helium")
	require.Empty(t, rank.ExpandQuery("who is Anne"), "names are not expanded")
	require.Empty(t, rank.ExpandQuery("go went gone"), "words of the query are not repeated")
	require.Empty(t, rank.ExpandQuery("?! & | !'x"))
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom(strings.Fields("go pets sport jobs instruments take run see "+
			"children parents which x"))).Draw(rt, "query")
		if n := len(strings.Fields(rank.ExpandQuery(strings.Join(words, " ")))); n > 24+40 {
			rt.Fatalf("%d words", n)
		}
	})
}

func TestExpansionsWeighLessAndSelectRareWords(t *testing.T) {
	t.Parallel()
	quote := func(s string) string { return s }
	corpus := rank.Corpus{Docs: 100_000, Lexemes: 1_000_000}
	plan := rank.PlanText([]rank.Lexeme{{Text: "go", Docs: 100}}, corpus, rank.BroadSearch)
	plan.Expand([]rank.Lexeme{{Text: "went", Docs: 100}, {Text: "gone", Docs: 50_000}, {Text: "go", Docs: 100},
		{Text: "unknown"}}, corpus, rank.BroadSearch)
	require.Len(t, plan.Terms, 1)
	require.Equal(t, 1.0, plan.Terms[0].Weight)
	require.Len(t, plan.Also, 1)
	require.Equal(t, rank.Term{Lexeme: "went", Weight: 0.5}, plan.Also[0])
	require.Equal(t, "go | went", plan.Match(quote))
	var empty rank.TextPlan
	empty.Expand([]rank.Lexeme{{Text: "went", Docs: 1}}, corpus, rank.BroadSearch)
	require.True(t, empty.IsEmpty())
	require.Empty(t, empty.Also)
}

func TestExpansionsSelectIfNoMemoryHasAWordOfTheQuery(t *testing.T) {
	t.Parallel()
	corpus := rank.Corpus{Docs: 1_000, Lexemes: 10_000}
	plan := rank.PlanText([]rank.Lexeme{{Text: "sport"}}, corpus, rank.BroadSearch)
	require.True(t, plan.IsEmpty())
	plan.Expand([]rank.Lexeme{{Text: "swim", Docs: 3}, {Text: "tenni"}}, corpus, rank.BroadSearch)
	require.False(t, plan.IsEmpty())
	require.Equal(t, "swim", plan.Match(func(s string) string { return s }))
	require.Len(t, plan.Also, 1)
	require.Less(t, plan.Also[0].Weight, 0.5, "less than a word of the query")
}
