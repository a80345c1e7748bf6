// Package transfer exports a tenant line by line and restores such an export.
package transfer

import "github.com/mneme/mneme/store/pg"

// Transfer exports and restores a tenant. It is safe for concurrent use.
type Transfer struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Transfer { return &Transfer{DB: db} }
