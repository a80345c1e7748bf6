// Package memories has the commands about what is known: recall, inspection, history and lineage, review, and the
// changes that a person asks for.
package memories
