package rank_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/rank"
)

func TestFirstHandRanksAboveTheAssistant(t *testing.T) {
	t.Parallel()
	said := func(id int, who string) evidence {
		e := scored(id, 0.5)
		e.Speaker, e.Agent = who, "helper"
		return e
	}
	in := []evidence{said(1, "Assistant"), said(2, "user"), said(3, "helper"), said(4, "")}
	require.Equal(t, map[int]float64{1: 0.35, 2: 0.5, 3: 0.35, 4: 0.5},
		scores(rank.FirstHand(slices.Clone(in), "How many books do I want to read?")))
	for _, query := range []string{"What did you say about my budget?", "Which trail have you recommended?",
		"How did you help me save?", "What was your advice on shoes?", "Can you summarize my plans?",
		"Remind me which shoes you had suggested"} {
		require.Equal(t, 0.5, scores(rank.FirstHand(slices.Clone(in), query))[1], query)
	}
	for _, query := range []string{"Can you tell me my budget?", "What would you suggest for dinner?",
		"Could you list what I own?", ""} {
		require.Equal(t, 0.35, scores(rank.FirstHand(slices.Clone(in), query))[1], query)
	}
	alone := []evidence{said(1, "assistant"), said(4, "")}
	require.Equal(t, 0.5, scores(rank.FirstHand(alone, "my budget"))[1], "the only speaker")
}
