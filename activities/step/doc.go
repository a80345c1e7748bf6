// Package step holds what all activities share: the errors that Temporal's retry policy acts on, heartbeats that come
// from progress, the size of what is asked of a statement at once, jitter between retries, and calls of the embedder.
// It knows no phase: a phase is a struct of package activities or of a package below it.
//
// Errors that leave an activity never carry memory content: they end up in histories and logs.
package step
