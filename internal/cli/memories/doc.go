// Package memories has the commands about memories: recall, inspection, history and lineage, review, and the changes
// that a person requests. Commands that write new data or export it are in internal/cli/exchange, and those of an
// operator in internal/cli/operate.
package memories
