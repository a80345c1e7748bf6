// Package sessions keeps the sessions of agents in Postgres: how far the events of a stream were taken in, the state of
// the work meanwhile (package memory/session), and the episodes that sessions became when they were closed. Everything
// follows from the ledger. It appends no event, and decides neither which events an agent sees (package memory/views)
// nor what an episode holds.
package sessions
