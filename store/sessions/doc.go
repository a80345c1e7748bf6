// Package sessions stores the sessions of agents in Postgres: up to which event a stream was processed, the present
// state of the work (package memory/session), and the episodes of closed sessions. All of it is derived from the
// ledger. The package appends no event, and decides neither which events an agent sees (package memory/views) nor
// what an episode holds.
package sessions
