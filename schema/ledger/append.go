package ledger

import (
	"fmt"
	"slices"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Appended says where an event is in the ledger.
type Appended struct {
	ID     string `json:"id"`
	Stream string `json:"stream"`
	Seq    int64  `json:"seq"`
	Added  bool   `json:"added"` // false: it was appended before
}

// ValidateEvents checks the events of one request. It returns a *schema.ValidationError that names each by its place.
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

// VisibilityOf returns who may see an event: its own setting or, by default, everyone for the open kinds and its own
// agent for all others.
func VisibilityOf(e Event, open []string) schema.Visibility {
	switch {
	case e.Visibility != "":
		return e.Visibility
	case slices.Contains(open, e.Kind):
		return schema.VisibilityGlobal
	}
	return schema.VisibilityPrivate
}
