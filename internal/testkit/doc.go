// Package testkit gives tests real servers: Postgres with pgvector, in which each test has a database for itself, and
// the real Temporal server. `make test` starts both and passes their addresses; a test that is run by hand starts them
// itself and leaves them up for the next.
//
// It also has a model endpoint with scripted answers, generators of records, and checks of invariants over all rows.
// Workers and clients of Temporal are in package harness below it. Only tests import it. Values for tests without a
// database are in memory/memorytest.
package testkit
