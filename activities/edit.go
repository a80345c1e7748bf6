package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
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
	Arrivals *step.Arrivals // receives records that are episodes; may be nil
	Now      func() time.Time
}

// Put carries out an accepted request. The records' texts are embedded before the transaction, so that no lock is
// held during a call. If the embedder fails, only the embeddings are delayed.
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
		in.Rules = step.RulesInForce(a.Rules)
		if in.Policy.Mode == schema.ModeControlled {
			if in.Embeddings, err = a.embed(ctx, in.Request.Records); err != nil {
				return schema.PutResult{}, step.Fail(err)
			}
		}
	}
	result, err := a.Store.Put(ctx, in)
	if err != nil {
		return result, step.Fail(err)
	}
	var ids []uuid.UUID
	for _, item := range result.Items {
		if id, err := uuid.Parse(item.ID); err == nil && item.Status.Stands() {
			ids = append(ids, id)
		}
	}
	return result, step.Fail(a.Arrivals.Arrived(ctx, ref.Tenant, ids...))
}

// embed returns the embeddings of the records' texts.
func (a *Putting) embed(ctx context.Context, records []schema.MemoryRecord) ([]*pg.Embedding, error) {
	model, texts := a.Embedder.Model(), make([]string, len(records))
	for i := range records {
		texts[i] = model.Passage(records[i].Who, memory.RecordContent(records[i]).Storage)
	}
	return step.Embeddings(ctx, a.Embedder, texts...)
}

// Revising revises memories.
type Revising struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   proposals.WritePolicy
	Rules    func() *policy.Policy
	Now      func() time.Time
}

// Revise carries out an accepted request: it embeds the record's text and then revises in one transaction. If the
// embedder fails, only the embedding is delayed: the outbox still requests it. A repeated delivery returns the first
// result.
func (a *Revising) Revise(ctx context.Context, ref schema.OperationRef) (schema.ReviseResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := edit.ReviseInput{Operation: ref, Policy: a.Policy, Rules: step.RulesInForce(a.Rules), Now: step.Now(a.Now)}
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

// embed returns the embedding of the record's text, or nil if it has no text.
func (a *Revising) embed(ctx context.Context, record schema.MemoryRecord) (*pg.Embedding, error) {
	text := memory.RecordContent(record).Storage
	if text == "" {
		return nil, nil
	}
	return step.Embedding(ctx, a.Embedder, a.Embedder.Model().Passage(record.Who, text))
}

// Modifying applies patches.
type Modifying struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   proposals.WritePolicy
	Rules    func() *policy.Policy
	Now      func() time.Time
}

// Modify carries out an accepted request: it embeds the new contents and then applies the patches in one transaction.
// If the embedder fails, only the embeddings are delayed: the outbox still requests them. A repeated delivery returns
// the first result.
func (a *Modifying) Modify(ctx context.Context, ref schema.OperationRef) (schema.ModifyResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := edit.ModifyInput{Operation: ref, Policy: a.Policy, Rules: step.RulesInForce(a.Rules), Now: step.Now(a.Now)}
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
	model := a.Embedder.Model()
	var texts []string
	var at []int
	for i, p := range patches {
		if p.Content == nil || p.Who == nil && model.IncludesSpeakers() { // the outbox, which knows the speaker, does it
			continue
		}
		text := normalize.StorageContent(*p.Content)
		if p.Who != nil {
			text = model.Passage(*p.Who, text)
		}
		texts, at = append(texts, text), append(at, i)
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

// Recovering undoes soft deletions.
type Recovering struct {
	Store  *store.Store
	Policy proposals.WritePolicy
	Now    func() time.Time
}

// Recover carries out an accepted request in one transaction. A repeated delivery returns the first result.
func (a *Recovering) Recover(ctx context.Context, ref schema.OperationRef) (schema.RecoverResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := edit.RecoverInput{Operation: ref, Policy: a.Policy, Now: step.Now(a.Now)}
	if _, err := a.Store.Accepted(ctx, in.Operation, &in.Request); err != nil {
		return schema.RecoverResult{}, step.Fail(err)
	}
	result, err := a.Store.Recover(ctx, in)
	return result, step.Fail(err)
}
