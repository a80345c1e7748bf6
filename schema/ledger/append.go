package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Appended is the place of an event in the ledger.
type Appended struct {
	ID     string `json:"id"`
	Stream string `json:"stream"`
	Seq    int64  `json:"seq"`
	Added  bool   `json:"added"` // false if the event was appended before
}

// ValidateEvents checks the events of one request. It returns a *schema.ValidationError that names each by its index.
func ValidateEvents(events []Event) error {
	var p check.Problems
	switch {
	case len(events) == 0:
		p.Add("events", "is required")
	case len(events) > MaxAppend:
		p.Add("events", "must hold at most %d events", MaxAppend)
	default:
		for i := range events {
			events[i].validate(&p, fmt.Sprintf("events[%d].", i))
		}
	}
	return p.Err()
}

// VisibilityOf returns the visibility of an event: its own setting or, by default, global for the open kinds and
// private for all others.
func VisibilityOf(e Event, open []string) schema.Visibility {
	switch {
	case e.Visibility != "":
		return e.Visibility
	case slices.Contains(open, e.Kind):
		return schema.VisibilityGlobal
	}
	return schema.VisibilityPrivate
}

// Receipt records who erased an event, and why.
type Receipt struct {
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Run    string    `json:"run,omitempty"` // id of the Forget run or workflow; empty for the command line
	At     time.Time `json:"at,omitzero"`
}
