package inference

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Reranker reads texts together with a query and scores how well each answers it.
type Reranker interface {
	// Rerank returns scores in [0,1] by the texts' positions in the list. A text may have no score. A score for an
	// unknown position, and an answer that cannot be read, is an error. Errors are as for Extractor.Extract.
	Rerank(ctx context.Context, query string, texts []string) (map[int]float64, Usage, error)
}

// Reranking selects the reranker of the best candidates of a recall, and the weight of its scores (document 002 Phase
// 4). The zero value disables reranking.
type Reranking struct {
	Reranker Reranker
	Blend    float64       // the share of its scores in the result, [0,1]
	Top      int           // candidates that it reads; rank.DefaultRerankTop when 0
	Deadline time.Duration // rank.DefaultRerankDeadline when 0

	// Summarizer summarizes the best results, in the time that reranking leaves of its deadline. If it is nil, there
	// is no summary.
	Summarizer Summarizer
}

// Summarizer answers a query in a few sentences, using only the given texts.
type Summarizer interface {
	// Summarize returns the empty text if the texts say nothing about the query. Errors are as for Extractor.Extract.
	Summarize(ctx context.Context, query string, texts []string) (string, Usage, error)
}

// EmbeddingReranker scores texts by their cosine with the query in the space of an Embedder. Opposed and unrelated
// texts score 0.
type EmbeddingReranker struct{ Embedder Embedder }

// Rerank implements Reranker.
func (r EmbeddingReranker) Rerank(ctx context.Context, query string, texts []string) (map[int]float64, Usage, error) {
	if len(texts) == 0 {
		return nil, Usage{}, nil
	}
	ctx = Interactive(ctx)
	asked, usage, err := EmbedQuery(ctx, r.Embedder, query)
	if err != nil {
		return nil, usage, fmt.Errorf("embed query: %w", err)
	}
	read, more, err := r.Embedder.Embed(ctx, texts)
	usage = usage.Add(more)
	if err != nil {
		return nil, usage, fmt.Errorf("embed texts: %w", err)
	}
	if len(read) != len(texts) {
		return nil, usage, fmt.Errorf("rerank: %d vectors for %d texts", len(read), len(texts))
	}
	scores := make(map[int]float64, len(texts))
	for i, v := range read {
		if len(v) != len(asked) {
			return nil, usage, fmt.Errorf("rerank: vectors of %d and %d dimensions", len(asked), len(v))
		}
		dot := 0.0
		for j := range v {
			dot += float64(v[j]) * float64(asked[j])
		}
		if !math.IsNaN(dot) {
			scores[i] = min(1, max(0, dot))
		}
	}
	return scores, usage, nil
}
