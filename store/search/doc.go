// Package search answers the channels and stages of a recall. It finds candidate ids by text, vectors, claims,
// time, graph and hints, and reads memories after authorisation. It writes only retrievals and accesses.
//
// question.go parses the words of the query. Each channel has a file: text search.go, with BM25 in bm25.go; vectors
// vectorclass.go, with the plan for a tenant in vectorplan.go; hintsearch.go, claimsearch.go, traverse.go for the
// graph, timesearch.go, signalsearch.go. structured.go queries hints, claims and the graph in one round trip.
package search

import "github.com/mneme/mneme/store/pg"

// Search answers the channels of a recall. It is safe for concurrent use.
type Search struct {
	*pg.DB

	hubs        tenantCache[int64]    // for dampening hubs
	hints       vocabulary            // lexemes of the words in hints
	busy        busyTenants           // for the plans of vector searches
	busyByWords busyTenants           // for the plans of large tenants' searches by words
	english     tenantCache[struct{}] // tenants without other languages
}

// New returns a Search on a database.
func New(db *pg.DB) *Search { return &Search{DB: db, busyByWords: busyTenants{most: busyByWordsMost}} }
