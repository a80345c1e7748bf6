package activities

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
)

// Indexing tells the vector index what has changed, from the outbox.
type Indexing struct {
	Store    *store.Store
	Embedder inference.Embedder
	Index    vector.Index
	Now      func() time.Time
}

// IndexResult counts what the index was told.
type IndexResult struct {
	Upserted int `json:"upserted"`
	Deleted  int `json:"deleted"`
	Embedded int `json:"embedded"` // memories that had been left without an embedding
}

// Add returns the sum of two results.
func (r IndexResult) Add(o IndexResult) IndexResult {
	return IndexResult{Upserted: r.Upserted + o.Upserted, Deleted: r.Deleted + o.Deleted, Embedded: r.Embedded + o.Embedded}
}

// outboxPage is how many memories are indexed together.
const outboxPage = 500

// IndexBatch drains the outbox of the memories that a range wrote.
func (a *Indexing) IndexBatch(ctx context.Context, r Range) (IndexResult, error) {
	defer beat(ctx)()
	sr, err := r.store()
	if err != nil {
		return IndexResult{}, err
	}
	ids, err := a.Store.BatchMemories(ctx, sr)
	if err != nil || len(ids) == 0 {
		return IndexResult{}, fail(err)
	}
	result, _, err := a.drain(ctx, r.Tenant, ids)
	return result, fail(err)
}

// DrainRequest bounds one DrainOutbox run.
type DrainRequest struct {
	MaxPages int `json:"max_pages"`
}

// DrainResult counts what was drained and says whether there is more.
type DrainResult struct {
	IndexResult
	More bool `json:"more"`
}

// DrainOutbox drains the outbox of every tenant: what an ingest could not index, and memories that
// still lack an embedding. Requests that nobody will carry out any more go by the way. A tenant that
// cannot be drained keeps none of the others waiting: it fails at the end.
func (a *Indexing) DrainOutbox(ctx context.Context, in DrainRequest) (DrainResult, error) {
	defer beat(ctx)()
	var out DrainResult
	if _, err := a.Store.SweepStaged(ctx); err != nil {
		activity.GetLogger(ctx).Warn("requests not swept", "error", err) // the next run sweeps them
	}
	tenants, err := a.Store.OutboxTenants(ctx)
	if err != nil {
		return out, fail(err)
	}
	defer beat(ctx)()
	pages := 0
	var failed error
	for _, tenant := range tenants {
		for {
			if pages++; pages > in.MaxPages {
				out.More = true
				return out, fail(failed)
			}
			result, full, err := a.drain(ctx, tenant, nil)
			out.IndexResult = out.Add(result)
			failed = errors.Join(failed, err)
			if ctx.Err() != nil {
				return out, fail(failed)
			}
			activity.RecordHeartbeat(ctx, pages)
			if err != nil || !full {
				break
			}
		}
	}
	return out, fail(failed)
}

// drain brings one page of a tenant's outbox to the index, embedding what has no embedding yet. It
// fails, leaving the page where it is, when the embedder or the index does.
func (a *Indexing) drain(ctx context.Context, tenant string, only []uuid.UUID) (result IndexResult, full bool, err error) {
	model := a.Embedder.Model()
	limit := outboxPage
	if len(only) > 0 {
		limit = 4 * max(len(only), outboxPage) // every pending change of the batch's memories
	}
	entries, err := a.Store.Outbox(ctx, tenant, model, only, limit)
	if err != nil || len(entries) == 0 {
		return result, false, err
	}
	var texts []string
	var missing []int
	read := 0
	for i, e := range entries {
		read += e.Changes
		if !e.Delete && e.Vector == nil {
			texts, missing = append(texts, e.Content), append(missing, i)
		}
	}
	embedded := map[uuid.UUID][]float32{}
	if len(texts) > 0 {
		vectors, err := vectorsOf(ctx, a.Embedder, texts)
		if err != nil {
			return result, false, err
		}
		for n, i := range missing {
			entries[i].Vector = vectors[n]
			embedded[entries[i].MemoryID] = vectors[n]
		}
	}
	var upserts []vector.Point
	var deletes []uuid.UUID
	for _, e := range entries {
		if e.Delete {
			deletes = append(deletes, e.MemoryID)
			continue
		}
		upserts = append(upserts, vector.Point{MemoryID: e.MemoryID, Version: e.Version, Tier: e.Tier, Typology: e.Typology, Vector: e.Vector})
	}
	if err := a.Index.Apply(ctx, tenant, model, upserts, deletes); err != nil {
		return result, false, err
	}
	if err := a.Store.SettleOutbox(ctx, tenant, model, entries, embedded, now(a.Now)); err != nil {
		return result, false, err
	}
	return IndexResult{Upserted: len(upserts), Deleted: len(deletes), Embedded: len(embedded)}, read >= limit, nil
}
