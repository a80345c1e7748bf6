// Package vectorindex stores the outbox of the vector index and its generations. Package store/vector has the
// indexes themselves.
package vectorindex

import "github.com/mneme/mneme/store/pg"

// VectorIndex stores the outbox and the generations. It is safe for concurrent use.
type VectorIndex struct {
	*pg.DB
}

// New returns a VectorIndex on a database.
func New(db *pg.DB) *VectorIndex { return &VectorIndex{DB: db} }
