// Package activities holds the steps that have side effects: one struct for each phase, with its dependencies as
// fields. An activity may run twice, so its writes have a key, and the second run finds the result of the first.
// Package indexing below it maintains the vector index; order and retries are in package workflows.
package activities
