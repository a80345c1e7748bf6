// Package agents has the workflows over the ledger of events: sessions, reflections, contexts, the erasure of events
// and the rebuilding of derived data. The rules are in memory/session and memory/views, the steps in
// activities/sessions, reflecting and rebuilding. Learning from episodes is in workflows/learn.
package agents
