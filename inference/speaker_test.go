package inference_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
)

func TestASpaceWithSpeakers(t *testing.T) {
	t.Parallel()
	plain := rules.New().Embedder
	with := inference.WithSpeakers(plain)
	require.Equal(t, "hash-v1+speaker", with.Model().Name)
	require.True(t, with.Model().IncludesSpeakers())
	require.False(t, plain.Model().IncludesSpeakers())
	require.Equal(t, plain.Model(), with.Model().WithoutSpeakers())
	require.Equal(t, plain.Model(), inference.InSpace(with, plain.Model()).Model())
	require.Equal(t, with.Model(), inference.WithSpeakers(with).Model(), "the suffix is added once")

	// A question is embedded as it is.
	a, _, err := inference.EmbedQuery(t.Context(), plain, "Who passed?")
	require.NoError(t, err)
	b, _, err := inference.EmbedQuery(t.Context(), with, "Who passed?")
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestPassage(t *testing.T) {
	t.Parallel()
	plain := inference.EmbeddingModel{Name: "m"}
	with := inference.EmbeddingModel{Name: "m+speaker"}
	for _, test := range []struct{ speaker, want string }{
		{"Maya", "Maya: I passed."},
		{"", "I passed."},
		{"user", "I passed."},
		{"Assistant", "I passed."},
	} {
		require.Equal(t, test.want, with.Passage(test.speaker, "I passed."))
		require.Equal(t, "I passed.", plain.Passage(test.speaker, "I passed."))
	}
}
