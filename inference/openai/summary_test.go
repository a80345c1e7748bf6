package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, completion(`{"summary":"She lives in Oslo."}`, "stop")))
	summarizer := s.brain(t).Reranking.Summarizer
	got, usage, err := summarizer.Summarize(ctx, "where does Ana live? "+canary,
		[]string{"Ana moved to Oslo " + canary})
	require.NoError(t, err)
	require.Equal(t, "She lives in Oslo.", got)
	require.Equal(t, 1, usage.Calls)
	require.NotContains(t, s.requests()[0].Messages[0].Content, canary, "the system prompt has no content")
	_, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.NotContains(t, rest, canary)
	got, _, err = summarizer.Summarize(ctx, "q", nil)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Len(t, s.requests(), 1, "without texts no model is called")
	for name, answer := range map[string]string{"no JSON": "she lives " + canary, "a number": `{"summary":1}`} {
		s := serve(t, status(200, completion(answer, "stop")))
		_, _, err := s.brain(t).Reranking.Summarizer.Summarize(ctx, "q", []string{"x"})
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), canary)
	}
}
