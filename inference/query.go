package inference

import (
	"context"
	"fmt"
)

// QueryEmbedder is an Embedder whose model embeds questions differently from passages, as e5 and bge do. Both kinds of
// vectors are in the space of Model.
type QueryEmbedder interface {
	// EmbedQuery returns the vector of one question. Errors are as for Embedder.Embed.
	EmbedQuery(ctx context.Context, text string) ([]float32, Usage, error)
}

// EmbedQuery embeds a question, by QueryEmbedder if the embedder implements it.
func EmbedQuery(ctx context.Context, e Embedder, text string) ([]float32, Usage, error) {
	if q, ok := e.(QueryEmbedder); ok {
		return q.EmbedQuery(ctx, text)
	}
	vectors, usage, err := e.Embed(ctx, []string{text})
	if err != nil {
		return nil, usage, err
	}
	if len(vectors) != 1 {
		return nil, usage, fmt.Errorf("the embedder returned %d vectors for one text", len(vectors))
	}
	return vectors[0], usage, nil
}
