package telemetry

import (
	"context"
	"errors"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/memory/learning/wording"
	"github.com/mneme/mneme/memory/topics"
	"github.com/mneme/mneme/schema/ledger"
)

// Uses of models, as labels.
const (
	useExtract = "extract"
	useDecide  = "decide"
	useEmbed   = "embed"
	useRerank  = "rerank"
	useSummary = "summary"
	useReflect = "reflect"
	useTopic   = "topic"

	useEpisodes    = "episodes"
	useDescription = "description"
	useDuplicates  = "duplicates"
	useFacts       = "facts"
	useConflicts   = "conflicts"
)

// Count returns a brain that counts its model calls and tokens. It also counts calls that failed after they were
// charged, that are retried, and whose result is discarded; the log of a job, written once for each step, cannot show
// these. Models have their configured names.
func (m *Metrics) Count(brain inference.Brain) inference.Brain {
	if brain.Extractor != nil {
		brain.Extractor = extractor{brain.Extractor, m}
	}
	if brain.Decider != nil {
		brain.Decider = decider{brain.Decider, m}
	}
	if brain.Embedder != nil {
		brain.Embedder = m.CountEmbedder(brain.Embedder)
	}
	if brain.Reasoner != nil {
		brain.Reasoner = reasoner{brain.Reasoner, m}
	}
	if brain.Reranking.Reranker != nil {
		brain.Reranking.Reranker = reranker{brain.Reranking.Reranker, m}
	}
	if brain.Reranking.Summarizer != nil {
		brain.Reranking.Summarizer = summarizer{brain.Reranking.Summarizer, m}
	}
	if brain.TopicWriter != nil {
		brain.TopicWriter = topicWriter{brain.TopicWriter, m}
	}
	if brain.EpisodeWriter != nil {
		brain.EpisodeWriter = episodeWriter{brain.EpisodeWriter, m}
	}
	if brain.Describer != nil {
		brain.Describer = describer{brain.Describer, m}
	}
	if brain.DuplicateJudge != nil {
		brain.DuplicateJudge = duplicateJudge{brain.DuplicateJudge, m}
	}
	if brain.FactReader != nil {
		brain.FactReader = factReader{brain.FactReader, m}
	}
	return brain
}

// CountEmbedder returns an embedder with its calls and tokens counted.
func (m *Metrics) CountEmbedder(e inference.Embedder) inference.Embedder {
	if q, ok := e.(inference.QueryEmbedder); ok {
		return queryEmbedder{embedder{e, m}, q}
	}
	return embedder{e, m}
}

// CountOthers is CountEmbedder for a function that returns embedders of other models
// (workflows.Dependencies.Embedders).
func (m *Metrics) CountOthers(
	others func(inference.EmbeddingModel) (inference.Embedder, error),
) func(inference.EmbeddingModel) (inference.Embedder, error) {
	return func(model inference.EmbeddingModel) (inference.Embedder, error) {
		e, err := others(model)
		if err != nil {
			return nil, err
		}
		return m.CountEmbedder(e), nil
	}
}

// spent counts the cost of a use of a model. If there were several calls, the error belongs to the last one, and the
// earlier ones were answered. A usage without a model comes from rules, which cost nothing.
func (m *Metrics) spent(use string, usage inference.Usage, err error) {
	var limit *inference.RateLimitError
	outcome := outcomeOK
	switch {
	case errors.As(err, &limit):
		outcome = outcomeThrottled
	case err != nil:
		outcome = outcomeFailed
	}
	if usage.Model == "" {
		return
	}
	if usage.Calls > 1 {
		m.calls.WithLabelValues(use, usage.Model, outcomeOK).Add(float64(usage.Calls - 1))
	}
	m.calls.WithLabelValues(use, usage.Model, outcome).Add(float64(min(max(usage.Calls, 0), 1)))
	m.tokens.WithLabelValues(use, usage.Model, "prompt").Add(float64(max(usage.PromptTokens, 0)))
	m.tokens.WithLabelValues(use, usage.Model, "completion").Add(float64(max(usage.CompletionTokens, 0)))
}

type extractor struct {
	inference.Extractor
	metrics *Metrics
}

// Extract implements inference.Extractor.
func (e extractor) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	out, usage, err := e.Extractor.Extract(ctx, src)
	e.metrics.spent(useExtract, usage, err)
	return out, usage, err
}

type decider struct {
	inference.Decider
	metrics *Metrics
}

// Decide implements inference.Decider.
func (d decider) Decide(
	ctx context.Context,
	fact memory.Fact,
	neighbors []memory.Neighbor,
) (memory.Proposal, inference.Usage, error) {
	out, usage, err := d.Decider.Decide(ctx, fact, neighbors)
	d.metrics.spent(useDecide, usage, err)
	return out, usage, err
}

