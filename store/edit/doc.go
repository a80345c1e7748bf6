// Package edit carries out the changes that a caller asks for: put, revise, modify, recover. The plans of these
// changes are made by package memory/revision.
package edit

import "github.com/mneme/mneme/store/pg"

// Editing carries out put, revise, modify and recover. It is safe for concurrent use.
type Editing struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Editing { return &Editing{DB: db} }
