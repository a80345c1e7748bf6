package memory_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
)

func TestNaming(t *testing.T) {
	t.Parallel()
	source, fact, other := uuid.New(), uuid.New(), uuid.New()
	texts := []memory.Text{
		{ID: fact, Content: "Maya lives in Lyon."},
		{ID: source, Content: "I met Maya, who lives in Lyon and works for Acme."},
		{ID: other, Content: "Maya works for Acme."},
	}
	require.Equal(t, []uuid.UUID{fact, source, other}, memory.Naming(texts, source, "maya"))
	require.Equal(t, []uuid.UUID{fact, source}, memory.Naming(texts, source, "maya", "lyon"))
	require.Equal(t, []uuid.UUID{source}, memory.Naming(texts, source, "acme corp"), "not in any text: the source")
	require.Equal(t, []uuid.UUID{fact}, memory.Naming(texts[:1], source, "acme corp"), "without the source")
	require.Empty(t, memory.Naming(nil, source, "maya"))
}
