// Package frame parses plain English statements into frames. A frame has the subject of a statement, its attribute, its
// value, and whether it reports a change. Compare decides whether a later statement changes an earlier one, and how
// certain that is. ReadQuestion parses questions.
//
// Attributes are not a fixed list. An attribute consists of the content words of the statement, and a lexicon of
// concepts (concepts.go) joins words of similar meaning. The package uses no clock, no database and no language model.
// Text in other languages gives frames without cues, which change nothing.
//
// This package does not decide what happens to two statements if one changes the other (memory/proposals,
// EvaluateWrite), or how recall orders them (rank.Latest).
package frame
