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

// Putting writes full records.
type Putting struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   memory.WritePolicy
	Rules    func() *memory.Policy
	Now      func() time.Time
}

// Put carries out an accepted request. The records' texts are embedded before the transaction, so that
// no lock is held during a call; an embedder that fails delays only the embeddings.
func (a *Putting) Put(ctx context.Context, ref OperationRef) (schema.PutResult, error) {
	defer beat(ctx)()
	in := store.PutInput{Operation: ref.store(), Now: now(a.Now)}
	waiting, err := a.Store.Accepted(ctx, in.Operation, &in.Request)
	if err != nil {
		return schema.PutResult{}, fail(err)
	}
	if waiting {
		in.Policy = a.Policy.Narrow(in.Request.Mode, false, nil)
		if a.Rules != nil {
			in.Rules = a.Rules()
		}
		if in.Policy.Mode == schema.ModeControlled {
			if in.Embeddings, err = a.embed(ctx, in.Request.Records); err != nil {
				return schema.PutResult{}, fail(err)
			}
		}
	}
	result, err := a.Store.Put(ctx, in)
	return result, fail(err)
}

// embed returns the embeddings of the records' texts, or none when the embedder fails: the outbox asks
// for them again.
func (a *Putting) embed(ctx context.Context, records []schema.MemoryRecord) ([]*store.Embedding, error) {
	if len(records) == 0 {
		return nil, nil
	}
	texts := make([]string, len(records))
	for i := range records {
		texts[i] = memory.RecordContent(records[i]).Storage
	}
	vectors, _, err := a.Embedder.Embed(ctx, texts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		activity.GetLogger(ctx).Warn("embedding put off", "memories", len(texts), "error", err)
		return nil, nil
	}
	out := make([]*store.Embedding, len(records))
	for i := range out {
		out[i] = &store.Embedding{Model: a.Embedder.Model(), Vector: vectors[i]}
	}
	return out, nil
}
