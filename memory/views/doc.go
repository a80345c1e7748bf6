// Package views computes an agent's memory as views of the event ledger (document 001): the events that it sees, the
// window of recent ones, the most salient ones, reflections with the graph of beliefs, and the context of a prompt. A
// view is a pure function of events, a viewer and the current turn, and is computed each time. Reading and appending
// events, asking a model for a belief and storing an index are in store, activities and workflows.
package views
