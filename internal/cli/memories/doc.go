// Package memories has the commands about memories: recall, inspection, history and lineage, review, and the changes
// that a person requests.
package memories
