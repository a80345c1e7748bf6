package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/wording"
)

func TestSummarizeEpisodes(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, completion(`{"summary":"Three builds ended in success."}`, "stop")))
	got, usage, err := s.brain(t).EpisodeWriter.SummarizeEpisodes(ctx, []string{"a build " + canary, "another"})
	require.NoError(t, err)
	require.Equal(t, "Three builds ended in success.", got)
	require.Equal(t, 1, usage.Calls)
	require.NotContains(t, s.requests()[0].Messages[0].Content, canary, "the system prompt has no content")
	_, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.NotContains(t, rest, canary)
	got, _, err = s.brain(t).EpisodeWriter.SummarizeEpisodes(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Len(t, s.requests(), 1, "without episodes no model is called")
	for name, answer := range map[string]string{"no JSON": "three builds " + canary, "a number": `{"summary":1}`} {
		s := serve(t, status(200, completion(answer, "stop")))
		got, usage, err := s.brain(t).EpisodeWriter.SummarizeEpisodes(ctx, []string{"x"})
		require.NoError(t, err, name)
		require.Empty(t, got, name)
		require.Equal(t, 1, usage.Calls, "the call was charged")
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	subject := wording.Subject{Problem: "stale cache " + canary,
		Steps: []wording.Step{{Number: 1, Tool: "shell", Text: "clear {path}"}}}
	answer := `{"name":"Clear the cache","steps":[{"number":1,"tool":"shell","text":"Clear {path}"}]}`
	s := serve(t, status(200, completion(answer, "stop")))
	got, usage, err := s.brain(t).Describer.Describe(ctx, subject)
	require.NoError(t, err)
	require.Equal(t, wording.Description{Name: "Clear the cache",
		Steps: []wording.Step{{Number: 1, Tool: "shell", Text: "Clear {path}"}}}, got)
	require.Equal(t, 1, usage.Calls)
	require.NotContains(t, s.requests()[0].Messages[0].Content, canary)
	_, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.NotContains(t, rest, canary)
	s = serve(t, status(200, completion(answer, "length")))
	got, _, err = s.brain(t).Describer.Describe(ctx, subject)
	require.NoError(t, err)
	require.Empty(t, got, "a truncated answer is not used")
}

func TestJudgeDuplicates(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"Ana owns it " + canary, "It is owned by Ana"}}
	s := serve(t, status(200, completion(`{"pairs":[{"number":1,"same":true}]}`, "stop")))
	got, usage, err := s.brain(t).DuplicateJudge.JudgeDuplicates(ctx, pairs)
	require.NoError(t, err)
	require.Equal(t, []bool{true}, got)
	require.Equal(t, 1, usage.Calls)
	require.NotContains(t, s.requests()[0].Messages[0].Content, canary, "the system prompt has no content")
	_, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.NotContains(t, rest, canary)
	got, _, err = s.brain(t).DuplicateJudge.JudgeDuplicates(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Len(t, s.requests(), 1, "without pairs no model is called")
	for _, answer := range []string{"the same", `{"pairs":[{"number":2,"same":true}]}`, `{"pairs":[]}`} {
		s := serve(t, status(200, completion(answer, "stop")))
		got, usage, err := s.brain(t).DuplicateJudge.JudgeDuplicates(ctx, pairs)
		require.NoError(t, err, answer)
		require.Empty(t, got, answer)
		require.Equal(t, 1, usage.Calls, "the call was charged")
	}
}
