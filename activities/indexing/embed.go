package indexing

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// embedderOf returns the embedder of a model, or vector.ErrNoEmbedder.
func (a *Indexing) embedderOf(model inference.EmbeddingModel) (inference.Embedder, error) {
	a.once.Do(func() { a.embedders.Configured, a.embedders.Other = a.Embedder, a.Others })
	return a.embedders.For(model)
}

// probe finds out whether the embedder fails or a text is at fault. It sends a different text each time, because a
// cache would repeat an earlier answer.
func probe(ctx context.Context, e inference.Embedder) error {
	_, err := step.Vectors(ctx, e, []string{"ok " + uuid.NewString()})
	return err
}

// embed computes vectors for entries. If the embedder refuses a text but accepts another, only that text is refused,
// so that it does not block the others; if it accepts none, embed fails.
//
// If this worker cannot embed with a generation's model, the generation gets no new vectors, and this process does not
// search it: the rebuild that replaces it starts from Postgres. The same applies if an endpoint accepts the configured
// model and refuses this one.
func (a *Indexing) embed(
	ctx context.Context,
	model inference.EmbeddingModel,
	entries []vectorindex.OutboxEntry,
) (map[uuid.UUID][]float32, []vectorindex.OutboxFailure, error) {
	made := make(map[uuid.UUID][]float32, len(entries))
	embedder, err := a.embedderOf(model)
	var refused []vectorindex.OutboxFailure
	works := false // the embedder has accepted a text
	var halve func([]vectorindex.OutboxEntry) error
	halve = func(part []vectorindex.OutboxEntry) error {
		err := embedInto(ctx, embedder, part, made)
		step.Advance(ctx) // a refusal counts too: it is an answer
		if err == nil {
			works = true
			return nil
		}
		var limited *inference.RateLimitError
		if ctx.Err() != nil || errors.As(err, &limited) {
			return err
		}
		if !works {
			if probeErr := probe(ctx, embedder); probeErr != nil {
				if inference.IsPermanent(probeErr) && model != a.Embedder.Model() && probe(ctx, a.Embedder) == nil {
					return fmt.Errorf("%w: %w", vector.ErrNoEmbedder, probeErr) // the endpoint does not know the model
				}
				return err // it accepts no text
			}
			works = true
		}
		if len(part) == 1 {
			_, _, _, reason := step.Classify(err)
			refused = append(refused, vectorindex.OutboxFailure{OutboxEntry: part[0], Reason: reason})
			return nil
		}
		middle := len(part) / 2
		if err := halve(part[:middle]); err != nil {
			return err
		}
		return halve(part[middle:])
	}
	if err == nil {
		err = halve(entries)
	}
	if errors.Is(err, vector.ErrNoEmbedder) {
		activity.GetLogger(ctx).Warn("a generation of the index is not kept up", "model", model.Name, "error", err)
		return made, nil, nil
	}
	return made, refused, err
}

// embedInto embeds the contents of all entries, or of none.
func embedInto(
	ctx context.Context,
	e inference.Embedder,
	entries []vectorindex.OutboxEntry,
	into map[uuid.UUID][]float32,
) error {
	model, texts := e.Model(), make([]string, len(entries))
	for i := range entries {
		texts[i] = model.Passage(entries[i].Speaker, entries[i].Content)
	}
	vectors, err := step.Vectors(ctx, e, texts)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		into[entries[i].MemoryID] = v
	}
	return nil
}
