package schema

import (
	"time"

	"github.com/google/uuid"
)

// WriteCounts says what became of the proposals of a range.
type WriteCounts struct {
	Added   int `json:"added"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Skipped int `json:"skipped"`
	Blocked int `json:"blocked"`
	Stale   int `json:"stale"` // to be decided again
}

// Add returns the sum of two counts. Stale is not summed: it is a state, not an outcome.
func (w WriteCounts) Add(v WriteCounts) WriteCounts {
	return WriteCounts{Added: w.Added + v.Added, Updated: w.Updated + v.Updated, Deleted: w.Deleted + v.Deleted,
		Skipped: w.Skipped + v.Skipped, Blocked: w.Blocked + v.Blocked, Stale: v.Stale}
}

// LinkCounts says what a range added to the graph.
type LinkCounts struct {
	Entities  int `json:"entities"`
	Relations int `json:"relations"`
	Mentions  int `json:"mentions"`
}

// Add returns the sum of two counts.
func (l LinkCounts) Add(m LinkCounts) LinkCounts {
	return LinkCounts{Entities: l.Entities + m.Entities, Relations: l.Relations + m.Relations, Mentions: l.Mentions + m.Mentions}
}

// IndexLag is how far the index is behind Postgres.
type IndexLag struct {
	Pending int64      `json:"pending"`          // changes that it has not been told of
	Parked  int64      `json:"parked"`           // changes that are not tried any more
	Oldest  *time.Time `json:"oldest,omitempty"` // when the oldest pending change was made
}

// DueCursor is a place in the order in which memories fall due.
type DueCursor struct {
	DueAt time.Time `json:"due_at"`
	ID    uuid.UUID `json:"id"`
}

// HistoryCursor is a place in a table by age: what stays, of worlds and of what was done or is not settled, is read
// once a run, and not by each batch again.
type HistoryCursor struct {
	CreatedAt time.Time `json:"created_at"`
	ID        uuid.UUID `json:"id"`
	Key       string    `json:"key,omitempty"`     // in place of ID where that is not a UUID
	Version   int       `json:"version,omitempty"` // of the step versions
}

// PurgeStep is one step of a retention purge.
type PurgeStep string

// Range names a run of candidates of one batch: those with From <= position < To. It is all that travels through a
// workflow's history; content stays in Postgres (claim check).
type Range struct {
	Tenant  string    `json:"tenant"`
	BatchID uuid.UUID `json:"batch_id"`
	From    int       `json:"from"`
	To      int       `json:"to"`
}
