// Package topics has the rules of standing questions: the answer of the rules, whether a model's text may be the
// answer, and which memories of its evidence have changed, so that a new answer is due. It only reads the results of
// recall. Package store/topics says of an answer that it is stale.
package topics
