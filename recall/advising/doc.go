// Package advising answers what to do in a situation, and records the report on the outcome. It reads candidates
// through the filter of recall, and the rules of memory/learning/advice choose among them. Advice can be reported on
// for thirty days.
package advising
