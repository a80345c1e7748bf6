package proposals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
)

func TestAddedChanged(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fact := func(content string) memory.Fact { return memory.Fact{Content: content, Speaker: "Maya"} }
	var added proposals.Added
	require.False(t, added.Changed(fact("I live in Lyon."), at), "no facts were added")
	added.Add("I live in Paris.", "Maya", at)
	require.True(t, added.Changed(fact("I live in Lyon."), at.Add(time.Hour)))
	require.True(t, added.Changed(fact("I live in Lyon."), at))
	require.False(t, added.Changed(fact("I live in Lyon."), at.Add(-time.Hour)), "the added fact is later")
	require.False(t, added.Changed(fact("I live in Paris."), at.Add(time.Hour)), "the same statement")
	require.False(t, added.Changed(fact("The kettle is made of copper."), at.Add(time.Hour)),
		"another subject")
}
