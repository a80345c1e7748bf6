// Package app holds what the commands share: connections, flags, output as text or JSON, errors with exit codes, and
// the wait for a run. Its own commands are version and trust.
package app
