// Package topics has the steps that keep the answers of standing questions up to date: they compare the evidence of a
// topic with that of its answer, draft an answer by the rules or a model, publish it, and find topics whose evidence
// has changed. Texts stay in Postgres: only ids, hashes and counts go through Temporal.
package topics
