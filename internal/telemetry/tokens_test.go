package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/memory/learning/wording"
)

// ranker is a model that reranks and summarizes.
type ranker struct{}

func (ranker) Rerank(context.Context, string, []string) (map[int]float64, inference.Usage, error) {
	return nil, inference.Usage{Model: "chat-1", Calls: 1, PromptTokens: 5}, nil
}

func (ranker) Summarize(context.Context, string, []string) (string, inference.Usage, error) {
	return "It is so.", inference.Usage{Model: "chat-1", Calls: 1, PromptTokens: 9, CompletionTokens: 4}, nil
}

// learner is a model that words what was learned.
type learner struct{ err error }

func (l learner) SummarizeEpisodes(context.Context, []string) (string, inference.Usage, error) {
	return "It is so.", inference.Usage{Model: "chat-1", Calls: 1, PromptTokens: 7}, l.err
}

func (l learner) Describe(context.Context, wording.Subject) (wording.Description, inference.Usage, error) {
	return wording.Description{}, inference.Usage{Model: "chat-1", Calls: 1, CompletionTokens: 3}, l.err
}

func (l learner) JudgeDuplicates(context.Context, [][2]string) ([]bool, inference.Usage, error) {
	return nil, inference.Usage{Model: "chat-1", Calls: 1, PromptTokens: 11}, l.err
}

func (l learner) ReadFacts(context.Context, []facts.Statement) ([]facts.Proposed, bool, inference.Usage, error) {
	return nil, true, inference.Usage{Model: "chat-1", Calls: 1, PromptTokens: 13}, l.err
}

func (l learner) JudgeConflicts(context.Context, []facts.Pair) ([]facts.Verdict, inference.Usage, error) {
	return nil, inference.Usage{Model: "chat-1", Calls: 1, CompletionTokens: 17}, l.err
}

// Tokens of a model that words what was learned are counted, even if the call failed.
func TestLearnerTokensAreCounted(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	brain := m.Count(inference.Brain{EpisodeWriter: learner{}, Describer: learner{errors.New("cut off")},
		DuplicateJudge: learner{}, FactReader: learner{}})
	_, _, _, read := brain.FactReader.ReadFacts(t.Context(), nil)
	require.NoError(t, read)
	is(t, m, 13, "mneme_model_tokens_total", "use", "facts", "direction", "prompt")
	_, _, read = brain.FactReader.JudgeConflicts(t.Context(), nil)
	require.NoError(t, read)
	is(t, m, 17, "mneme_model_tokens_total", "use", "conflicts", "direction", "completion")
	_, _, judged := brain.DuplicateJudge.JudgeDuplicates(t.Context(), [][2]string{{"x", "y"}})
	require.NoError(t, judged)
	is(t, m, 11, "mneme_model_tokens_total", "use", "duplicates", "direction", "prompt")
	_, _, err := brain.EpisodeWriter.SummarizeEpisodes(t.Context(), []string{"x"})
	require.NoError(t, err)
	_, _, err = brain.Describer.Describe(t.Context(), wording.Subject{})
	require.Error(t, err)
	is(t, m, 7, "mneme_model_tokens_total", "use", "episodes", "direction", "prompt")
	is(t, m, 3, "mneme_model_tokens_total", "use", "description", "direction", "completion")
	is(t, m, 1, "mneme_model_calls_total", "use", "description", "outcome", "failed")
}

// Tokens of a recall's model calls are counted, too.
func TestRerankingAndSummariesAreCounted(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	brain := m.Count(inference.Brain{Reranking: inference.Reranking{Reranker: ranker{}, Summarizer: ranker{}}})
	_, _, err := brain.Reranking.Reranker.Rerank(t.Context(), "q", []string{"x"})
	require.NoError(t, err)
	text, _, err := brain.Reranking.Summarizer.Summarize(t.Context(), "q", []string{"x"})
	require.NoError(t, err)
	require.Equal(t, "It is so.", text)
	is(t, m, 5, "mneme_model_tokens_total", "use", "rerank", "direction", "prompt")
	is(t, m, 9, "mneme_model_tokens_total", "use", "summary", "direction", "prompt")
	is(t, m, 4, "mneme_model_tokens_total", "use", "summary", "direction", "completion")
	is(t, m, 1, "mneme_model_calls_total", "use", "summary", "outcome", "ok")
	require.Nil(t, m.Count(inference.Brain{}).Reranking.Summarizer)
}
