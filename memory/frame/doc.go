// Package frame reads plain English statements as frames. A frame has the subject of a statement, its attribute, its
// value, and whether it says that something has changed. Compare decides whether a later statement changes an earlier
// one, and how certain that is. ReadQuestion reads what a question asks for.
//
// Attributes are not a fixed list. An attribute is the content words of the statement, and a lexicon of concepts
// (concepts.go) joins words of similar meaning. Nothing here reads a clock, a database or a model. Text in other
// languages yields frames without cues, which change nothing.
//
// This package does not decide what happens to two statements if one changes the other (memory/proposals,
// EvaluateWrite), or how recall orders them (rank.Latest).
package frame
