// Package topics decides about standing questions: what the answer of the rules says, whether the text of a model may
// be kept as the answer, and when an answer is stale. It reads what recall found, and nothing else.
package topics
