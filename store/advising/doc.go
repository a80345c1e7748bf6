// Package advising reads the procedures, plans and episodes from which advice is made, through the filter of recall. It
// keeps what was advised, as ids, and counts the outcomes that are reported. The rules are in memory/learning/advice.
package advising
