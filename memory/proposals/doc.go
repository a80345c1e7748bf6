// Package proposals holds what a proposed change of memory may do: which neighbours are offered to a decision, what of
// its answer is believed, and whether it is written, skipped, blocked or put to a person.
package proposals
