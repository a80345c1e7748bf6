package indexing

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// Indexing writes changes from the outbox to the vector index, and builds and compares the generations of the index.
type Indexing struct {
	Store    *store.Store
	Embedder inference.Embedder // the embedder of the configured model
	// Others returns the embedder for another model, which a generation may use; its error is vector.ErrNoEmbedder if
	// there is none. Nil means that no other model is available. The model's dimensions are 0 if only its name is
	// known.
	Others func(inference.EmbeddingModel) (inference.Embedder, error)
	Index  vector.Index
	Now    func() time.Time

	once      sync.Once
	embedders vector.Embedders // cached from Embedder and Others
}

// OutboxPage is how many memories are indexed together.
const OutboxPage = 500

// workFor is how long an activity over many pages runs before it returns at the end of a page. The workflow can thus
// report progress at least this often, even if the embedder or the index is slow.
const workFor = 20 * time.Second

// IndexBatch drains the outbox of the memories that a range wrote.
func (a *Indexing) IndexBatch(ctx context.Context, r schema.Range) (api.IndexResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	ids, err := a.Store.BatchMemories(ctx, r)
	if err != nil || len(ids) == 0 {
		return api.IndexResult{}, step.Fail(err)
	}
	return a.drainOnly(ctx, r.Tenant, ids)
}

// drainOnly drains the outbox of some memories. A retry does not help if the index has lost its data: SyncIndex
// detects that and fills the index again.
func (a *Indexing) drainOnly(ctx context.Context, tenant string, ids []uuid.UUID) (api.IndexResult, error) {
	out, err := a.drain(ctx, tenant, ids)
	if err == nil && out.lost {
		err = temporal.NewNonRetryableApplicationError("the vector index has lost its data; the changes are "+
			"written when it has been filled again",
			api.ErrTypeIndexLost, nil)
	}
	return out.IndexResult, step.Fail(err)
}

// DrainRequest bounds one DrainOutbox run.
type DrainRequest struct {
	MaxPages int    `json:"max_pages"`
	After    string `json:"after,omitempty"` // the tenant after which the previous run stopped
}

// DrainResult counts what was drained and says whether there is more.
type DrainResult struct {
	api.IndexResult
	More  bool            `json:"more"`
	After string          `json:"after,omitempty"` // for the next run
	Lag   schema.IndexLag `json:"lag"`             // what is left, over all tenants
	// Lost means that the index has lost the generation that is searched, or cannot store the changes. The changes
	// stay in the outbox; the drift check fills the index again.
	Lost  bool   `json:"lost,omitempty"`
	Index string `json:"index,omitempty"` // which index is lost
}

// DrainOutbox drains the outbox of every tenant: changes that an ingest could not index, and memories that still lack
// an embedding. It also removes staged requests that will not be carried out any more. Tenants take turns, one page
// each, so that a tenant with many changes does not delay the others. If a tenant cannot be drained, the run
// continues with the others and fails at the end. A lost index is not a failure but is reported in the result, so
// that the caller can have it filled.
func (a *Indexing) DrainOutbox(ctx context.Context, in DrainRequest) (DrainResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	var out DrainResult
	if _, err := a.Store.SweepStaged(ctx); err != nil {
		activity.GetLogger(ctx).Warn("requests not swept", "error", err) // the next run sweeps them
	}
	tenants, err := a.Store.OutboxTenants(ctx)
	if err != nil {
		return out, step.Fail(err)
	}
	// Continue with the tenant after the one at which the previous run stopped.
	if at := slices.IndexFunc(tenants, func(t string) bool { return t > in.After }); at > 0 {
		tenants = append(tenants[at:], tenants[:at]...)
	}
	pages := 0
	var failed error
	end := func() (DrainResult, error) {
		a.measure(ctx, &out)
		if out.Lost = out.Lost || a.lost(ctx); out.Lost {
			if failed != nil {
				activity.GetLogger(ctx).Warn("outbox not drained", "error", failed) // the next run tries again
			}
			out.Index, out.More, failed = a.Index.Name(), false, nil
		}
		return out, step.Fail(failed)
	}
	for len(tenants) > 0 {
		var left []string
		for _, tenant := range tenants {
			if pages++; pages > in.MaxPages {
				out.More = true
				return end()
			}
			drained, err := a.drain(ctx, tenant, nil)
			out.IndexResult, out.After, out.Lost = out.Add(drained.IndexResult), tenant, out.Lost || drained.lost
			failed = errors.Join(failed, err)
			if ctx.Err() != nil {
				return out, step.Fail(failed)
			}
			step.Advance(ctx)
			if err == nil && drained.full && !drained.lost {
				left = append(left, tenant)
			}
		}
		tenants = left
	}
	return end()
}

