// Package app has the code that commands share: connections, flags, output as text or JSON, errors with exit codes, and
// waiting for a run. Its own commands are version and trust.
package app