// AsksModel implements the method that inference.AsksModel looks for.
func (d decider) AsksModel() bool { return inference.AsksModel(d.Decider) }

type embedder struct {
	inference.Embedder
	metrics *Metrics
}

// Embed implements inference.Embedder.
func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	out, usage, err := e.Embedder.Embed(ctx, texts)
	e.metrics.spent(useEmbed, usage, err)
	return out, usage, err
}

// queryEmbedder is an embedder that distinguishes questions from passages.
type queryEmbedder struct {
	embedder
	asks inference.QueryEmbedder
}

// EmbedQuery implements inference.QueryEmbedder.
func (e queryEmbedder) EmbedQuery(ctx context.Context, text string) ([]float32, inference.Usage, error) {
	out, usage, err := e.asks.EmbedQuery(ctx, text)
	e.metrics.spent(useEmbed, usage, err)
	return out, usage, err
}

type reranker struct {
	inference.Reranker
	metrics *Metrics
}

// Rerank implements inference.Reranker.
func (r reranker) Rerank(ctx context.Context, query string, texts []string) (map[int]float64, inference.Usage, error) {
	out, usage, err := r.Reranker.Rerank(ctx, query, texts)
	r.metrics.spent(useRerank, usage, err)
	return out, usage, err
}

type summarizer struct {
	inference.Summarizer
	metrics *Metrics
}

// Summarize implements inference.Summarizer.
func (s summarizer) Summarize(ctx context.Context, query string, texts []string) (string, inference.Usage, error) {
	out, usage, err := s.Summarizer.Summarize(ctx, query, texts)
	s.metrics.spent(useSummary, usage, err)
	return out, usage, err
}

type reasoner struct {
	inference.Reasoner
	metrics *Metrics
}

// Reflect implements inference.Reasoner.
func (r reasoner) Reflect(
	ctx context.Context,
	agent string,
	span []ledger.Event,
) (inference.Belief, inference.Usage, error) {
	out, usage, err := r.Reasoner.Reflect(ctx, agent, span)
	r.metrics.spent(useReflect, usage, err)
	return out, usage, err
}

type topicWriter struct {
	inference.TopicWriter
	metrics *Metrics
}

// WriteTopic implements inference.TopicWriter.
func (w topicWriter) WriteTopic(
	ctx context.Context,
	question string,
	texts []string,
) ([]topics.Cited, inference.Usage, error) {
	out, usage, err := w.TopicWriter.WriteTopic(ctx, question, texts)
	w.metrics.spent(useTopic, usage, err)
	return out, usage, err
}

type episodeWriter struct {
	inference.EpisodeWriter
	metrics *Metrics
}

// SummarizeEpisodes implements inference.EpisodeWriter.
func (w episodeWriter) SummarizeEpisodes(ctx context.Context, episodes []string) (string, inference.Usage, error) {
	out, usage, err := w.EpisodeWriter.SummarizeEpisodes(ctx, episodes)
	w.metrics.spent(useEpisodes, usage, err)
	return out, usage, err
}

type describer struct {
	inference.Describer
	metrics *Metrics
}

// Describe implements inference.Describer.
func (d describer) Describe(
	ctx context.Context,
	subject wording.Subject,
) (wording.Description, inference.Usage, error) {
	out, usage, err := d.Describer.Describe(ctx, subject)
	d.metrics.spent(useDescription, usage, err)
	return out, usage, err
}

type duplicateJudge struct {
	inference.DuplicateJudge
	metrics *Metrics
}

// JudgeDuplicates implements inference.DuplicateJudge.
func (j duplicateJudge) JudgeDuplicates(ctx context.Context, pairs [][2]string) ([]bool, inference.Usage, error) {
	out, usage, err := j.DuplicateJudge.JudgeDuplicates(ctx, pairs)
	j.metrics.spent(useDuplicates, usage, err)
	return out, usage, err
}

type factReader struct {
	inference.FactReader
	metrics *Metrics
}

// ReadFacts implements inference.FactReader.
func (r factReader) ReadFacts(ctx context.Context, statements []facts.Statement) ([]facts.Proposed, bool,
	inference.Usage, error) {
	out, ok, usage, err := r.FactReader.ReadFacts(ctx, statements)
	r.metrics.spent(useFacts, usage, err)
	return out, ok, usage, err
}

// JudgeConflicts implements inference.FactReader.
func (r factReader) JudgeConflicts(ctx context.Context, pairs []facts.Pair) ([]facts.Verdict, inference.Usage, error) {
	out, usage, err := r.FactReader.JudgeConflicts(ctx, pairs)
	r.metrics.spent(useConflicts, usage, err)
	return out, usage, err
}
