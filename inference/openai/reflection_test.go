package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema/ledger"
)

// A model gets events with numbers and cites these numbers. The text of events is enclosed as data.
func TestReflect(t *testing.T) {
	t.Parallel()
	span := []ledger.Event{
		{ID: "a", Agent: "ann", Kind: ledger.KindAgentSpoke, Turn: 1,
			Payload: json.RawMessage(`{"text":"The cache is stale ` + canary + `"}`)},
		{ID: "b", Agent: "bob", Kind: ledger.KindAgentSpoke, Turn: 2,
			Payload: json.RawMessage(`{"text":"` + strings.Repeat("long ", 1000) + `"}`)},
	}
	s := serve(t, status(200, completion(`{"belief":"The cache lies.","based_on":[2,1]}`, "stop")))
	got, usage, err := s.brain(t).Reasoner.Reflect(ctx, "ann", span)
	require.NoError(t, err)
	require.Equal(t, inference.Belief{Text: "The cache lies.", BasedOn: []string{"a", "b"}}, got)
	require.Equal(t, 1, usage.Calls)
	require.Equal(t, int64(11), usage.PromptTokens)
	require.NotContains(t, s.requests()[0].Messages[0].Content, canary, "the system prompt has no content")
	data, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.NotContains(t, rest, canary)
	require.Contains(t, data, `"n":1`)
	require.Contains(t, data, "[truncated]")
	require.NotContains(t, data, `"id"`)

	for name, answer := range map[string]string{
		"invents an event": completion(`{"belief":"`+canary+`","based_on":[3]}`, "stop"),
		"cites nothing":    completion(`{"belief":"`+canary+`","based_on":[]}`, "stop"),
		"says nothing":     completion(``, "stop"),
		"is cut off":       completion(`{"belief":"x","based_on":[1]}`, "length"),
	} {
		s := serve(t, status(200, answer))
		_, usage, err := s.brain(t).Reasoner.Reflect(ctx, "ann", span)
		var unusable *inference.AnswerError
		require.True(t, errors.As(err, &unusable), "%s: %v", name, err)
		require.NotContains(t, err.Error(), canary)
		require.Equal(t, 1, usage.Calls, "the call is charged")
	}
	s = serve(t, status(401, `{"error":{"message":"`+canary+`"}}`))
	_, _, err = s.brain(t).Reasoner.Reflect(ctx, "ann", span)
	require.True(t, inference.IsPermanent(err))
}
