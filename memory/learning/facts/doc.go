// Package facts decides how statements that recur across sessions change stored facts: they reinforce a fact, add one,
// replace one, fork one by conditions, or contest one. A source that repeats a statement counts once. Package frame
// parses the statements. Package proposals decides about single statements.
package facts
