// Package search answers the channels and stages of a recall: candidate ids by text, vectors, claims, time, graph and
// hints, and after authorization what is read of them. It writes only retrievals and accesses.
//
// The words of the query are read in question.go. Each channel has a file: text search.go, with BM25 in bm25.go;
// vectors vectorclass.go, with the plan for a tenant in vectorplan.go; hintsearch.go, claimsearch.go, traverse.go for
// the graph, timesearch.go, signalsearch.go. structured.go asks hints, claims and the graph in one round trip.
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
