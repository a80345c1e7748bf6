// Package app holds what the commands of the command line share: connections, flags, output as text or JSON, errors
// with exit codes, and the wait for a run. It has no command of its own but version and trust.
package app
