// Package session derives two results from the events of one session: the state of the task while it is in progress
// (Working) and, when the session closes, an episode with its timeline, tool graph, environment and outcome
// (Accumulator). Both depend only on the events in ledger order, so that they can be rebuilt from the ledger.
// It does not read the ledger, does not decide which events an agent may see (package views), and writes no record.
package session
