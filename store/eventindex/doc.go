// Package eventindex has the implementations of the memory index of package memory/views: the relevance of events
// by similarity of meaning. One keeps vectors in Postgres, one in Qdrant, and one wraps a hosted memory service.
// Each is derived from the ledger, keyed by event, and can be wiped and filled again. None decides which events are
// eligible.
package eventindex
