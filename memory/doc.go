// Package memory holds the rules of memory as pure functions: no I/O, no clock, no SDK.
//
// A rule belongs here when two people could disagree about it. How a decision becomes rows is
// package store's business, when it is made is package workflows'.
package memory
