// Package topics holds the shapes of standing questions: the request that opens one, the topic with its answer, and
// their validation. A topic is a question that an agent or a person keeps open, answered from memory. What an answer
// says and when a new one is due is decided in package memory/topics; package store/topics says when one is stale.
package topics
