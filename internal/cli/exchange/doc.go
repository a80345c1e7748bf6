// Package exchange has the commands that write and export data: remember, import, put, artifact, export and restore. It
// also reads the export formats of other systems (foreign.go). Commands that inspect or change stored memories are in
// internal/cli/memories.
package exchange
