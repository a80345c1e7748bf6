package step

import (
	"context"
	"errors"
	"fmt"
	"math"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store/pg"
)

// Vectors returns a vector for each of the texts. A vector of another length than the model's is an
// *inference.PermanentError.
func Vectors(ctx context.Context, e inference.Embedder, texts []string) ([][]float32, error) {
	vectors, _, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("the embedder returned %d vectors for %d texts", len(vectors), len(texts))
	}
	for i, v := range vectors {
		if err := usable(v, e.Model().Dimensions); err != nil {
			return nil, fmt.Errorf("vector %d of %d: %w", i+1, len(vectors), err)
		}
	}
	return vectors, nil
}

// usable refuses vectors that no index accepts.
func usable(v []float32, dimensions int) error {
	if len(v) != dimensions {
		return &inference.PermanentError{Reason: fmt.Sprintf("%d dimensions where the model has %d", len(v),
			dimensions)}
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return errors.New("not finite")
		}
	}
	return nil
}

// Embeddings returns an embedding for each of the texts. Call it before the transaction that writes them, so that no
// lock is held during the call. It returns none if the embedder fails: the outbox requests them again.
func Embeddings(ctx context.Context, e inference.Embedder, texts ...string) ([]*pg.Embedding, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := Vectors(ctx, e, texts)
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

// Embedding is Embeddings for one text. It returns nil when the embedder fails.
func Embedding(ctx context.Context, e inference.Embedder, text string) (*pg.Embedding, error) {
	out, err := Embeddings(ctx, e, text)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return out[0], nil
}
