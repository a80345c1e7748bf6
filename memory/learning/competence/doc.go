// Package competence turns promoted solutions into procedures, and returns deltas to the stored procedures: one a
// record, never a rewrite of all of them. Evidence that is already known changes nothing.
package competence
