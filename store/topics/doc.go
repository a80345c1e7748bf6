// Package topics stores standing questions in Postgres: topics, the history of their answers, and the draft of the
// next answer. It locks the memories of an answer before the topic, as forgetting does, so that no answer repeats a
// forgotten or erased memory. Each read decides whether an answer is stale (judge, in topics.go). Package
// memory/topics decides the text of an answer and when a new one is due.
package topics

import "github.com/mneme/mneme/store/pg"

// Topics stores standing questions. It is safe for concurrent use.
type Topics struct {
	*pg.DB
}

// New returns a Topics that uses db.
func New(db *pg.DB) *Topics { return &Topics{DB: db} }
