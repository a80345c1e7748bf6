// Package session derives from the events of one session what is kept of it: the state of the task while it is under
// way (Working) and, when it closes, one episode with its timeline, tool graph, environment and outcome (Accumulator).
// Everything is a function of the events in ledger order, so that it can be dropped and rebuilt from the ledger.
// It does not read the ledger, does not decide which events an agent may see (package views), and writes no record.
package session
