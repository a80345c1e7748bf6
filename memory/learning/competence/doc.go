// Package competence makes procedures of the solutions that were promoted, and says how they change the procedures that
// are known: as deltas, one a record, never as a rewrite of the set. The same evidence makes no delta.
package competence
