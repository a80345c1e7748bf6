// Package align finds what attempts at one problem have in common: it aligns their steps and makes a procedure of those
// that recur, in which what varied between the attempts is a parameter, bound to where its value came from. A procedure
// can be replayed on an attempt that it was not made from, filled in for a situation, and kept in a record.
package align
