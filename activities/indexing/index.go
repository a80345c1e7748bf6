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

// Indexing tells the vector index what has changed, from the outbox, and builds and compares its
// generations.
type Indexing struct {
	Store    *store.Store
	Embedder inference.Embedder // the configured one
	// Others makes the embedder of another model, for a generation that is of one; vector.ErrNoEmbedder when
	// there is none. Nil knows no other. Dimensions are 0 where only the name is known.
	Others func(inference.EmbeddingModel) (inference.Embedder, error)
	Index  vector.Index
	Now    func() time.Time

	once      sync.Once
	embedders vector.Embedders // of Embedder and Others
}

// OutboxPage is how many memories are indexed together.
const OutboxPage = 500

// workFor is how long an activity over many pages goes on before it returns at the end of its page: so
// often at least a run can say how far it has come, however slow the embedder or the index is.
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

// drainOnly drains the outbox of some memories. To try again would not help an index that has lost what it was
// told: SyncIndex finds that out and has it filled.
func (a *Indexing) drainOnly(ctx context.Context, tenant string, ids []uuid.UUID) (api.IndexResult, error) {
	out, err := a.drain(ctx, tenant, ids)
	if err == nil && out.lost {
		err = temporal.NewNonRetryableApplicationError("the vector index is lost, and is told when it has "+
			"been filled again",
			api.ErrTypeIndexLost, nil)
	}
	return out.IndexResult, step.Fail(err)
}

// DrainRequest bounds one DrainOutbox run.
type DrainRequest struct {
	MaxPages int    `json:"max_pages"`
	After    string `json:"after,omitempty"` // the tenant that the run before came to
}

// DrainResult counts what was drained and says whether there is more.
type DrainResult struct {
	api.IndexResult
	More  bool            `json:"more"`
	After string          `json:"after,omitempty"` // for the next run
	Lag   schema.IndexLag `json:"lag"`             // what is left, over all tenants
	// Lost means that the index has nothing to search any more, or no room for what it was to be told. That stays in
	// the outbox; the drift check fills the index again.
	Lost  bool   `json:"lost,omitempty"`
	Index string `json:"index,omitempty"` // which index is lost
}

