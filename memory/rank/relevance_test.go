package rank_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/rank"
)

func TestRelevanceWeighsMoreAmongShortTexts(t *testing.T) {
	t.Parallel()
	list := []rank.Evidence{{Score: 0.9, Relevance: 0.1}, {Score: 0.5, Relevance: 0.9}}
	require.Equal(t, 0.9, rank.PreferRelevant(slices.Clone(list), rank.RelevanceBlend(list, 0.2))[0].Relevance)
	require.Equal(t, 0.1, rank.PreferRelevant(slices.Clone(list), rank.RelevanceBlend(list, 1))[0].Relevance)
}

func TestIrrelevantCandidatesAreDropped(t *testing.T) {
	t.Parallel()
	list := []rank.Evidence{{Relevance: 0.4}, {Relevance: 0.1}}
	kept, unknown := rank.EnoughRelevance(list, 0.3, nil)
	require.Len(t, kept, 2, "one near candidate keeps the others")
	require.False(t, unknown)
	kept, unknown = rank.EnoughRelevance(list, 0.5, nil)
	require.Empty(t, kept)
	require.True(t, unknown)
	least := 0.2
	kept, unknown = rank.EnoughRelevance(list, 0.5, &least)
	require.Len(t, kept, 1, "a given minimum applies to each candidate and replaces the floor")
	require.False(t, unknown)
	_, unknown = rank.EnoughRelevance(nil, 0.5, nil)
	require.False(t, unknown, "an empty result is not an unknown answer")
}
