package rank_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/rank"
)

func TestExcerpt(t *testing.T) {
	t.Parallel()
	turn := func(n int, text string) rank.Utterance {
		return rank.Utterance{ID: uuid.UUID{15: byte(n + 10)}, Speaker: "Ana", Text: text, Distance: n}
	}
	text, shown, cut := rank.Excerpt([]rank.Utterance{turn(0, "b"), turn(1, "c"), turn(-1, "a")})
	require.Equal(t, "Ana: a\nAna: b\nAna: c", text)
	require.Len(t, shown, 3)
	require.False(t, cut)
	long := strings.Repeat("word ", 60)
	text, shown, cut = rank.Excerpt([]rank.Utterance{turn(0, "b"), turn(1, long), turn(-1, long), turn(2, long),
		turn(-2, long)})
	require.Equal(t, []uuid.UUID{{15: 9}, {15: 10}, {15: 11}}, shown, "the farthest are dropped first")
	require.True(t, strings.HasPrefix(text, "[…]\n") && strings.HasSuffix(text, "\n[…]"))
	require.False(t, cut, "no turn is cut")
	text, _, cut = rank.Excerpt([]rank.Utterance{turn(0, strings.Repeat(long, 5)), turn(1, "c")})
	require.True(t, cut)
	require.Contains(t, text, normalize.CutMark)
	rapid.Check(t, func(rt *rapid.T) {
		var turns []rank.Utterance
		for n := -3; n <= 3; n++ {
			turns = append(turns, turn(n, rapid.StringN(0, 700, -1).Draw(rt, "text")))
		}
		if text, shown, _ := rank.Excerpt(turns); utf8.RuneCountInString(text) > rank.MaxSupplementChars ||
			len(shown) == 0 {
			rt.Fatalf("%d characters, %d turns", utf8.RuneCountInString(text), len(shown))
		}
	})
}

func TestCard(t *testing.T) {
	t.Parallel()
	text, shown := rank.Card([]rank.CardClaim{{uuid.UUID{1}, "Dana", "lives_in", "Turin"},
		{uuid.UUID{2}, "Dana", "states", "tea is fine"}, {uuid.UUID{3}, "dana", "lives_in", "Turin"}})
	require.Equal(t, "Dana: lives in Turin; tea is fine", text)
	require.Equal(t, []uuid.UUID{{1}, {2}}, shown)
	rapid.Check(t, func(rt *rapid.T) {
		var claims []rank.CardClaim
		for i := range rapid.IntRange(1, 30).Draw(rt, "n") {
			claims = append(claims, rank.CardClaim{Memory: uuid.UUID{byte(i)}, Subject: "Dana", Predicate: "owns",
				Object: rapid.StringN(1, 1500, -1).Draw(rt, "object")})
		}
		if text, shown := rank.Card(claims); utf8.RuneCountInString(text) > rank.MaxSupplementChars || len(shown) == 0 {
			rt.Fatalf("%d characters of %d", utf8.RuneCountInString(text), len(shown))
		}
	})
}

func TestSupplementPlaces(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{1, 4, 2, 3}, rank.TakeTurns([]int{1, 2, 3}, nil, []int{4}))
	for limit, want := range map[int]int{1: 0, 2: 1, 5: 1, 10: 3, 50: 15} {
		require.Equal(t, want, rank.ReservedPlaces(limit))
	}
	require.Equal(t, []int{3, 3, 15}, []int{rank.MaxCards(1), rank.MaxCards(10), rank.MaxCards(50)})
	scores := rank.SupplementScores(0.5, 4)
	for i, s := range scores {
		require.True(t, s > 0 && s < 0.5 && (i == 0 || s < scores[i-1]))
	}
}

func TestRescue(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"photo", "green"}, rank.RescueWords("What is the photosynthetic greenhouse's it of"))
	require.Equal(t, []string{"茶隼在塔上"}, rank.RescueWords("茶隼在塔上筑巢"))
	require.Empty(t, rank.RescueWords("what was it about? !!! 'of"))
	require.Zero(t, rank.RescueScore(1, 3))
	require.Less(t, rank.RescueScore(2, 3), rank.RescueScore(3, 3))
	found, passage, cut := rank.RescueFind(strings.Repeat("lorem ipsum ",
		100)+"a quixotic windmill"+strings.Repeat(" dolor", 300), []string{"quixo", "windm", "zebra"})
	require.Equal(t, 2, found)
	require.True(t, cut)
	require.Contains(t, passage, "a quixotic windmill")
	found, _, _ = rank.RescueFind("photosynthesis", []string{"pho", "photo"})
	require.Equal(t, 2, found)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		n, passage, _ := rank.RescueFind(text, rank.RescueWords(text+rapid.String().Draw(rt, "more")))
		if n < 0 || utf8.RuneCountInString(passage) > rank.MaxSupplementChars || utf8.ValidString(text) &&
			!utf8.ValidString(passage) {
			rt.Fatalf("%d %q", n, passage)
		}
	})
}

func TestPassage(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum ", 200)
	wanted := rank.RescueWords("What did the kettle cost in İzmir, with its warranty?")
	passage, cut := rank.Passage("kettle kettle kettle "+filler+"İİİ the Kettle cost ninety with warranty "+filler,
		wanted)
	require.True(t, cut)
	require.Contains(t, passage, "the Kettle cost ninety with warranty")
	require.True(t, strings.HasPrefix(passage, strings.TrimSpace(normalize.CutMark)) && strings.HasSuffix(passage,
		normalize.CutMark))
	for text, want := range map[string]bool{filler + "kettle": true, filler: true, "the kettle": false, "": false} {
		passage, cut = rank.Passage(text, wanted)
		require.Equal(t, want, cut)
		require.LessOrEqual(t, utf8.RuneCountInString(passage), rank.MaxSupplementChars)
		require.Equal(t, strings.Contains(text, "kettle"), strings.Contains(passage, "kettle"))
	}
	short := "a kettle"
	passage, _ = rank.Passage(short, wanted)
	require.Equal(t, short, passage)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		text = strings.Repeat(text, rapid.IntRange(1, 40).Draw(rt, "times"))
		passage, cut := rank.Passage(text, rank.RescueWords(text))
		if utf8.RuneCountInString(passage) > rank.MaxSupplementChars || !utf8.ValidString(passage) ||
			cut == (passage == text) {
			rt.Fatalf("%v %q", cut, passage)
		}
	})
}
