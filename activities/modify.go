package activities

import (
	"context"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// Modifying applies patches.
type Modifying struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   proposals.WritePolicy
	Rules    func() *policy.Policy
	Now      func() time.Time
}

// Modify carries out an accepted request: it embeds the new contents and then applies the patches in
// one transaction. An embedder that fails delays only the embeddings: the outbox still asks for them.
// Delivered again, it returns the first result.
func (a *Modifying) Modify(ctx context.Context, ref schema.OperationRef) (schema.ModifyResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := edit.ModifyInput{Operation: ref, Policy: a.Policy, Rules: rulesInForce(a.Rules), Now: step.Now(a.Now)}
	waits, err := a.Store.Accepted(ctx, in.Operation, &in.Request)
	if err != nil {
		return schema.ModifyResult{}, step.Fail(err)
	}
	if waits && !a.Policy.MutationsFrozen() {
		if in.Embeddings, err = a.embed(ctx, in.Request.Patches); err != nil {
			return schema.ModifyResult{}, step.Fail(err)
		}
	}
	result, err := a.Store.Modify(ctx, in)
	return result, step.Fail(err)
}

// embed returns the embeddings of the new contents, in the places of their patches (document 002 "Modify":
// "synchronously before the database write").
func (a *Modifying) embed(ctx context.Context, patches []schema.Patch) ([]*pg.Embedding, error) {
	var texts []string
	var at []int
	for i, p := range patches {
		if p.Content != nil {
			texts, at = append(texts, normalize.StorageContent(*p.Content)), append(at, i)
		}
	}
	embeddings, err := step.Embeddings(ctx, a.Embedder, texts...)
	if err != nil || len(embeddings) == 0 {
		return nil, err
	}
	out := make([]*pg.Embedding, len(patches))
	for n, i := range at {
		out[i] = embeddings[n]
	}
	return out, nil
}
