// Package advising reads the procedures, plans and episodes for advice, through the filter of recall. It stores
// advice as ids, and counts the reported outcomes. The rules are in memory/learning/advice.
package advising
