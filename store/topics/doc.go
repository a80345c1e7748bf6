// Package topics keeps standing questions in Postgres: topics, the history of their answers, and the draft of the next
// one. Memories are locked before the topic whose answer is made of them, as forgetting does, so that no answer repeats
// a memory that is forgotten or erased. What an answer says is decided in package memory/topics.
package topics

import "github.com/mneme/mneme/store/pg"

// Topics keeps standing questions. It is safe for concurrent use.
type Topics struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Topics { return &Topics{DB: db} }
