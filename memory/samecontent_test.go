package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
)

func TestSameContent(t *testing.T) {
	t.Parallel()
	require.True(t, memory.SameContent([]byte("x"), []byte("x")))
	require.False(t, memory.SameContent([]byte("x"), []byte("y")))
	require.False(t, memory.SameContent(nil, nil), "a missing hash equals none")

	said := normalize.Normalize("Tea is  served hot.")
	require.True(t, memory.Neighbor{Content: "tea is served hot."}.Says(said), "without a hash, texts are compared")
	require.True(t, memory.Neighbor{Hash: said.Hash, Content: "as it was"}.Says(said))
	require.False(t, memory.Neighbor{Hash: []byte("other"), Content: "Tea is served hot."}.Says(said))
	require.False(t, memory.Neighbor{Content: "Tea is served cold."}.Says(said))
}
