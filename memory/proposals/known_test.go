package proposals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

func TestSourceStates(t *testing.T) {
	t.Parallel()
	source := func(t schema.MemoryType, content string) memory.Neighbor {
		return memory.Neighbor{Type: t, Content: content, Hash: normalize.Normalize(content).Hash}
	}
	fact := memory.Fact{Content: "Maya lives in Lyon"}
	require.True(t, proposals.SourceStates(fact, source(schema.TypeSemantic, "maya lives in  Lyon.")))
	require.False(t, proposals.SourceStates(fact, source(schema.TypeSemantic, "Maya lives in Lyon and likes tea.")))
	require.False(t, proposals.SourceStates(fact, source(schema.TypeEpisodic, "Maya lives in Lyon")), "episodes fade")
	require.False(t, proposals.SourceStates(fact, memory.Neighbor{}), "the source is not stored")
}

func TestTypeOfSource(t *testing.T) {
	t.Parallel()
	for _, kind := range []schema.SourceKind{schema.SourceUserInput, schema.SourceToolOutput, schema.SourceObservation,
		schema.SourceOutcome, schema.SourceMemory} {
		require.Equal(t, memory.Classify(schema.Candidate{SourceKind: kind, Content: "Maya lives in Lyon."},
			normalize.Prefix{Content: "Maya lives in Lyon."}).Type, proposals.TypeOfSource(kind), kind)
	}
}
