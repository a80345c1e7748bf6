// Package forgetting selects, confirms and carries out requests to forget, and erases content from every table that
// has it. Scheduled deletion is in package sweeping.
package forgetting

import "github.com/mneme/mneme/store/pg"

// Forgetter carries out requests to forget. It is safe for concurrent use.
type Forgetter struct {
	*pg.DB
}

// New returns a Forgetter on a database.
func New(db *pg.DB) *Forgetter { return &Forgetter{DB: db} }
