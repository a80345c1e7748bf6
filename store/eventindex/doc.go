// Package eventindex has the memory indexes of package memory/views: similarity of meaning as the relevance of
// events. One keeps vectors in Postgres, one in Qdrant, and one wraps a hosted memory service. Each is derived from the
// ledger, keyed by event, and can be wiped and filled again; none decides which events are eligible.
package eventindex
