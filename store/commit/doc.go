// Package commit holds one change of memory: the rows of a memory with its relations, provenance, history and
// outbox entry, which commit together or not at all, and the locks that a change takes first. Its callers decide
// which change to make.
package commit
