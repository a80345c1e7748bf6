// Package indexing holds the activities that maintain the vector index: they drain the outbox, compare the index with
// Postgres and repair it, and build a new generation. Package store/vectorindex decides what is indexed; the index
// itself is an Index of package store/vector.
package indexing
