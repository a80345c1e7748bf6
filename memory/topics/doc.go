// Package topics has the rules of standing questions: the answer of the rules, whether a model's text may be the
// answer, and when an answer is stale. It only reads the results of recall.
package topics
