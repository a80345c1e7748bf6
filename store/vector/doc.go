// Package vector defines the advisory vector index, and implements it with pgvector and with Qdrant. Postgres has the
// authoritative data: an index may be stale, slow, wiped or gone, and then recall loses quality, never correctness.
//
// The outbox that lists changes for an index is in store/vectorindex, and the activities that apply them are in
// activities/indexing. Vectors are computed in package inference.
package vector
