// Package topics implements standing questions. It builds an answer by rules, checks the answer of a model, and decides
// whether the evidence has changed so that a new answer is due. It uses only the results of recall. Package
// store/topics marks stale answers.
package topics
