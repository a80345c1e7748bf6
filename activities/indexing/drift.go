package indexing

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// CompareResult counts the differences found, and has the cursor for the next call.
type CompareResult struct {
	api.Drift
	Cursor api.IndexCursor `json:"cursor"`
	Points string          `json:"next_points,omitempty"`
	Done   bool            `json:"done"`
}

// CompareMemories compares the live memories of every tenant with the index and, if repair is set, writes missing and
// outdated ones. If the index has lost the generation, it is created first. It is made searchable only at the end of
// the pass: until then a search fails and says so, instead of missing most memories. If a generation is lost during
// the pass, the pass begins again.
func (a *Indexing) CompareMemories(ctx context.Context, in api.CompareRequest) (CompareResult, error) {
	work, ctx := step.StartWork(ctx, CompareResult{Cursor: in.Cursor})
	defer work.Stop()
	g, err := a.compared(ctx, in)
	if err != nil {
		return CompareResult{}, step.Fail(step.Stalled(ctx, err))
	}
	out := work.SoFar()
	if in.Repair && out.Cursor == (api.IndexCursor{}) {
		if err := a.makeRoom(ctx, g); err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		// If two checks run at once, one may have begun before the index was lost. The points that it compared no
		// longer exist, so it must not report that all exist.
		searched, err := a.Index.Searched(ctx, g)
		if err != nil && !errors.Is(err, vector.ErrMissing) {
			return out, step.Fail(err)
		}
		out.Cursor.Activate = !searched && g.State == vectorindex.GenerationActive
	}
	out.Done, err = a.eachPage(ctx, g, out.Cursor, in.MaxPages,
		func(page []vectorindex.IndexState, next api.IndexCursor) error {
			drift, err := a.compareMemories(ctx, g, next.Tenant, page, in.Repair)
			if err != nil {
				return err
			}
			out.Drift, out.Cursor = out.Add(drift), next
			work.Note(out)
			return nil
		})
	switch {
	case err == nil && out.Done && out.Cursor.Activate:
		err = a.searchActive(ctx, true) // another may have become active since g was read
	case in.Repair && out.Cursor.Tenant != "" && errors.Is(err, vector.ErrMissing):
		activity.GetLogger(ctx).Warn("the index has lost a generation that was being compared", "generation", g.ID)
		out.Cursor, err = api.IndexCursor{}, nil
	}
	return out, step.Fail(err)
}

// compared returns the generation of a comparison. It refuses the name of another index than this worker's.
func (a *Indexing) compared(ctx context.Context, in api.CompareRequest) (vector.Generation, error) {
	var p check.Problems
	if a.checkIndex(&p, in.Index); p.Err() != nil {
		return vector.Generation{}, p.Err()
	}
	return a.generation(ctx, in.Generation)
}

// eachPage calls each with pages of live memories of all tenants after a cursor, and with the cursor after the page. It
// stops after limit pages or after workFor, but reads at least one page. It reports whether there are no more.
func (a *Indexing) eachPage(
	ctx context.Context,
	g vector.Generation,
	at api.IndexCursor,
	limit int,
	each func([]vectorindex.IndexState, api.IndexCursor) error,
) (done bool, err error) {
	began := step.Now(a.Now)
	for n := range limit {
		if n > 0 && step.Now(a.Now).Sub(began) >= workFor {
			return false, nil
		}
		page, next, err := a.nextPage(ctx, g, at)
		if err != nil || next == nil {
			return err == nil, err
		}
		if err := each(page, *next); err != nil {
			return false, err
		}
		at = *next
	}
	return false, nil
}

// nextPage returns the next live memories, and the cursor after them; nil when there are no more tenants. A page that
// is not full is the last one of its tenant: later writes are in the outbox, and reading on would not end while
// others write.
func (a *Indexing) nextPage(
	ctx context.Context,
	g vector.Generation,
	at api.IndexCursor,
) ([]vectorindex.IndexState, *api.IndexCursor, error) {
	after := uuid.Nil
	if at.After != "" {
		var err error
		if after, err = uuid.Parse(at.After); err != nil {
			return nil, nil, temporal.NewNonRetryableApplicationError("cursor.after is not an id",
				api.ErrTypeInvalidRequest, nil)
		}
	}
	for {
		if at.Tenant != "" {
			page, err := a.Store.LivePage(ctx, at.Tenant, g.Model, after, OutboxPage)
			if err != nil {
				return nil, nil, err
			}
			if len(page) > 0 {
				after = page[len(page)-1].ID
				if len(page) < OutboxPage {
					after = uuid.Max
				}
				return page, &api.IndexCursor{Tenant: at.Tenant, After: after.String(), Activate: at.Activate}, nil
			}
		}
		tenants, err := a.Store.MemoryTenants(ctx, at.Tenant, 1)
		if err != nil || len(tenants) == 0 {
			return nil, nil, err
		}
		at, after = api.IndexCursor{Tenant: tenants[0], Activate: at.Activate}, uuid.Nil
	}
}

