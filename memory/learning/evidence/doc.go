// Package evidence evaluates the evidence for learned solutions: which observations are independent of each other, how
// likely a solution works now given its outcomes, and the hash that identifies a set of evidence. It does not decide
// which solutions are promoted; package promote does.
package evidence
