// Package search answers the channels and stages of a recall: candidate ids by text, vectors, claims, time, graph and
// hints, and after authorization what is read of them. It writes only retrievals and accesses.
package search

import "github.com/mneme/mneme/store/pg"

// Search answers the channels of a recall. It is safe for concurrent use.
type Search struct {
	*pg.DB

	hubs  hubDegrees  // of shaping
	hints vocabulary  // of searching hints
	busy  busyTenants // of searching vectors
}

// New returns it over a connection.
func New(db *pg.DB) *Search { return &Search{DB: db} }
