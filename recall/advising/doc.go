// Package advising answers what to do in a situation, and takes the report of how it went. It reads candidates through
// the filter of recall, and has the rules of memory/learning/advice choose among them. Advice that was given can be
// reported for thirty days.
package advising
