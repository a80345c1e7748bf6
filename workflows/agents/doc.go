// Package agents has the workflows over the ledger of events: sessions, reflections, contexts, the erasure of events
// and the rebuilding of what is derived from them. The rules are in memory/session and memory/views,
// the steps in activities/sessions and its neighbours. What is learned from episodes is in workflows/learn.
package agents