// lost reports whether the index has lost the generation that is searched. An index that is unavailable is not lost.
func (a *Indexing) lost(ctx context.Context) bool {
	known, err := a.Store.Generations(ctx, a.Index.Name())
	if err != nil || len(known) == 0 || known[0].State != vectorindex.GenerationActive {
		return false
	}
	_, err = a.Index.Searched(ctx, known[0])
	return errors.Is(err, vector.ErrMissing)
}

// measure reads the lag for the result. It does not set the metric: internal/telemetry reads that for each scrape,
// even when nothing is drained, and a metric can be registered only once.
func (a *Indexing) measure(ctx context.Context, out *DrainResult) {
	lag, err := a.Store.OutboxLag(ctx)
	if err != nil {
		activity.GetLogger(ctx).Warn("lag of the index not measured", "error", err)
		return
	}
	out.Lag = lag
}

// drained is the result of one page of a tenant's outbox.
type drained struct {
	api.IndexResult
	full bool // there may be more entries
	lost bool // the index has lost the generation that is searched, and the changes were not written
}

// drain writes one page of a tenant's outbox to the index, and embeds the memories that have no embedding yet.
// Entries that the embedder or the index cannot take now stay in the outbox, and drain fails. If the embedder refuses
// one memory but accepts others, only that memory is postponed.
func (a *Indexing) drain(ctx context.Context, tenant string, only []uuid.UUID) (drained, error) {
	limit := OutboxPage
	if len(only) > 0 {
		limit = 4 * max(len(only), OutboxPage) // every pending change of the batch's memories
	}
	var out drained
	entries, err := a.Store.Outbox(ctx, tenant, a.Embedder.Model(), only, limit)
	if err != nil || len(entries) == 0 {
		return out, err
	}
	read := 0
	for _, e := range entries {
		read += e.Changes
		if e.Delete {
			out.Deleted++
		}
	}
	out.full = read >= limit
	stored, failures, err := a.writeAll(ctx, tenant, entries, &out)
	settled := slices.DeleteFunc(slices.Clone(entries), func(e vectorindex.OutboxEntry) bool {
		return !stored[e.MemoryID]
	})
	if len(settled) > 0 {
		if settleErr := a.Store.SettleOutbox(ctx, tenant, settled, step.Now(a.Now)); settleErr != nil {
			return drained{lost: out.lost}, cmp.Or(err, settleErr)
		}
		step.Advance(ctx)
	}
	if len(failures) > 0 {
		parked, postponeErr := a.Store.PostponeOutbox(ctx, tenant, failures, step.Now(a.Now))
		out.Postponed, out.Parked = len(failures), parked
		err = cmp.Or(err, postponeErr)
		activity.GetLogger(ctx).Warn("memories not indexed", "tenant", tenant, "memories", len(failures), "parked",
			parked)
	}
	return out, err
}

