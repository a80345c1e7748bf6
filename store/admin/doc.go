// Package admin reads the database for operators: health, counts, metrics, and missing parts of the schema.
package admin

import "github.com/mneme/mneme/store/pg"

// Admin answers operators' questions. It is safe for concurrent use.
type Admin struct {
	*pg.DB
}

// New returns an Admin on a database.
func New(db *pg.DB) *Admin { return &Admin{DB: db} }
