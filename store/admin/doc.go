// Package admin reads the database as an operator does: health, counts, metrics, and what is missing.
package admin

import "github.com/mneme/mneme/store/pg"

// Admin reads what operators ask for. It is safe for concurrent use.
type Admin struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Admin { return &Admin{DB: db} }
