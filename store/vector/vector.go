// Package vector is the advisory vector index behind one interface. Postgres is the authority: an
// index may be stale, slow or gone, and then recall loses quality, never correctness.
package vector

import (
	"context"

	"github.com/google/uuid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Point is one memory as an index sees it: a vector and what it may be filtered by, no content.
type Point struct {
	MemoryID uuid.UUID
	Version  int
	Tier     schema.Tier
	Typology schema.Typology
	Vector   []float32
}

// Index finds memories by vector. Implementations are safe for concurrent use.
type Index interface {
	// Name identifies the index in metrics and in recall's meta.
	Name() string
	// Apply upserts and deletes the points of one tenant. Applying the same change twice is harmless.
	Apply(ctx context.Context, tenant string, model inference.EmbeddingModel, upserts []Point, deletes []uuid.UUID) error
	// Search returns at most limit ids of the filter's tenant, best first, scores in [0,1]. An index
	// applies as much of the filter as it can. Ids may still be stale and are not authorised: the
	// caller checks both.
	Search(ctx context.Context, f store.Filter, e store.Embedding, limit int) ([]store.Hit, error)
}

// PGVector searches the embeddings where they are stored. Its index is maintained by Postgres in the
// very transaction that writes an embedding, so Apply has nothing to do.
type PGVector struct {
	Store *store.Store
}

// Name implements Index.
func (PGVector) Name() string { return "pgvector" }

// Apply implements Index.
func (PGVector) Apply(context.Context, string, inference.EmbeddingModel, []Point, []uuid.UUID) error {
	return nil
}

// Search implements Index.
func (v PGVector) Search(ctx context.Context, f store.Filter, e store.Embedding, limit int) ([]store.Hit, error) {
	return v.Store.SearchVector(ctx, f, e, limit)
}
