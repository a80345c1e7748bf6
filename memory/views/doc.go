// Package views computes what an agent remembers as a view of the event ledger (document 001): which events it sees,
// the window of recent ones, the most salient ones, reflections with the graph of beliefs, and the context of a
// prompt. Everything is a pure function of events, a viewer and the current turn, so a view is computed each time and
// can always be rebuilt. Reading and appending events, asking a model for a belief and storing an index are in store,
// activities and workflows.
package views
