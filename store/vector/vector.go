// Package vector is the advisory vector index as one interface. Postgres is the authority: an index may be stale,
// slow, wiped or gone, and then recall loses quality, never correctness.
package vector

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vectorindex"
)

// Generation is one build of an index. An index may have several at the same time: one that is searched, one that is
// being built, one that waits to be dropped.
type Generation = vectorindex.Generation

// Point is one memory as an index sees it: a vector and what it may be filtered by, no content.
type Point struct {
	MemoryID uuid.UUID
	Version  int // of the memory; an index keeps the newest that it has seen
	Tier     schema.Tier
	Typology schema.Typology
	vectorindex.IndexAttributes
	Vector []float32 // of unit length, of the generation's dimensions
}

// Ref names a point and the version of its memory.
type Ref struct {
	Tenant   string
	MemoryID uuid.UUID
	Version  int
}

// Changes is what an index gets for one tenant's memories.
type Changes struct {
	Upserts []Point
	// Deletes removes points up to the given version; with version 0, whatever version they have.
	Deletes []Ref
}

// Index finds memories by vector. Implementations are safe for concurrent use.
//
// Errors are temporary unless they are ErrMissing or ErrMismatch. They never contain requested or stored data.
type Index interface {
	// Name identifies the index in metrics, in workflow ids and in its generations.
	Name() string

	// Search returns at most limit ids of the filter's tenant, best first, scores in [0,1], from the active
	// generation of the embedding's model. An index applies as much of the filter as it can, and never
	// more. Ids may still be stale and are not authorised: the caller checks both.
	Search(ctx context.Context, f pg.Filter, e pg.Embedding, limit int) ([]search.Hit, error)

	// Apply tells one generation of changes of one tenant, and returns when they can be found. Applying the
	// same change twice is harmless, and so is applying an older one after a newer: a point is never
	// replaced by an older version of its memory. A point that was deleted and comes back by an older
	// change is found by the drift check.
	Apply(ctx context.Context, g Generation, tenant string, c Changes) error
	// Lookup returns the versions of those of a tenant's memories that a generation has.
	Lookup(ctx context.Context, g Generation, tenant string, ids []uuid.UUID) (map[uuid.UUID]int, error)
	// Scroll returns at most limit points of a generation over all tenants, in an order of its own, after the cursor.
	// The first cursor is empty, and so is the one returned after the last point.
	Scroll(ctx context.Context, g Generation, cursor string, limit int) (refs []Ref, next string, err error)
	// Count returns how many points of a tenant a generation has.
	Count(ctx context.Context, g Generation, tenant string) (int64, error)
	// Nearest returns the tenant's points nearest to a vector in one generation, searched or not.
	Nearest(ctx context.Context, g Generation, tenant string, vector []float32, limit int) ([]search.Hit, error)

	// Create creates a generation in the index, or does nothing if it exists. An active generation is also made
	// searchable: it is the first one of an installation. A lost generation must not be created as active before it
	// has been filled.
	Create(ctx context.Context, g Generation) error
	// Searched reports whether searches with the generation's model use this generation or another. If they have none
	// to use, it returns ErrMissing.
	Searched(ctx context.Context, g Generation) (bool, error)
	// Activate makes a generation the one that is searched for its model, at once and as a whole.
	Activate(ctx context.Context, g Generation) error
	// Drop removes a generation; one that does not exist is not an error.
	Drop(ctx context.Context, g Generation) error
}

var (
	// ErrMissing means that the index lacks the generation: it was never made, was dropped, or the index was
	// wiped.
	ErrMissing = errors.New("the vector index has no such generation")
	// ErrMismatch means that a vector is not of the generation's embedding space.
	ErrMismatch = errors.New("the vector is not of the index's embedding space")
)

// Rebuilder is an index that keeps more of a generation than its points, and can rebuild it while it is searched. It
// does so in parts: done is called with how many are done, and another call can go on from there.
type Rebuilder interface {
	// Rebuild builds the generation's indexes again, except the first from parts; it calls done after each part.
	Rebuild(ctx context.Context, g Generation, from int, done func(parts int)) error
}

// PointOf returns the point of an entry that has a vector.
func PointOf(e vectorindex.OutboxEntry) Point {
	return Point{MemoryID: e.MemoryID, Version: e.Version, Tier: e.Tier, Typology: e.Typology,
		IndexAttributes: e.IndexAttributes, Vector: e.Vector}
}
