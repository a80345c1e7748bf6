package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store/vector"
)

// The endpoint is used for models that it may have, and not for those of other embedders.
func TestTheEmbedderOfAnotherModel(t *testing.T) {
	clean(t)
	load := func() config.Config {
		c, err := config.Load()
		require.NoError(t, err)
		return c
	}
	model := func(name string) inference.EmbeddingModel {
		return inference.EmbeddingModel{Name: name, Dimensions: 384}
	}
	hash, err := load().OtherEmbedder(model("hash-v1"))
	require.NoError(t, err)
	require.Equal(t, model("hash-v1"), hash.Model())
	_, err = load().OtherEmbedder(model("nomic-embed-text:v1.5"))
	require.ErrorIs(t, err, vector.ErrNoEmbedder, "no endpoint is configured")

	for name, value := range map[string]string{"MNEME_EMBEDDER": "openai",
		"MNEME_OPENAI_BASE_URL": "http://127.0.0.1:1", "MNEME_OPENAI_EMBEDDING_MODEL": "e5",
		"MNEME_OPENAI_EMBEDDING_DIMENSIONS": "8", "MNEME_EMBED_PASSAGE_PREFIX": "passage: "} {
		t.Setenv(name, value)
	}
	brain, err := load().NewBrain(t.Context())
	require.NoError(t, err)
	mark := brain.Embedder.Model().WithoutSpeakers().Name[len("e5"):]
	for _, name := range []string{"nomic-embed-text:v1.5", "text-embedding-3-small", "bge-small" + mark,
		"bge-small" + mark + "+speaker"} {
		other, err := load().OtherEmbedder(model(name))
		require.NoError(t, err, name)
		require.Equal(t, model(name), other.Model())
	}
	for _, name := range []string{"tiny:mean:0123abcd", "bge-small-en-v1.5:cls:89abcdef", "hash-v2", "e5+01234567"} {
		_, err := load().OtherEmbedder(model(name))
		require.ErrorIs(t, err, vector.ErrNoEmbedder, name)
	}
	_, err = load().OtherEmbedder(inference.EmbeddingModel{Name: "text-embedding-3-small"})
	require.ErrorIs(t, err, vector.ErrNoEmbedder, "its dimensions are unknown")
}
