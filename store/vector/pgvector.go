package vector

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vectorindex"
)

// PGVector searches the embeddings where they are stored: one row for each memory and model, with a partial HNSW
// index for each model, tier and typology. Postgres maintains the indexes in the transaction that writes an
// embedding, and deletes a point with its memory, so Apply has nothing to do. Filters apply before the limit: the
// index is scanned until enough memories match (pgvector's iterative scan).
type PGVector struct {
	Store *store.Store
}

// PGVectorName is PGVector's name.
const PGVectorName = "pgvector"

// Name implements Index.
func (PGVector) Name() string { return PGVectorName }

// Search implements Index.
func (v PGVector) Search(ctx context.Context, f pg.Filter, e pg.Embedding, limit int) ([]search.Hit, error) {
	return v.Store.SearchVector(ctx, f, e, limit)
}

// Apply implements Index. The embeddings are stored already.
func (PGVector) Apply(context.Context, Generation, string, Changes) error { return nil }

// Lookup implements Index. A vector of an earlier content does not count.
func (v PGVector) Lookup(ctx context.Context, g Generation, tenant string, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	states, err := v.Store.IndexStates(ctx, tenant, g.Model, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]int, len(states))
	for id, state := range states {
		if state.Live && state.Embedded {
			out[id] = state.Version
		}
	}
	return out, nil
}

// Scroll implements Index. It returns nothing, because no point can be stale: an embedding refers to its memory by
// a foreign key, and a search skips memories that are not live.
func (PGVector) Scroll(context.Context, Generation, string, int) ([]Ref, string, error) {
	return nil, "", nil
}

// Count implements Index.
func (v PGVector) Count(ctx context.Context, g Generation, tenant string) (int64, error) {
	return v.Store.CountEmbedded(ctx, tenant, g.Model)
}

// Nearest implements Index.
func (v PGVector) Nearest(ctx context.Context, g Generation, tenant string, vector []float32,
	limit int) ([]search.Hit, error) {
	return v.Store.NearestEmbedded(ctx, tenant, pg.Embedding{Model: g.Model, Vector: vector}, limit)
}

// Create implements Index. It builds the model's missing indexes. A model whose name or size cannot be indexed is
// searched without an index.
func (v PGVector) Create(ctx context.Context, g Generation) error {
	_, err := v.Store.BuildVectorIndexes(ctx, g.Model, false)
	return indexable(err)
}

// Searched implements Index. All generations of a model share their vectors.
func (PGVector) Searched(context.Context, Generation) (bool, error) { return true, nil }

// Activate implements Index. Every model's embeddings can be searched as soon as they are stored.
func (PGVector) Activate(context.Context, Generation) error { return nil }

// Drop implements Index. Embeddings are kept with their memories, so that a return to a model costs nothing.
func (PGVector) Drop(context.Context, Generation) error { return nil }

// Rebuild builds the model's indexes again. Each existing index stays in use until its replacement is ready.
func (v PGVector) Rebuild(ctx context.Context, g Generation, from int, done func(parts int)) error {
	return indexable(v.Store.RebuildVectorIndexes(ctx, g.Model, from, done))
}

func indexable(err error) error {
	if errors.Is(err, vectorindex.ErrNotIndexable) {
		return nil
	}
	return err
}
