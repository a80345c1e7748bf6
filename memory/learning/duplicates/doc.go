// Package duplicates recognises records with the same statement: equal texts, texts with another spelling, and texts
// that differ only in words without effect on the meaning (duplicates.go), and facts that restate each other in another
// form (Restates, in near.go). Records that differ in a negation, a number, a name, a date or a condition are never
// duplicates. The package plans merges; it does not execute them.
package duplicates
