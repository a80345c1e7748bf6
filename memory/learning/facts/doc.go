// Package facts says what statements that recur across sessions do to what is held to be true: they reinforce it, are
// new, take its place, hold under other conditions, or contest it. Who says something again is no second source. It
// reads statements by package frame and decides nothing about single statements, which package proposals does.
package facts
