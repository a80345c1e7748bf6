// Package activities holds the steps that have side effects: one struct a phase, its dependencies injected. An activity
// runs at least once, so each may run twice: what it writes is keyed, and the second run finds the result of the first.
// The vector index is kept by package indexing below it; order and retries are in package workflows.
package activities
