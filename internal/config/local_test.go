package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/config"
)

func TestTheLocalEmbedderIsConfigured(t *testing.T) {
	dir, err := filepath.Abs("../../inference/local/testdata/tiny")
	require.NoError(t, err)
	clean(t)
	t.Setenv("MNEME_EMBEDDER", "local")
	c, err := config.Load()
	require.NoError(t, err)
	_, err = c.NewBrain(t.Context())
	require.ErrorContains(t, err, "MNEME_EMBED_MODEL_DIR")
	require.ErrorContains(t, err, "MNEME_EMBED_MODEL")

	t.Setenv("MNEME_EMBED_MODEL_DIR", filepath.Join(dir, "nowhere"))
	c, err = config.Load()
	require.NoError(t, err)
	_, err = c.NewBrain(t.Context())
	require.ErrorContains(t, err, "there is no directory")

	for entries, counted := range map[string]int{"": 0, "0": 1} {
		t.Setenv("MNEME_EMBED_MODEL_DIR", dir)
		t.Setenv("MNEME_EMBED_CACHE", entries)
		c, err = config.Load()
		require.NoError(t, err)
		brain, err := c.NewBrain(t.Context())
		require.NoError(t, err)
		require.NotNil(t, brain.Extractor)
		model := brain.Embedder.Model()
		require.Equal(t, 16, model.Dimensions)
		require.True(t, strings.HasPrefix(model.Name, "tiny:mean:"), model.Name)
		_, _, err = inference.EmbedQuery(t.Context(), brain.Embedder, "tea")
		require.NoError(t, err)
		_, usage, err := inference.EmbedQuery(t.Context(), brain.Embedder, "tea")
		require.NoError(t, err)
		require.Equal(t, counted, usage.Calls)
	}
}

func TestPrefixesOfARemoteModel(t *testing.T) {
	clean(t)
	for name, value := range map[string]string{"MNEME_EMBEDDER": "openai",
		"MNEME_OPENAI_BASE_URL": "http://127.0.0.1:1", "MNEME_OPENAI_EMBEDDING_MODEL": "e5",
		"MNEME_OPENAI_EMBEDDING_DIMENSIONS": "8"} {
		t.Setenv(name, value)
	}
	name := func() string {
		c, err := config.Load()
		require.NoError(t, err)
		brain, err := c.NewBrain(t.Context())
		require.NoError(t, err)
		return brain.Embedder.Model().Name
	}
	require.Equal(t, "e5+speaker", name())
	t.Setenv("MNEME_EMBED_QUERY_PREFIX", "query: ")
	require.Equal(t, "e5+speaker", name())
	t.Setenv("MNEME_EMBED_PASSAGE_PREFIX", "none")
	require.Equal(t, "e5+speaker", name())
	t.Setenv("MNEME_EMBED_SPEAKERS", "false")
	require.Equal(t, "e5", name())
	t.Setenv("MNEME_EMBED_PASSAGE_PREFIX", "passage: ")
	require.NotEqual(t, "e5", name(), "another space")
}
