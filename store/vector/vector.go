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

// Generation is one build of an index. An index may have several: one that is searched, one that is being built,
// and one to be dropped.
type Generation = vectorindex.Generation

// Point is one memory in an index: a vector and the fields of the filter, without content.
type Point struct {
	MemoryID uuid.UUID
	Version  int // of the memory; an index keeps the newest version
	Tier     schema.Tier
	Typology schema.Typology
	vectorindex.IndexAttributes
	Vector []float32 // of unit length, of the generation's dimensions
}

// Ref identifies a point and the version of its memory.
type Ref struct {
	Tenant   string
	MemoryID uuid.UUID
	Version  int
}

// Changes are the changes of one tenant's memories for an index.
type Changes struct {
	Upserts []Point
	// Deletes removes points up to the given version; version 0 removes any version.
	Deletes []Ref
}

// Index finds memories by vector. Implementations are safe for concurrent use.
//
// Errors are temporary unless they are ErrMissing or ErrMismatch. They never contain requested or stored data.
type Index interface {
	// Name identifies the index in metrics, in workflow ids and in its generations.
	Name() string

	// Search returns at most limit ids of the filter's tenant, best first, with scores in [0,1], from the active
	// generation of the embedding's model. An index may apply only a part of the filter, but must not exclude
	// memories that the filter admits. Ids may be stale and are not authorised; the caller checks both.
	Search(ctx context.Context, f pg.Filter, e pg.Embedding, limit int) ([]search.Hit, error)

	// Apply applies the changes of one tenant to one generation, and returns when searches find them. A repeated
	// change is harmless, and so is an older one after a newer: an older version of a memory never replaces a newer
	// one. If an older change brings a deleted point back, the drift check finds it.
	Apply(ctx context.Context, g Generation, tenant string, c Changes) error
	// Lookup returns the versions of the tenant's memories that a generation has.
	Lookup(ctx context.Context, g Generation, tenant string, ids []uuid.UUID) (map[uuid.UUID]int, error)
	// Scroll returns at most limit points of a generation over all tenants after the cursor, in any fixed order.
	// The first cursor is empty, and so is the one returned after the last point.
	Scroll(ctx context.Context, g Generation, cursor string, limit int) (refs []Ref, next string, err error)
	// Count returns how many points of a tenant a generation has.
	Count(ctx context.Context, g Generation, tenant string) (int64, error)
	// Nearest returns the tenant's points nearest to a vector in one generation, searched or not.
	Nearest(ctx context.Context, g Generation, tenant string, vector []float32, limit int) ([]search.Hit, error)

	// Create creates a generation in the index, or does nothing if it exists. An active generation, the first one
	// of an installation, also becomes searchable. A lost generation must be filled before it is created as active.
	Create(ctx context.Context, g Generation) error
	// Searched reports whether searches with the generation's model use this generation. If they use another, it
	// returns false; if there is none to use, ErrMissing.
	Searched(ctx context.Context, g Generation) (bool, error)
	// Activate makes a generation the searched one for its model, atomically.
	Activate(ctx context.Context, g Generation) error
	// Drop removes a generation. A missing generation is not an error.
	Drop(ctx context.Context, g Generation) error
}

var (
	// ErrMissing means that the index does not have the generation: it was not created, was dropped, or the index
	// was wiped.
	ErrMissing = errors.New("the vector index has no such generation")
	// ErrMismatch means that a vector is not of the generation's embedding space.
	ErrMismatch = errors.New("the vector is not of the index's embedding space")
)

// Rebuilder is an index that can rebuild a generation's search structures while it is searched. It does so in
// parts: it calls done with the number of finished parts, and another call can continue from there.
type Rebuilder interface {
	// Rebuild builds the generation's indexes again, without the first from parts. It calls done after each part.
	Rebuild(ctx context.Context, g Generation, from int, done func(parts int)) error
}

// PointOf returns the point of an entry that has a vector.
func PointOf(e vectorindex.OutboxEntry) Point {
	return Point{MemoryID: e.MemoryID, Version: e.Version, Tier: e.Tier, Typology: e.Typology,
		IndexAttributes: e.IndexAttributes, Vector: e.Vector}
}
