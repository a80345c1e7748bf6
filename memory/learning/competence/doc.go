// Package competence turns promoted solutions into procedures, and returns a delta for each stored procedure that
// changes. It does not rewrite the others. Evidence that is already known changes nothing.
package competence
