// Package topics holds the steps that keep standing questions answered: compare the evidence of a topic with that of
// its answer, draft an answer by the rules or a model, publish it, and find topics whose evidence has changed. Texts
// stay in Postgres: what goes through Temporal is ids, hashes and counts.
package topics