func (a *Indexing) compareMemories(
	ctx context.Context,
	g vector.Generation,
	tenant string,
	page []vectorindex.IndexState,
	repair bool,
) (api.Drift, error) {
	drift := api.Drift{Memories: int64(len(page))}
	ids := make([]uuid.UUID, 0, len(page))
	states := make(map[uuid.UUID]vectorindex.IndexState, len(page))
	for _, s := range page {
		switch {
		case s.Parked:
			drift.Parked++
		case s.Pending:
			drift.Pending++
		default:
			ids, states[s.ID] = append(ids, s.ID), s
		}
	}
	versions, err := a.lookup(ctx, g, tenant, ids)
	if err != nil {
		return drift, err
	}
	differ := slices.DeleteFunc(ids, func(id uuid.UUID) bool { return versions[id] == states[id].Version })
	if len(differ) == 0 {
		return drift, nil
	}
	// A memory that changed after the first read proves nothing: the index may have been updated in between.
	again, err := a.Store.IndexStates(ctx, tenant, g.Model, differ)
	if err != nil {
		return drift, err
	}
	differ = slices.DeleteFunc(differ, func(id uuid.UUID) bool {
		return again[id].Version != states[id].Version || !again[id].Live || again[id].Pending || again[id].Parked
	})
	var ahead []vector.Ref
	for _, id := range differ {
		switch version, there := versions[id]; {
		case !there:
			drift.Missing++
		case version < states[id].Version:
			drift.Behind++
		default:
			drift.Ahead++
			ahead = append(ahead, vector.Ref{Tenant: tenant, MemoryID: id, Version: version})
		}
	}
	if !repair || len(differ) == 0 {
		return drift, nil
	}
	if len(ahead) > 0 { // Postgres decides, even if it is older
		if err := a.apply(ctx, g, tenant, vector.Changes{Deletes: ahead}); err != nil {
			return drift, err
		}
	}
	repaired, err := a.refresh(ctx, g, tenant, differ)
	drift.Repaired += int64(repaired)
	return drift, err
}

// lookup reads the versions in a generation. A lost generation has none.
func (a *Indexing) lookup(
	ctx context.Context,
	g vector.Generation,
	tenant string,
	ids []uuid.UUID,
) (map[uuid.UUID]int, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	versions, err := a.Index.Lookup(ctx, g, tenant, ids)
	if errors.Is(err, vector.ErrMissing) {
		return nil, nil
	}
	return versions, err
}

// refresh writes the current state of memories to one generation, and returns how many it wrote. Memories that the
// embedder refuses are left to the outbox, which postpones them and reports it.
func (a *Indexing) refresh(ctx context.Context, g vector.Generation, tenant string, ids []uuid.UUID) (int, error) {
	entries, err := a.Store.IndexEntries(ctx, tenant, g.Model, ids)
	if err != nil {
		return 0, err
	}
	done, err := a.writeTo(ctx, g, tenant, entries)
	if err = cmp.Or(done.index, err); err != nil {
		return 0, err
	}
	refused := make([]uuid.UUID, len(done.refused))
	for i, f := range done.refused {
		refused[i] = f.MemoryID
	}
	if _, err := a.Store.EnqueueOutbox(ctx, tenant, refused, step.Now(a.Now)); err != nil {
		return 0, err
	}
	// A memory that has changed in the meantime is requested again.
	return done.upserted, a.Store.SettleOutbox(ctx, tenant, entries, step.Now(a.Now))
}