// writeAll writes entries to every generation that needs them: the searched one, one that is being built, and, for
// deletions, those that wait to be dropped. It returns the memories that all of these generations now have, and those
// whose content an embedder refuses. The counts are of the searched generation.
//
// The generations are read after the entries. A generation that is recorded later is filled later, from rows that
// include these changes. The same applies if the index has lost a generation that is being built: a worker creates and
// fills it again. If the searched generation is lost, it is not created here, because it would contain only the changes
// from now on, and answers would miss everything else.
func (a *Indexing) writeAll(
	ctx context.Context,
	tenant string,
	entries []vectorindex.OutboxEntry,
	out *drained,
) (map[uuid.UUID]bool, []vectorindex.OutboxFailure, error) {
	generations, err := a.generations(ctx)
	if err != nil {
		out.IndexResult = api.IndexResult{}
		return nil, nil, err
	}
	stored := make(map[uuid.UUID]bool, len(entries))
	for _, e := range entries {
		stored[e.MemoryID] = true
	}
	refused := map[uuid.UUID]vectorindex.OutboxFailure{}
	var failed error
	for _, g := range generations {
		mine := entries
		if g.Model != a.Embedder.Model() {
			if mine, err = a.entriesForModel(ctx, tenant, g.Model, entries); err != nil {
				return nil, nil, err
			}
		}
		done, err := a.writeTo(ctx, g, tenant, mine)
		for _, f := range done.refused {
			refused[f.MemoryID] = f
			delete(stored, f.MemoryID)
		}
		for _, e := range done.waiting {
			delete(stored, e)
		}
		failed = cmp.Or(failed, err) // unwrapped: its type decides whether it is retried
		if errors.Is(done.index, vector.ErrMissing) {
			if g.State == vectorindex.GenerationActive {
				out.lost = true
				for _, e := range mine {
					if !e.Delete { // a deletion from a lost generation is complete
						delete(stored, e.MemoryID)
					}
				}
			}
			done.index, done.upserted = nil, 0
		}
		if done.index != nil { // the index was not changed: no entry of this page is settled
			out.IndexResult = api.IndexResult{}
			return nil, nil, cmp.Or(done.index, failed)
		}
		if g.State == vectorindex.GenerationActive {
			out.Upserted, out.Embedded = done.upserted, done.embedded
		}
	}
	return stored, slices.Collect(maps.Values(refused)), failed
}

// entriesForModel reads entries a second time, for another model. Sequence numbers and attempts are those of the
// outbox.
func (a *Indexing) entriesForModel(
	ctx context.Context,
	tenant string,
	model inference.EmbeddingModel,
	entries []vectorindex.OutboxEntry,
) ([]vectorindex.OutboxEntry, error) {
	ids := make([]uuid.UUID, len(entries))
	pending := make(map[uuid.UUID]vectorindex.OutboxEntry, len(entries))
	for i, e := range entries {
		ids[i], pending[e.MemoryID] = e.MemoryID, e
	}
	out, err := a.Store.IndexEntries(ctx, tenant, model, ids)
	for i, e := range out {
		out[i].Seq, out[i].Attempts = pending[e.MemoryID].Seq, pending[e.MemoryID].Attempts
	}
	return out, err
}

// written is the result of writing to one generation.
type written struct {
	upserted, embedded int
	waiting            []uuid.UUID                 // not written, because the embedder is unavailable
	refused            []vectorindex.OutboxFailure // not written, because the embedder refuses them but accepts others
	index              error                       // why the index was not changed
}

