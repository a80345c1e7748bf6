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
	"github.com/mneme/mneme/schema"
)

func TestSessionDigest(t *testing.T) {
	t.Parallel()
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	text, shown, cut := rank.SessionDigest([]rank.Noted{
		{ids[0], schema.TypeWorking, schema.CategoryFact, "measuring the\n kitchen"},
		{ids[1], schema.TypeSemantic, schema.CategoryDecision, "We take induction."},
		{ids[2], schema.TypeSemantic, schema.CategoryDecision, "We  take induction."},
		{ids[3], schema.TypePlanGraph, schema.CategoryProcedural, "Refit"}})
	require.Equal(t, "working: measuring the kitchen\ndecision: We take induction.\nplan graph: Refit", text)
	require.Equal(t, []uuid.UUID{ids[0], ids[1], ids[3]}, shown)
	require.False(t, cut)
}

func TestSessionDigestLength(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var records []rank.Noted
		for range rapid.IntRange(0, 8).Draw(rt, "records") {
			records = append(records, rank.Noted{ID: uuid.New(), Type: schema.TypeSemantic,
				Category: schema.CategoryFact,
				Text: strings.Repeat(rapid.SampledFrom([]string{"ä", "word ", "x"}).Draw(rt, "unit"),
					rapid.IntRange(1, 1500).Draw(rt, "length"))})
		}
		text, shown, cut := rank.SessionDigest(records)
		require.LessOrEqual(rt, utf8.RuneCountInString(text), rank.MaxSupplementChars)
		require.Equal(rt, len(records) > 0, len(shown) > 0)
		require.Equal(rt, cut, strings.HasSuffix(text, normalize.CutMark))
	})
}
