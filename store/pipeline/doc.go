// Package pipeline holds the steps of an ingest as transactions: staging, extractions, decisions, writes, links,
// reviews and jobs. Each step may be delivered twice. Package workflows decides their order.
package pipeline

import "github.com/mneme/mneme/store/pg"

// Pipeline carries out the steps of an ingest. It is safe for concurrent use.
type Pipeline struct {
	*pg.DB
}

// New returns a Pipeline on a database.
func New(db *pg.DB) *Pipeline { return &Pipeline{DB: db} }
