// Package evidence weighs what speaks for something learned: which observations are independent of each other, how sure
// a record of outcomes makes it that something works now, and by which hash a set of evidence is known again.
package evidence
