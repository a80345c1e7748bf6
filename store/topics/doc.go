// Package topics stores standing questions in Postgres: topics, the history of their answers, and the draft of the
// next answer. It locks the memories of an answer before the topic, in the same order as forgetting does, so that no
// answer repeats a memory that is forgotten or erased. Whether an answer is stale is said at each read (judge, in
// topics.go). Package memory/topics decides what an answer says and when a new one is due.
package topics

import "github.com/mneme/mneme/store/pg"

// Topics stores standing questions. It is safe for concurrent use.
type Topics struct {
	*pg.DB
}

// New returns a Topics that uses db.
func New(db *pg.DB) *Topics { return &Topics{DB: db} }
