// Package events is the ledger in Postgres (document 001). It appends events to streams, reads them in order, reads
// the latest events that an agent may see, and empties events. Package memory/views decides how they are shown.
package events

import "github.com/mneme/mneme/store/pg"

// Events keeps the ledger. It is safe for concurrent use.
type Events struct {
	*pg.DB
}

// New returns an Events on a database.
func New(db *pg.DB) *Events { return &Events{DB: db} }
