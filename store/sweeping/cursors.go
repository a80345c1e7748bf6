package sweeping

import (
	"time"

	"github.com/google/uuid"
)

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
