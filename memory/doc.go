// Package memory holds the shapes that the rules of memory speak of, a fact, its classification, its decay and
// its validity, and the rules of a single record. Rules of one subject are in the packages below it.
//
// All of them are pure functions: no I/O, no clock, no SDK. A rule belongs here when two people could disagree
// about it. How a decision becomes rows is package store's business, when it is made is package workflows'.
package memory
