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

// Revising revises what is known.
type Revising struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   proposals.WritePolicy
	Rules    func() *policy.Policy
	Now      func() time.Time
}

// Revise carries out an accepted request: it embeds the record's text and then revises in one
// transaction. An embedder that fails delays only the embedding: the outbox still asks for it.
// Delivered again, it returns the first result.
func (a *Revising) Revise(ctx context.Context, ref schema.OperationRef) (schema.ReviseResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := edit.ReviseInput{Operation: ref, Policy: a.Policy, Rules: rulesInForce(a.Rules), Now: step.Now(a.Now)}
	waits, err := a.Store.Accepted(ctx, in.Operation, &in.Request)
	if err != nil {
		return schema.ReviseResult{}, step.Fail(err)
	}
	if waits && in.Request.Record != nil && !in.Request.Names() && !a.Policy.MutationsFrozen() {
		record, err := a.Store.WordedRecord(ctx, in.Request)
		if err != nil {
			return schema.ReviseResult{}, step.Fail(err)
		}
		if in.Embedding, err = a.embed(ctx, record); err != nil {
			return schema.ReviseResult{}, step.Fail(err)
		}
	}
	result, err := a.Store.Revise(ctx, in)
	return result, step.Fail(err)
}

// embed returns the embedding of the record's text; nil where it has none.
func (a *Revising) embed(ctx context.Context, record schema.MemoryRecord) (*pg.Embedding, error) {
	text := memory.RecordContent(record).Storage
	if text == "" {
		return nil, nil
	}
	return step.Embedding(ctx, a.Embedder, text)
}
