// Package facts decides what statements that recur across sessions do to stored facts: they reinforce a fact, are
// new, replace one, hold under other conditions, or contest one. Repeating a statement does not make it a second
// source. The package reads statements with package frame. Single statements are left to package proposals.
package facts
