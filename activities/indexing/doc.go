// Package indexing holds the activities that keep the vector index: they drain the outbox, compare the index with
// Postgres and repair it, and build a new generation. What they index is decided by package store/vectorindex, and the
// index itself is an Index of package store/vector.
package indexing
