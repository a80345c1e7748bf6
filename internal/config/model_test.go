package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/config"
)

// The name of an embedding model becomes part of the index's data. A name that the database refuses is an error at the
// start, and not one of every write to the index.
func TestTheNameOfAnEmbeddingModel(t *testing.T) {
	clean(t)
	t.Setenv("MNEME_EMBEDDER", "openai")
	t.Setenv("MNEME_OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	t.Setenv("MNEME_OPENAI_EMBEDDING_DIMENSIONS", "8")
	for name, valid := range map[string]bool{"text-embedding-3-small": true, "BAAI/bge-m3": true, "nomic:v1.5@q4": true,
		"my model": false, "größe": false, "-x": false, "a'b": false, strings.Repeat("m", 129): false} {
		t.Setenv("MNEME_OPENAI_EMBEDDING_MODEL", name)
		c, err := config.Load()
		require.NoError(t, err)
		_, err = c.NewBrain(t.Context())
		if valid {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, "embedding model", name)
	}
}
