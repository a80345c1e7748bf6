// Package read reads records by id or by list: a record now or as of a time, its history, its lineage, its payload.
// What is found by a question is package search's.
package read

import "github.com/mneme/mneme/store/pg"

// Reading reads records, their history and their lineage. It is safe for concurrent use.
type Reading struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Reading { return &Reading{DB: db} }
