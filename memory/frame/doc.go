// Package frame reads plain English statements as frames: who or what a statement is about, which
// attribute of it, with which value, and by which words it says that something has changed. Compare
// says whether a later statement changes what an earlier one says, and how sure that is; Read of a
// question says what is asked for.
//
// The attribute is open: it is made of the statement's own content words, brought together by a
// lexicon of concepts (concepts.go), not by a list of predicates. Nothing here reads a clock, a
// database or a model. Text in other languages yields frames without cues, which change nothing.
//
// What is not here: what becomes of two statements when one changes the other (package memory,
// EvaluateWrite), and how results are ordered by it (rank.Latest).
package frame
