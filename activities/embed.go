package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store/pg"
)

// vectorsOf returns a vector for each of the texts.
func vectorsOf(ctx context.Context, e inference.Embedder, texts []string) ([][]float32, error) {
	vectors, _, err := e.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("the embedder returned %d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, err
}

// embeddingsOf returns an embedding for each of the texts, before the transaction that writes them, so that
// no lock is held during a call. It returns none when the embedder fails: that delays only the embeddings,
// for which the outbox asks again.
func embeddingsOf(ctx context.Context, e inference.Embedder, texts ...string) ([]*pg.Embedding, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := vectorsOf(ctx, e, texts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		activity.GetLogger(ctx).Warn("embedding put off", "memories", len(texts), "error", err)
		return nil, nil
	}
	model, out := e.Model(), make([]*pg.Embedding, len(texts))
	for i := range out {
		out[i] = &pg.Embedding{Model: model, Vector: vectors[i]}
	}
	return out, nil
}

// embeddingOf is embeddingsOf for one text; nil when the embedder fails.
func embeddingOf(ctx context.Context, e inference.Embedder, text string) (*pg.Embedding, error) {
	out, err := embeddingsOf(ctx, e, text)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return out[0], nil
}
