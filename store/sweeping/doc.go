// Package sweeping removes faded memories and data past its retention window, in batches, and holds a sweep that
// would remove too much. The windows and rules are in package memory/lifecycle.
package sweeping

import "github.com/mneme/mneme/store/pg"

// Sweeping carries out the sweeps of decay and retention. It is safe for concurrent use.
type Sweeping struct {
	*pg.DB
}

// New returns a Sweeping on a database.
func New(db *pg.DB) *Sweeping { return &Sweeping{DB: db} }
