package views

import (
	"slices"

	"github.com/mneme/mneme/schema/ledger"
)

// Defaults of the views.
const (
	DefaultWindow     = 8  // events (document 001, manifest.memory.window)
	DefaultMaxBeliefs = 32 // an agent that reflects every 8 events has 25 beliefs after 200 turns
)

// EpisodicMemory is the view of the latest events (document 001, Layer 1). It is always on.
type EpisodicMemory struct {
	Viewer Viewer `json:"viewer"`
	Window int    `json:"window,omitempty"` // events; 0 or less: DefaultWindow

	// Reflections replaces events by the agent's own reflections on them (Layer 3). The view then has its latest
	// MaxBeliefs reflections and the latest Window of the other events: K + Window entries for K·N + Window events.
	// If the agent reflects at least every Window events and K is within MaxBeliefs, every event that it saw is in
	// the view or covered by a reflection in the view.
	Reflections bool `json:"reflections,omitempty"`
	MaxBeliefs  int  `json:"max_beliefs,omitempty"` // 0 or less: DefaultMaxBeliefs
}

// Recall returns the latest Window events that the viewer sees, in ledger order, and with Reflections its beliefs.
// Events may come in any order and more than once. A reader of a large ledger need not pass all of them: the result
// follows from the last events that the viewer sees, and its own last reflections.
func (m EpisodicMemory) Recall(events []ledger.Event) []ledger.Event {
	window, beliefs := orDefault(m.Window, DefaultWindow), 0
	if m.Reflections {
		beliefs = orDefault(m.MaxBeliefs, DefaultMaxBeliefs)
	}
	var out []ledger.Event
	for _, e := range slices.Backward(Order(events)) {
		if window == 0 && beliefs == 0 {
			break
		}
		room := &window
		if m.Reflections && m.Viewer.reflected(e) {
			room = &beliefs
		}
		if *room > 0 && m.Viewer.Sees(e) {
			*room--
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}
