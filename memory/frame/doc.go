// Package frame parses plain English statements into frames. A frame has the subject of a statement, its attribute, its
// value, and whether it reports a change.
//
// Attributes are not a fixed list. An attribute consists of the content words of the statement. The package uses no
// clock, no database and no language model. Text in other languages gives frames without cues, which change nothing.
//
// This package does not compare statements (memory/change) and does not read questions (memory/question).
package frame
