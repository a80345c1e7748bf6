// Package step has what all activities share: the errors that Temporal's retry policy acts on, heartbeats that report
// progress, the number of rows a statement is asked for, jitter between retries, and calls of the embedder. It knows
// no phase: a phase is a struct of package activities or of a package below it.
//
// Errors that leave an activity never carry memory content: they end up in histories and logs.
package step
