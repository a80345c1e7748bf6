// Package advising advises an agent in a situation and records the report on the outcome. It reads candidates
// through the filter of recall, and the rules of memory/learning/advice choose among them. Reports are accepted for
// thirty days.
package advising
