// Package change decides whether a later statement changes an earlier one, and how certain that is. Compare compares
// two frames, and Best the frames of two texts. A pair is tried by the words and values of both statements (compare.go,
// substitute.go), and by the structure of their clauses (parallel.go, recolor.go). The statements of a later text are
// also read together (Together): one may tell what became of the old value, and another give the new one.
//
// This package does not decide what happens to two statements if one changes the other (memory/proposals,
// EvaluateWrite), or how recall orders them (rank.Latest).
package change
