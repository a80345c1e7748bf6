// Package step has what all activities share: errors for Temporal's retry policy, heartbeats that report progress, the
// number of rows in one statement, jitter between retries, calls to the embedder, the clock and the classification
// rules in force. It contains no phase: a phase is a struct of package activities or of a package below it.
//
// Errors that leave an activity never contain memory content, because they end up in histories and logs.
package step
