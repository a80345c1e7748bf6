package activities

import (
	"context"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// Putting writes full records.
type Putting struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   proposals.WritePolicy
	Rules    func() *policy.Policy
	Now      func() time.Time
}

// Put carries out an accepted request. The records' texts are embedded before the transaction, so that
// no lock is held during a call; an embedder that fails delays only the embeddings.
func (a *Putting) Put(ctx context.Context, ref schema.OperationRef) (schema.PutResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := edit.PutInput{Operation: ref, Now: step.Now(a.Now)}
	waiting, err := a.Store.Accepted(ctx, in.Operation, &in.Request)
	if err != nil {
		return schema.PutResult{}, step.Fail(err)
	}
	if waiting {
		in.Policy = a.Policy.Narrow(in.Request.Mode, false, nil)
		in.Rules = rulesInForce(a.Rules)
		if in.Policy.Mode == schema.ModeControlled {
			if in.Embeddings, err = a.embed(ctx, in.Request.Records); err != nil {
				return schema.PutResult{}, step.Fail(err)
			}
		}
	}
	result, err := a.Store.Put(ctx, in)
	return result, step.Fail(err)
}

// embed returns the embeddings of the records' texts.
func (a *Putting) embed(ctx context.Context, records []schema.MemoryRecord) ([]*pg.Embedding, error) {
	texts := make([]string, len(records))
	for i := range records {
		texts[i] = memory.RecordContent(records[i]).Storage
	}
	return step.Embeddings(ctx, a.Embedder, texts...)
}
