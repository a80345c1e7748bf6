package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Revising revises what is known.
type Revising struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   memory.WritePolicy
	Rules    func() *memory.Policy
	Now      func() time.Time
}

// Revise carries out an accepted request: it embeds the record's text and then revises in one
// transaction. An embedder that fails delays only the embedding: the outbox still asks for it.
// Delivered again, it answers with the first result.
func (a *Revising) Revise(ctx context.Context, ref OperationRef) (schema.ReviseResult, error) {
	defer beat(ctx)()
	in := store.ReviseInput{Operation: ref.store(), Policy: a.Policy, Now: now(a.Now)}
	if a.Rules != nil {
		in.Rules = a.Rules()
	}
	waits, err := a.Store.Accepted(ctx, in.Operation, &in.Request)
	if err != nil {
		return schema.ReviseResult{}, fail(err)
	}
	if waits && in.Request.Record != nil && !in.Request.Names() && !a.Policy.MutationsFrozen() {
		if in.Embedding, err = a.embed(ctx, *in.Request.Record); err != nil {
			return schema.ReviseResult{}, fail(err)
		}
	}
	result, err := a.Store.Revise(ctx, in)
	return result, fail(err)
}

// embed fetches the record's embedding before the transaction, so that no lock is held during a call.
func (a *Revising) embed(ctx context.Context, record schema.MemoryRecord) (*store.Embedding, error) {
	text := memory.RecordContent(record).Storage
	if text == "" {
		return nil, nil
	}
	vectors, _, err := a.Embedder.Embed(ctx, []string{text})
	if err != nil || len(vectors) != 1 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		activity.GetLogger(ctx).Warn("embedding put off", "memories", 1, "error", err)
		return nil, nil
	}
	return &store.Embedding{Model: a.Embedder.Model(), Vector: vectors[0]}, nil
}
