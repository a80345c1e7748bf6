// Package topics defines the types of standing questions: the request that opens one, the topic with its answer, and
// their validation. A topic is a question that stays open and is answered from memory. Package memory/topics creates
// answers and decides when a new one is due. Package store/topics marks stale answers.
package topics
