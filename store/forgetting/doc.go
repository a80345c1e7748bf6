// Package forgetting selects, confirms and carries out requests to forget, and erases content wherever it is kept.
// Scheduled deletion is in package sweeping.
package forgetting

import "github.com/mneme/mneme/store/pg"

// Forgetter carries out requests to forget. It is safe for concurrent use.
type Forgetter struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Forgetter { return &Forgetter{DB: db} }