// writeTo writes entries to one generation, and embeds those without a vector of its model. Its error is the
// embedder's; entries that need no embedding are written even then.
func (a *Indexing) writeTo(
	ctx context.Context,
	g vector.Generation,
	tenant string,
	entries []vectorindex.OutboxEntry,
) (written, error) {
	var out written
	var changes vector.Changes
	var lacking []vectorindex.OutboxEntry
	for _, e := range entries {
		switch {
		case e.Delete:
			changes.Deletes = append(changes.Deletes,
				vector.Ref{Tenant: tenant, MemoryID: e.MemoryID, Version: e.Version})
		case g.State == vectorindex.GenerationRetired: // it gets deletions only
		case e.Vector == nil:
			lacking = append(lacking, e)
		default:
			changes.Upserts = append(changes.Upserts, vector.PointOf(e))
		}
	}
	var embedErr error
	if len(lacking) > 0 {
		var made map[uuid.UUID][]float32
		made, out.refused, embedErr = a.embed(ctx, g.Model, lacking)
		if err := a.Store.KeepEmbeddings(ctx, tenant, g.Model, lacking, made, step.Now(a.Now)); err != nil {
			out.index = err
			return out, embedErr
		}
		refused := map[uuid.UUID]bool{}
		for _, f := range out.refused {
			refused[f.MemoryID] = true
		}
		for _, e := range lacking {
			switch v, ok := made[e.MemoryID]; {
			case ok:
				e.Vector = v
				changes.Upserts = append(changes.Upserts, vector.PointOf(e))
			case refused[e.MemoryID]: // remove the vector of its earlier content
				changes.Deletes = append(changes.Deletes,
					vector.Ref{Tenant: tenant, MemoryID: e.MemoryID, Version: e.Version})
			case embedErr != nil:
				out.waiting = append(out.waiting, e.MemoryID)
			}
		}
		out.embedded = len(made)
	}
	out.index = a.apply(ctx, g, tenant, changes)
	out.upserted = len(changes.Upserts)
	return out, embedErr
}

// apply writes changes to a generation. If the index has lost that generation, deletions succeed, and any other
// change fails with vector.ErrMissing.
func (a *Indexing) apply(ctx context.Context, g vector.Generation, tenant string, c vector.Changes) error {
	if len(c.Upserts) == 0 && len(c.Deletes) == 0 {
		return nil
	}
	err := a.Index.Apply(ctx, g, tenant, c)
	if len(c.Upserts) == 0 && errors.Is(err, vector.ErrMissing) {
		return nil
	}
	return err
}

// makeRoom creates the missing parts of a generation in the index, without making it the searched one. In Postgres this
// may build indexes, which takes long.
func (a *Indexing) makeRoom(ctx context.Context, g vector.Generation) error {
	g.State = vectorindex.GenerationBuilding
	return step.RunLong(ctx, func() error { return a.Index.Create(ctx, g) })
}

// RemovePoints removes the points of memories from every generation of an index, including those that wait to be
// dropped.
func RemovePoints(
	ctx context.Context,
	st *store.Store,
	index vector.Index,
	tenant string,
	entries []vectorindex.OutboxEntry,
) error {
	generations, err := st.Generations(ctx, index.Name())
	if err != nil {
		return err
	}
	deletes := make([]vector.Ref, len(entries))
	for i, e := range entries {
		deletes[i] = vector.Ref{Tenant: tenant, MemoryID: e.MemoryID, Version: e.Version}
	}
	for _, g := range generations {
		if err := index.Apply(ctx, g, tenant, vector.Changes{Deletes: deletes}); err != nil &&
			!errors.Is(err, vector.ErrMissing) {
			return err
		}
	}
	return nil
}

// generations returns the generations of the index. It creates the first one if there is none.
func (a *Indexing) generations(ctx context.Context) ([]vector.Generation, error) {
	known, err := a.Store.Generations(ctx, a.Index.Name())
	if err != nil || len(known) > 0 && known[0].State == vectorindex.GenerationActive {
		return known, err
	}
	if _, err := a.ensure(ctx); err != nil {
		return nil, err
	}
	return a.Store.Generations(ctx, a.Index.Name())
}

// IndexMemories drains the outbox of the named memories.
func (a *Indexing) IndexMemories(ctx context.Context, in MemoriesRequest) (api.IndexResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	ids := make([]uuid.UUID, 0, len(in.IDs))
	for _, s := range in.IDs {
		if id, err := uuid.Parse(s); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return api.IndexResult{}, nil
	}
	return a.drainOnly(ctx, in.Tenant, ids)
}

// MemoriesRequest names memories by id.
type MemoriesRequest struct {
	Tenant string   `json:"tenant"`
	IDs    []string `json:"ids"`
}
