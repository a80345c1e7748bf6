// Package sessions stores the sessions of agents in Postgres: the last processed event of a stream, the current
// state of the work (package memory/session), and the episodes of closed sessions. All of it is derived from the
// ledger. Package memory/views decides which events an agent sees, and memory/session decides the content of an
// episode.
package sessions
