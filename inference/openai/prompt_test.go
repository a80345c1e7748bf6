package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// The prompt of a decision has the speaker and the time of each statement, and the state of each candidate.
func TestDecisionPromptHasTimesAndSpeakers(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, completion(goodDecision, "stop")))
	b := s.brain(t)
	said := fact
	said.Speaker, said.SaidAt, said.Cue = "Ana", time.Date(2026, 3, 18, 10, 0, 0, 0, time.UTC), "actually"
	known := []memory.Neighbor{
		{ID: first, Content: "Ana lives in Lyon.", Category: schema.CategoryFact, Type: schema.TypeSemantic,
			Status: schema.StatusContested,
			Who:    "Ben", OccurredAt: time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC), Claim: memory.Claim{Subject: "Ana",
				Predicate: "lives_in", Object: "Lyon"}},
		{ID: second, Content: "I live in Lyon.", Type: schema.TypeEpisodic},
	}
	_, _, err := b.Decider.Decide(ctx, said, known)
	require.NoError(t, err)
	data, rest, _ := enclosed(t, s.requests()[0].Messages[1].Content)
	require.JSONEq(t, `{
		"fact": {"content": "Ana lives in Oslo. `+canary+
		`", "category": "fact", "said_by": "Ana", "said_at": "Wednesday 2026-03-18T10:00:00Z", "cue": "actually"},
		"candidates": [
			{"number": 1, "id": "`+first+
		`", "content": "Ana lives in Lyon.", "category": "fact", "said_by": "Ben", "said_at": "Thursday 2025-01-02T00:00:00Z",
			 "status": "contested", "claim": {"subject": "Ana", "predicate": "lives_in", "object": "Lyon"}},
			{"number": 2, "id": "`+second+`", "content": "I live in Lyon.", "kind": "episode"}]}`, data)
	require.NotContains(t, rest, "Ben")
	for _, word := range []string{"said_by", "said_at", `"episode"`, "status", "supersede", "contest"} {
		require.Contains(t, s.requests()[0].Messages[0].Content, word, "the prompt explains the word")
	}

	_, _, err = b.Decider.Decide(ctx, fact, known[1:])
	require.NoError(t, err)
	data, _, _ = enclosed(t, s.requests()[1].Messages[1].Content)
	require.NotContains(t, data, "0001-01-01", "an unknown time is omitted")
}

// Changes, retractions and cues are read from a model's answers.
func TestAnswersWithChangesAndRetractions(t *testing.T) {
	t.Parallel()
	b := serve(t, status(200, completion(strings.Replace(goodDecision, `"action"`, `"change":"supersede","action"`, 1),
		"stop"))).brain(t)
	p, _, err := b.Decider.Decide(ctx, fact, neighbors)
	require.NoError(t, err)
	require.Equal(t, memory.ChangeSupersede, p.Change)
	require.False(t, p.Own, "a model does not decide who made a statement")

	b = serve(t, status(200, completion(strings.Replace(goodExtraction, `"claim"`,
		`"retracts":true,"cue":"Forget that","claim"`, 1), "stop"))).brain(t)
	e, _, err := b.Extractor.Extract(ctx, source)
	require.NoError(t, err)
	require.True(t, e.Facts[0].Retracts)
	require.Equal(t, "forget that", e.Facts[0].Cue)
}

// Small models sometimes answer with the example of the prompt. Its names are dropped if the source does not contain
// them.
func TestTheExampleIsDroppedFromAnswers(t *testing.T) {
	t.Parallel()
	mixed := serve(t, status(200,
		completion(`{"facts":[{"content":"Maya hates cilantro.","category":"preference","confidence":0.9,
		"hints":["What is the home town of Ilse?","What does Maya not eat?"]}],"entities":[{"source":"ilse","relationship":"lives_in","target":"Oslo","confidence":0.9}]}`, "stop")))
	got, _, err := mixed.brain(t).Extractor.Extract(ctx, inference.Source{Content: "I hate cilantro.", Speaker: "Maya"})
	require.NoError(t, err)
	require.Empty(t, got.Triples)
	require.Equal(t, []string{"What does Maya not eat?"}, got.Facts[0].Hints)

	s := serve(t, func(w http.ResponseWriter, r request) {
		system := r.Messages[0].Content
		status(200, completion(system[strings.LastIndex(system, "\n")+1:], "stop"))(w, r)
	})
	b := s.brain(t)
	for name, c := range map[string]struct {
		content, speaker string
		facts, triples   int
	}{
		"neither named":  {"I live in Lyon and work at Acme.", "Maya", 0, 0},
		"the speaker":    {"I moved from Lyon to Oslo.", "Ilse", 1, 1},
		"in the source":  {"Never call the Tamarack API without a timeout.", "Maya", 1, 0},
		"part of a word": {"Tamaracks grow by the lake.", "Maya", 1, 0}, // kept rather than lost
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := b.Extractor.Extract(ctx, inference.Source{Content: c.content, Speaker: c.speaker})
			require.NoError(t, err)
			require.Len(t, got.Facts, c.facts)
			require.Len(t, got.Triples, c.triples)
			require.Equal(t, []string{fmt.Sprintf("answer: %d elements copied from the example of the prompt, dropped",
				3-c.facts-c.triples)}, got.Warnings)
		})
	}
}
