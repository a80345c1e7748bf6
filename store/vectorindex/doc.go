// Package vectorindex keeps the outbox of the vector index and its generations. Package store/vector holds the
// indexes themselves.
package vectorindex

import "github.com/mneme/mneme/store/pg"

// VectorIndex keeps the outbox and the generations of the vector index. It is safe for concurrent use.
type VectorIndex struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *VectorIndex { return &VectorIndex{DB: db} }
