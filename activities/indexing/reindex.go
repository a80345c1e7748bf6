package indexing

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

func refOf(g vector.Generation) api.GenerationRef {
	return api.GenerationRef{ID: g.ID.String(), Model: g.Model.Name, Dimensions: g.Model.Dimensions}
}

// BeginReindexRequest is a request for a new generation.
type BeginReindexRequest struct {
	Index string `json:"index"`           // the name of the worker's index
	Model string `json:"model,omitempty"` // empty for the configured one
	// GraceSeconds is only checked here. The workflow waits that long later.
	GraceSeconds int `json:"grace_seconds,omitempty"`
}

// BeginReindexResult names the generation to fill.
type BeginReindexResult struct {
	Generation api.GenerationRef  `json:"generation"`
	Replaces   *api.GenerationRef `json:"replaces,omitempty"`
	Resumed    bool               `json:"resumed"` // continues a generation that an earlier run began
	Memories   int64              `json:"memories"`
}

// BeginReindex creates an empty generation in addition to the searched one. Once it is recorded, every change
// reaches both. If an earlier run left an unfinished generation of the same model, it is continued; one of another
// model is dropped.
func (a *Indexing) BeginReindex(ctx context.Context, in BeginReindexRequest) (BeginReindexResult, error) {
	ctx, stop := step.HeartbeatLong(ctx)
	defer stop()
	var out BeginReindexResult
	var p check.Problems
	a.checkIndex(&p, in.Index)
	if longest := int(vector.MaxDropGrace.Seconds()); in.GraceSeconds > longest {
		p.Add("grace_seconds", "must be at most %d", longest)
	}
	if err := p.Err(); err != nil {
		return out, step.Fail(err)
	}
	known, err := a.generations(ctx)
	if err != nil {
		return out, step.Fail(err)
	}
	model, err := a.modelNamed(ctx, in.Model, known)
	if err != nil {
		return out, step.Fail(err)
	}
	for _, g := range known {
		switch {
		case g.State == vectorindex.GenerationActive:
			replaces := refOf(g)
			out.Replaces = &replaces
		case g.State == vectorindex.GenerationBuilding && g.Model == model:
			out.Resumed = true
		case g.State == vectorindex.GenerationBuilding:
			if err := a.drop(ctx, g); err != nil {
				return out, step.Fail(err)
			}
			step.Advance(ctx)
		}
	}
	g, err := a.Store.StartGeneration(ctx, a.Index.Name(), model, vectorindex.GenerationBuilding, step.Now(a.Now))
	if err != nil {
		return out, step.Fail(err)
	}
	if g.Model != model {
		// started by a run with another id; the next attempt finds it
		return out, fmt.Errorf("another generation is being built")
	}
	if err := a.Index.Create(ctx, g); err != nil {
		return out, step.Fail(err)
	}
	out.Generation = refOf(g)
	out.Memories, err = a.Store.LiveTotal(ctx)
	return out, step.Fail(err)
}

// checkIndex reports a name that is not that of this worker's index. An empty name means that one.
func (a *Indexing) checkIndex(p *check.Problems, name string) {
	if name != "" && name != a.Index.Name() {
		p.Add("index", "this worker's index is %s", a.Index.Name())
	}
}

// modelNamed returns the model with a name: the configured one, or that of another available embedder.
func (a *Indexing) modelNamed(
	ctx context.Context,
	name string,
	known []vector.Generation,
) (inference.EmbeddingModel, error) {
	configured := a.Embedder.Model()
	if name == "" || name == configured.Name {
		return configured, nil
	}
	model := inference.EmbeddingModel{Name: name}
	for _, g := range known {
		if g.Model.Name == name {
			model = g.Model
		}
	}
	embedder, err := a.embedderOf(model)
	if err == nil {
		err = probe(ctx, embedder)
		if err != nil && !inference.IsPermanent(err) {
			return model, err
		}
	}
	if err != nil {
		return model, &check.ValidationError{Fields: []check.FieldError{{Field: "model",
			Problem: "the worker has no embedder for it; configure it, then rebuild"}}}
	}
	return embedder.Model(), nil
}

// FillRequest is a request to write memories to a generation, starting at a cursor.
type FillRequest struct {
	Generation string          `json:"generation"`
	Cursor     api.IndexCursor `json:"cursor"`
	MaxPages   int             `json:"max_pages"`
}

// FillResult counts the memories written, and has the cursor for the next call.
type FillResult struct {
	Memories int64           `json:"memories"` // memories that were checked
	Embedded int64           `json:"embedded"` // of these, memories without a vector of the model
	Refused  int64           `json:"refused"`  // of these, memories that the embedder refused: the outbox keeps them
	Cursor   api.IndexCursor `json:"cursor"`
	Done     bool            `json:"done"`
}

