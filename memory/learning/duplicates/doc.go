// Package duplicates recognises records that say the same: byte for byte, in another spelling, or in words that change
// nothing (duplicates.go); and facts that surely restate each other in another form (Restates, in near.go). Two records
// that differ in a negation, a number, a name, a date or a condition are never the same. It plans how duplicates are
// merged; it changes nothing.
package duplicates
