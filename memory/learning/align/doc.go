// Package align finds what attempts at one problem have in common: it aligns their steps and makes a procedure of the
// recurring ones. A value that varied between the attempts becomes a parameter, bound to its source. A procedure can
// be replayed on an attempt that it was not made from, filled in for a situation, and stored in a record.
package align
