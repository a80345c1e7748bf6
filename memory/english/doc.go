// Package english has what the rules know about English: how text splits into sentences and words (token.go), word
// classes and word lists (words.go, verbs.go, irregular.go, phrases.go), the calendar and numbers (calendar.go), words
// of similar meaning (concepts.go, categories.go), and states that exclude each other (opposites.go). Everything is in
// the code, and nothing depends on a statement.
//
// This package does not read statements (memory/frame). The similarity of any two words is in memory/lexicon.
package english
