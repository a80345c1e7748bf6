// Package transfer exports a tenant as lines of JSON and restores such an export.
package transfer

import "github.com/mneme/mneme/store/pg"

// Transfer exports and restores a tenant. It is safe for concurrent use.
type Transfer struct {
	*pg.DB
}

// New returns a Transfer on a database.
func New(db *pg.DB) *Transfer { return &Transfer{DB: db} }
