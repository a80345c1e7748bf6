// Package eventindex has the memory indexes of package memory/views: similarity of meaning as the relevance of
// events. One keeps vectors in Postgres, another wraps a hosted memory service. Both are derived from the ledger,
// keyed by event, and can be wiped and filled again; neither decides which events are eligible.
package eventindex
