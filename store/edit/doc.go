// Package edit carries out the changes that a caller requests: put, revise, modify, recover. Package
// memory/revision plans them.
package edit

import "github.com/mneme/mneme/store/pg"

// Editing carries out put, revise, modify and recover. It is safe for concurrent use.
type Editing struct {
	*pg.DB
}

// New returns an Editing on a database.
func New(db *pg.DB) *Editing { return &Editing{DB: db} }