// DrainOutbox drains the outbox of every tenant: what an ingest could not index, and memories that
// still lack an embedding. Requests that no one will carry out any more go by the way. Tenants take turns,
// a page each, so that one with much to tell keeps none of the others waiting, and neither does one that
// cannot be drained: it fails at the end. An index that is lost is told to the caller instead, who can do
// something about it.
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
	// The tenant after which the previous run stopped.
	if at := slices.IndexFunc(tenants, func(t string) bool { return t > in.After }); at > 0 {
		tenants = append(tenants[at:], tenants[:at]...)
	}
	pages := 0
	var failed error
	end := func() (DrainResult, error) {
		a.measure(ctx, &out)
		if out.Lost = out.Lost || a.lost(ctx); out.Lost {
			if failed != nil {
				activity.GetLogger(ctx).Warn("outbox not drained", "error", failed) // the next run sees it again
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

// lost says whether questions find nothing to search, of an index that has had something. An index that is
// down is not lost.
func (a *Indexing) lost(ctx context.Context) bool {
	known, err := a.Store.Generations(ctx, a.Index.Name())
	if err != nil || len(known) == 0 || known[0].State != vectorindex.GenerationActive {
		return false
	}
	_, err = a.Index.Searched(ctx, known[0])
	return errors.Is(err, vector.ErrMissing)
}

// measure reads the lag for the result. It is not a metric here: internal/telemetry reads it for each scrape, also
// while nothing is drained, and two of a name cannot be served.
func (a *Indexing) measure(ctx context.Context, out *DrainResult) {
	lag, err := a.Store.OutboxLag(ctx)
	if err != nil {
		activity.GetLogger(ctx).Warn("lag of the index not measured", "error", err)
		return
	}
	out.Lag = lag
}

// drained is what became of one page of a tenant's outbox.
type drained struct {
	api.IndexResult
	full bool // there may be more
	lost bool // the index has lost the generation that is searched, and was not told
}

// drain brings one page of a tenant's outbox to the index, embedding what has no embedding yet. What the
// embedder or the index cannot take now stays where it is, and drain fails; a memory that the embedder
// refuses, though it takes others, is put off alone.
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
	told, failures, err := a.tell(ctx, tenant, entries, &out)
	settled := slices.DeleteFunc(slices.Clone(entries), func(e vectorindex.OutboxEntry) bool {
		return !told[e.MemoryID]
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

// tell brings entries to every generation that is to know them: the one that is searched, one that is being
// built, and, of deletions, those that wait to be dropped. It returns the memories that every generation knows, and
// those whose content an embedder refuses. What is counted is what the searched one was told.
//
// The generations are read after the entries: one that is recorded later is filled later, from rows that
// have what was read here. So it is with one being built that the index has lost: a worker that makes it again fills
// it. The one that is searched is not made here: with what is told from now on alone it would answer as if
// that were all.
func (a *Indexing) tell(
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
	told := make(map[uuid.UUID]bool, len(entries))
	for _, e := range entries {
		told[e.MemoryID] = true
	}
	refused := map[uuid.UUID]vectorindex.OutboxFailure{}
	var failed error
	for _, g := range generations {
		mine := entries
		if g.Model != a.Embedder.Model() {
			if mine, err = a.again(ctx, tenant, g.Model, entries); err != nil {
				return nil, nil, err
			}
		}
		done, err := a.bring(ctx, g, tenant, mine)
		for _, f := range done.refused {
			refused[f.MemoryID] = f
			delete(told, f.MemoryID)
		}
		for _, e := range done.waiting {
			delete(told, e)
		}
		failed = cmp.Or(failed, err) // as it is, with the type by which it is retried or not
		if errors.Is(done.index, vector.ErrMissing) {
			if g.State == vectorindex.GenerationActive {
				out.lost = true
				for _, e := range mine {
					if !e.Delete { // a deletion in what is not there is done
						delete(told, e.MemoryID)
					}
				}
			}
			done.index, done.upserted = nil, 0
		}
		if done.index != nil { // the index does not know: none of this page is settled
			out.IndexResult = api.IndexResult{}
			return nil, nil, cmp.Or(done.index, failed)
		}
		if g.State == vectorindex.GenerationActive {
			out.Upserted, out.Embedded = done.upserted, done.embedded
		}
	}
	return told, slices.Collect(maps.Values(refused)), failed
}

// again reads entries for another model, keeping what the outbox said of them.
func (a *Indexing) again(
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

// brought is what one generation was told.
type brought struct {
	upserted, embedded int
	waiting            []uuid.UUID                 // not told, because the embedder is away
	refused            []vectorindex.OutboxFailure // not told, because the embedder takes others, but not these
	index              error                       // the index was not told
}

// bring tells one generation of entries, embedding what has no vector of its model. Its error is the
// embedder's: entries that need none are told all the same.
func (a *Indexing) bring(
	ctx context.Context,
	g vector.Generation,
	tenant string,
	entries []vectorindex.OutboxEntry,
) (brought, error) {
	var out brought
	var changes vector.Changes
	var lacking []vectorindex.OutboxEntry
	for _, e := range entries {
		switch {
		case e.Delete:
			changes.Deletes = append(changes.Deletes,
				vector.Ref{Tenant: tenant, MemoryID: e.MemoryID, Version: e.Version})
		case g.State == vectorindex.GenerationRetired: // it is told what goes, and nothing else
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
			case refused[e.MemoryID]: // what it said before is not to be found any more
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

// apply tells a generation of changes. In one that the index has lost, a deletion is done; anything else is
// vector.ErrMissing.
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

// makeRoom makes what the index lacks of a generation, and nothing that questions are asked of. In Postgres that may
// be index builds, which take long.
func (a *Indexing) makeRoom(ctx context.Context, g vector.Generation) error {
	g.State = vectorindex.GenerationBuilding
	return step.RunLong(ctx, func() error { return a.Index.Create(ctx, g) })
}

// RemovePoints has every generation of an index forget the points of memories, those that wait to be dropped
// included.
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

// generations returns the generations of the index, and makes the first.
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
