// Package recall is the read path: collect ids, authorise, shape, hydrate and assemble. It is a library call; Temporal
// is not involved.
//
// Candidate ids may be broad, but no content is loaded, ranked by text, or tracked before the shared filter has
// authorised those ids (document 002 "Hybrid Recall").
//
// This package runs the channels and stages in order, with their deadlines. The rules of ranking are in memory/rank,
// and the queries on Postgres in store/search.
package recall
