// Package memory has the types that the rules of memory use (a fact, its classification, its decay and its validity)
// and the rules for a single record. Its subpackages have the rules of one subject each.
//
// All rules are pure functions: no I/O, no clock, no SDK. A rule belongs here if two people could disagree about it.
// Package store turns decisions into rows, and package workflows decides when they are made.
package memory
