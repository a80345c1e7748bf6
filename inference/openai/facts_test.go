package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/facts"
)

func TestReadFacts(t *testing.T) {
	t.Parallel()
	given := []facts.Statement{{Number: 1, Speaker: "ana", Text: "We chose Postgres " + canary},
		{Number: 2, Text: "The database is Postgres"}}
	s := serve(t, status(200, completion(`{"facts":[{"text":"We use Postgres","statements":[1,2]}]}`, "stop")))
	got, ok, usage, err := s.brain(t).FactReader.ReadFacts(ctx, given)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []facts.Proposed{{Text: "We use Postgres", Statements: []int{1, 2}}}, got)
	require.Equal(t, 1, usage.Calls)
	require.NotContains(t, s.requests()[0].Messages[0].Content, canary, "the system prompt has no content")
	_, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.NotContains(t, rest, canary)
	_, ok, _, err = s.brain(t).FactReader.ReadFacts(ctx, given[:1])
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, s.requests(), 1, "one statement repeats no other")
	for answer, end := range map[string]string{"the same": "stop", `{"facts":[]}`: "length",
		`{"facts":[{"text":"x","statements":[1,3]}]}`: "stop"} {
		s := serve(t, status(200, completion(answer, end)))
		got, ok, usage, err := s.brain(t).FactReader.ReadFacts(ctx, given)
		require.NoError(t, err, answer)
		require.False(t, ok, answer)
		require.Empty(t, got, answer)
		require.Equal(t, 1, usage.Calls, "the call was charged")
	}
}

func TestJudgeConflicts(t *testing.T) {
	t.Parallel()
	pairs := []facts.Pair{{Number: 1, Held: "We use Postgres " + canary, Said: "We use Redis"}}
	s := serve(t, status(200, completion(`{"pairs":[{"number":1,"verdict":"both"}]}`, "stop")))
	got, usage, err := s.brain(t).FactReader.JudgeConflicts(ctx, pairs)
	require.NoError(t, err)
	require.Equal(t, []facts.Verdict{facts.BothHold}, got)
	require.Equal(t, 1, usage.Calls)
	require.NotContains(t, s.requests()[0].Messages[0].Content, canary)
	_, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.NotContains(t, rest, canary)
	got, _, err = s.brain(t).FactReader.JudgeConflicts(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Len(t, s.requests(), 1)
	for _, answer := range []string{"both", `{"pairs":[{"number":2,"verdict":"both"}]}`, `{"pairs":[]}`} {
		s := serve(t, status(200, completion(answer, "stop")))
		got, usage, err := s.brain(t).FactReader.JudgeConflicts(ctx, pairs)
		require.NoError(t, err, answer)
		require.Empty(t, got, answer)
		require.Equal(t, 1, usage.Calls, "the call was charged")
	}
}
