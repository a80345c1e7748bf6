// Package evidence weighs the evidence for something learned: which observations are independent of each other, how
// certain a record of outcomes makes it that something works now, and the hash that identifies a set of evidence.
package evidence