// FillGeneration writes the live memories of all tenants to a generation, from Postgres alone: page by page, in the
// order of tenants and ids. A retry continues after the last page that was reported. If the index loses the
// generation during the run, it is created again; the comparison then writes the earlier pages again.
func (a *Indexing) FillGeneration(ctx context.Context, in FillRequest) (FillResult, error) {
	work, ctx := step.StartWork(ctx, FillResult{Cursor: in.Cursor})
	defer work.Stop()
	g, err := a.generation(ctx, in.Generation)
	if err != nil {
		return FillResult{}, step.Fail(step.Stalled(ctx, err))
	}
	out := work.SoFar()
	out.Done, err = a.eachPage(ctx, g, out.Cursor, in.MaxPages,
		func(page []vectorindex.IndexState, next api.IndexCursor) error {
			ids, lacking := make([]uuid.UUID, len(page)), int64(0)
			for i, s := range page {
				ids[i] = s.ID
				if !s.Embedded {
					lacking++
				}
			}
			refreshed, err := a.refresh(ctx, g, next.Tenant, ids)
			if errors.Is(err, vector.ErrMissing) {
				if err = a.makeRoom(ctx, g); err == nil {
					refreshed, err = a.refresh(ctx, g, next.Tenant, ids)
				}
			}
			if err != nil {
				return err
			}
			out.Memories, out.Embedded = out.Memories+int64(len(page)), out.Embedded+lacking
			out.Refused += int64(max(0, len(page)-refreshed))
			out.Cursor = next
			work.Note(out)
			return nil
		})
	return out, step.Fail(err)
}

// GenerationRequest names a generation.
type GenerationRequest struct {
	Generation string `json:"generation"`
}

// rebuilt is the progress of a rebuild of indexes.
type rebuilt struct {
	Parts int `json:"parts"`
}

// RebuildIndexes rebuilds what an index stores for a generation in addition to its points. Only Postgres has such
// indexes. A retry continues after those that are built.
func (a *Indexing) RebuildIndexes(ctx context.Context, in GenerationRequest) error {
	work, ctx := step.StartWork(ctx, rebuilt{})
	defer work.Stop()
	g, err := a.generation(ctx, in.Generation)
	if err != nil {
		return step.Fail(err)
	}
	if index, ok := a.Index.(vector.Rebuilder); ok {
		err := step.RunLong(ctx, func() error {
			return index.Rebuild(ctx, g, work.SoFar().Parts, func(parts int) { work.Note(rebuilt{parts}) })
		})
		return step.Fail(step.Stalled(ctx, err))
	}
	return nil
}

// ActivateGeneration makes a generation the one that is searched. It first activates it in the index and then records
// this in Postgres, because an embedder of the previous generation uses that one until it is dropped.
func (a *Indexing) ActivateGeneration(ctx context.Context, in GenerationRequest) error {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	g, err := a.generation(ctx, in.Generation)
	if err != nil {
		return step.Fail(err)
	}
	if err := a.Index.Activate(ctx, g); err != nil {
		return step.Fail(err)
	}
	if err := a.Store.ActivateGeneration(ctx, g, step.Now(a.Now)); err != nil {
		return step.Fail(err)
	}
	return step.Fail(a.searchActive(ctx, false)) // a concurrent drift check may have reverted the first half
}

// SearchActive makes the index search the generation that is active in Postgres, after a switch that was interrupted
// halfway.
func (a *Indexing) SearchActive(ctx context.Context) error {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	return step.Fail(a.searchActive(ctx, false))
}

// searchActive makes the index search the generation that is active in Postgres instead of another generation or, if
// whole is set, instead of none. Only the worker that filled a lost generation may set whole: until then searches
// skip the index and say so. It repeats until nothing changes in between: if a switch and a repair run at the same
// time, the last one sees what the other has written.
func (a *Indexing) searchActive(ctx context.Context, whole bool) error {
	for last := uuid.Nil; ; {
		known, err := a.Store.Generations(ctx, a.Index.Name())
		if err != nil || len(known) == 0 || known[0].State != vectorindex.GenerationActive || known[0].ID == last {
			return err
		}
		last = known[0].ID
		searched, err := a.Index.Searched(ctx, known[0])
		none := errors.Is(err, vector.ErrMissing)
		if err != nil && !none {
			return err
		}
		if searched || none && !whole {
			continue
		}
		if err := a.Index.Activate(ctx, known[0]); err != nil && !errors.Is(err, vector.ErrMissing) {
			return err // the drift check restores what the index has lost
		}
	}
}

// DropResult counts dropped generations.
type DropResult struct {
	Dropped int `json:"dropped"`
}

// DropRetired drops the generations that are no longer searched.
func (a *Indexing) DropRetired(ctx context.Context) (DropResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	known, err := a.Store.Generations(ctx, a.Index.Name())
	if err != nil {
		return DropResult{}, step.Fail(err)
	}
	var out DropResult
	for _, g := range known {
		if g.State != vectorindex.GenerationRetired {
			continue
		}
		if err := a.drop(ctx, g); err != nil {
			return out, step.Fail(err)
		}
		step.Advance(ctx)
		out.Dropped++
	}
	return out, nil
}

// AbandonGeneration drops a generation that will not be finished. It does not drop a searched generation.
func (a *Indexing) AbandonGeneration(ctx context.Context, in GenerationRequest) error {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	g, err := a.generation(ctx, in.Generation)
	if errors.Is(err, pg.ErrNotFound) {
		return nil
	}
	if err != nil || g.State == vectorindex.GenerationActive {
		return step.Fail(err)
	}
	return step.Fail(a.drop(ctx, g))
}

// drop removes a generation. After an interrupted switch, the index may still search this generation, and the active
// one would lose its alias together with it.
func (a *Indexing) drop(ctx context.Context, g vector.Generation) error {
	if err := a.searchActive(ctx, false); err != nil {
		return err
	}
	if err := a.Index.Drop(ctx, g); err != nil {
		return err
	}
	return a.Store.RemoveGeneration(ctx, g.ID)
}