// ComparePoints looks up the points of a generation among the memories. If repair is set, it removes points of
// memories that are not live, and points of parked memories without a vector of their current text: such a point
// would be found by an outdated text.
func (a *Indexing) ComparePoints(ctx context.Context, in api.CompareRequest) (CompareResult, error) {
	work, ctx := step.StartWork(ctx, CompareResult{Points: in.Points})
	defer work.Stop()
	g, err := a.compared(ctx, in)
	if err != nil {
		return CompareResult{}, step.Fail(step.Stalled(ctx, err))
	}
	began := step.Now(a.Now)
	for n := range in.MaxPages {
		if n > 0 && step.Now(a.Now).Sub(began) >= workFor {
			break
		}
		out := work.SoFar()
		refs, next, err := a.Index.Scroll(ctx, g, out.Points, OutboxPage)
		if errors.Is(err, vector.ErrMissing) {
			refs, next, err = nil, "", nil // it has no points
		}
		if err != nil {
			return out, step.Fail(err)
		}
		byTenant := map[string][]vector.Ref{}
		for _, ref := range refs {
			byTenant[ref.Tenant] = append(byTenant[ref.Tenant], ref)
		}
		for tenant, refs := range byTenant {
			drift, err := a.comparePoints(ctx, g, tenant, refs, in.Repair)
			if err != nil {
				return out, step.Fail(err)
			}
			out.Drift = out.Add(drift)
		}
		out.Points = next
		if next == "" {
			out.Done = true
			return out, nil
		}
		work.Note(out)
	}
	return work.SoFar(), nil
}

func (a *Indexing) comparePoints(
	ctx context.Context,
	g vector.Generation,
	tenant string,
	refs []vector.Ref,
	repair bool,
) (api.Drift, error) {
	drift := api.Drift{Points: int64(len(refs))}
	ids := make([]uuid.UUID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.MemoryID
	}
	states, err := a.Store.IndexStates(ctx, tenant, g.Model, ids)
	if err != nil {
		return drift, err
	}
	dead := slices.DeleteFunc(refs, func(ref vector.Ref) bool {
		s := states[ref.MemoryID]
		return s.Pending || s.Live && (!s.Parked || s.Embedded)
	})
	if len(dead) == 0 {
		return drift, nil
	}
	// A point that has disappeared since it was read was removed by the worker that drained its deletion.
	for i, ref := range dead {
		ids[i] = ref.MemoryID
	}
	still, err := a.lookup(ctx, g, tenant, ids[:len(dead)])
	if err != nil {
		return drift, err
	}
	dead = slices.DeleteFunc(dead, func(ref vector.Ref) bool {
		v, there := still[ref.MemoryID]
		return !there || v != ref.Version
	})
	drift.Dead = int64(len(dead))
	if !repair || len(dead) == 0 {
		return drift, nil
	}
	if err := a.apply(ctx, g, tenant, vector.Changes{Deletes: dead}); err != nil {
		return drift, err
	}
	drift.Repaired = drift.Dead
	// a memory that was recovered or changed in the meantime is requested again
	gone := make([]vectorindex.OutboxEntry, len(dead))
	for i, ref := range dead {
		s := states[ref.MemoryID]
		gone[i] = vectorindex.OutboxEntry{MemoryID: ref.MemoryID, Delete: !s.Live, Version: s.Version}
	}
	return drift, a.Store.SettleOutbox(ctx, tenant, gone, step.Now(a.Now))
}

// ensure returns the searched generation, and creates the first one if there is none.
func (a *Indexing) ensure(ctx context.Context) (g vector.Generation, err error) {
	err = step.RunLong(ctx, func() error {
		g, err = vector.Ensure(ctx, a.Store, a.Index, a.Embedder.Model(), step.Now(a.Now))
		return err
	})
	return g, err
}

// generation returns a generation by id or, without an id, the searched one. It creates the first one if there is none.
func (a *Indexing) generation(ctx context.Context, id string) (vector.Generation, error) {
	if id == "" {
		return a.ensure(ctx)
	}
	parsed, err := uuid.Parse(id)
	if err != nil {
		return vector.Generation{}, temporal.NewNonRetryableApplicationError("generation is not an id",
			api.ErrTypeInvalidRequest, nil)
	}
	g, err := a.Store.Generation(ctx, parsed)
	if err == nil && g.Index != a.Index.Name() {
		return g, temporal.NewNonRetryableApplicationError("the generation is of another index than this worker's",
			api.ErrTypeInvalidRequest, nil)
	}
	return g, err
}
