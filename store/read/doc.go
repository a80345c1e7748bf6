// Package read reads records by id or as a list: a record now or as of a time, its history, its lineage, its
// payload. Package search finds records by a question.
package read

import "github.com/mneme/mneme/store/pg"

// Reading reads records, their history and their lineage. It is safe for concurrent use.
type Reading struct {
	*pg.DB
}

// New returns a Reading on a database.
func New(db *pg.DB) *Reading { return &Reading{DB: db} }
