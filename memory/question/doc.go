// Package question reads questions, and estimates which texts answer them: how relevant a text is (relevance.go), which
// of several answers replaced another (newer.go), and whether two texts can both be true (apart.go). The estimates are
// fitted models (model.go) over the words, frames and changes of the texts.
//
// This package does not search for texts or order results (memory/rank, recall).
package question
