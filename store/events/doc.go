// Package events is the ledger in Postgres (document 001): it appends events to streams, reads them in order, reads the
// latest that an agent may see, and empties them. What an agent is shown of them is decided in package memory/views.
package events

import "github.com/mneme/mneme/store/pg"

// Events keeps the ledger. It is safe for concurrent use.
type Events struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Events { return &Events{DB: db} }
