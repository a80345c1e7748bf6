package views

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// ReflectionTracker decides when an agent reflects (document 001, Layer 3): after Threshold events since its last
// reflection. It has no state, because these events are computed from the ledger.
type ReflectionTracker struct {
	Viewer    Viewer `json:"viewer"`
	Threshold int    `json:"threshold"` // 0 or less: never
}

// MaxSpan is the greatest number of events of a reflection, unless the threshold is higher. An agent with more pending
// events reflects on the oldest first and is due again.
const MaxSpan = 200

// Span has the events of a reflection: those that its agent saw since its previous reflection.
type Span struct {
	Events  []ledger.Event // in ledger order
	Through string         // the id of the last one
}

// Pending returns the events that the agent saw since its last reflection, in ledger order. Its own reflections are
// not among them; those of other agents are. Events that were recorded while the last reflection was being made are
// pending if they come after its Through.
//
// It is enough to pass the agent's own reflections and the events after the Through of the last.
func (t ReflectionTracker) Pending(events []ledger.Event) []ledger.Event {
	events = Order(events)
	_, end := t.Viewer.coverage(events)
	return slices.DeleteFunc(t.Viewer.Visible(events[end:]), t.Viewer.reflected)
}

// Due returns the span that the agent must reflect on now, and reports whether there is one. A span that has only
// reflections of others is never due: otherwise agents that see each other's beliefs would reflect on them without end.
func (t ReflectionTracker) Due(events []ledger.Event) (Span, bool) {
	if t.Threshold <= 0 {
		return Span{}, false
	}
	pending := t.Pending(events)
	happened := func(e ledger.Event) bool { return e.Kind != ledger.KindAgentReflected }
	if len(pending) < t.Threshold || !slices.ContainsFunc(pending, happened) {
		return Span{}, false
	}
	pending = pending[:min(len(pending), max(MaxSpan, t.Threshold))]
	return Span{Events: pending, Through: pending[len(pending)-1].ID}, true
}

// Reflection returns the payload of the reflection on the span.
func (s Span) Reflection(belief string, basedOn []string) ledger.Reflection {
	return ledger.Reflection{Belief: belief, BasedOn: basedOn, Covers: len(s.Events), Through: s.Through}
}

// ReflectionID returns the id of an agent's reflection on a stream up to an event. It is the same each time, so that a
// repeated reflection adds nothing.
func ReflectionID(tenant, agent, stream, through string) string {
	h := sha256.New()
	for _, part := range []string{tenant, agent, stream, through} {
		normalize.WritePart(h, []byte(part))
	}
	return "reflection-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Check decides whether an agent may append a reflection: it has a text, and each event that it is based on, or ends
// with, exists, is visible to the agent and is not erased. The error is a *schema.ValidationError. It does not
// distinguish an event that the agent may not see from one that does not exist.
//
// It returns the lowest sensitivity that the reflection may have, which is the highest of its evidence. Its
// visibility does not follow from its evidence: every agent sees a reflection (document 001), so an agent whose
// knowledge is confidential must append it with visibility private.
func (v Viewer) Check(r ledger.Reflection, events []ledger.Event) (schema.Sensitivity, error) {
	var p check.Problems
	if strings.TrimSpace(r.Belief) == "" {
		p.Add("belief", "is required")
	}
	if len(r.BasedOn) == 0 {
		p.Add("based_on", "must name at least one event")
	}
	if r.Covers < 0 {
		p.Add("covers", "must not be negative")
	}
	byID := make(map[string]ledger.Event, len(r.BasedOn)+1)
	for _, e := range events {
		if e.ID == r.Through || slices.Contains(r.BasedOn, e.ID) {
			byID[e.ID] = e
		}
	}
	least := schema.SensitivityPublic
	for i, id := range r.BasedOn {
		e, found := byID[id]
		v.mayCite(&p, fmt.Sprintf("based_on[%d]", i), e, found)
		least = higher(least, sensitivity(e))
	}
	if r.Through != "" {
		e, found := byID[r.Through]
		v.mayCite(&p, "through", e, found)
	}
	if err := p.Err(); err != nil {
		return "", err
	}
	return least, nil
}

func (v Viewer) mayCite(p *check.Problems, field string, e ledger.Event, found bool) {
	switch {
	case !found || !v.admits(e) || !v.cleared(e):
		p.Add(field, "is not an event that the agent sees")
	case e.Erased:
		p.Add(field, "was erased")
	}
}

// higher returns the higher of two classes. An unknown class is the highest.
func higher(a, b schema.Sensitivity) schema.Sensitivity {
	switch {
	case !a.Valid() || !b.Valid():
		return schema.SensitivityHyper
	case a.Lower(b) == a:
		return b
	}
	return a
}

// reflected reports whether an event is one of the viewer's own reflections.
func (v Viewer) reflected(e ledger.Event) bool {
	return v.Agent != "" && e.Agent == v.Agent && e.Kind == ledger.KindAgentReflected
}

// coverage reports which of the events, which are in ledger order, an own reflection covers: those from the end of
// the previous reflection to its Through, or to itself if it has none. It also returns where the last reflection
// ends: what the agent saw after that is not covered yet.
//
// A reflection that the viewer does not see, because it was erased or is above the ceiling, keeps its range but
// covers nothing, so that the events are visible again. If Through is not among the events, it is assumed to be older
// than all of them: readers load the events after it.
func (v Viewer) coverage(events []ledger.Event) (covered []bool, end int) {
	type reflection struct {
		place   int
		through string
	}
	var own []reflection
	ends := map[string]int{} // index after the last covered event, by its id
	for i, e := range events {
		if !v.reflected(e) {
			continue
		}
		r, _ := ledger.Payload[ledger.Reflection](e)
		own = append(own, reflection{i, r.Through})
		ends[r.Through] = 0
	}
	covered = make([]bool, len(events))
	if len(own) == 0 {
		return covered, 0
	}
	for i, e := range events {
		if _, wanted := ends[e.ID]; wanted {
			ends[e.ID] = i + 1
		}
	}
	for _, r := range own {
		to := r.place + 1
		if r.through != "" {
			to = min(ends[r.through], to)
		}
		seen := v.Sees(events[r.place])
		for ; end < to; end++ {
			covered[end] = seen
		}
	}
	return covered, end
}

// compact returns the visible events without those that reflections cover: the agent's own reflections, the events
// that no reflection covers, and the latest keep of the others.
func (v Viewer) compact(events []ledger.Event, keep int) []ledger.Event {
	events = Order(events)
	covered, _ := v.coverage(events)
	var out []ledger.Event
	recent := 0
	for i, e := range slices.Backward(events) {
		switch {
		case !v.Sees(e):
		case v.reflected(e):
			out = append(out, e)
		case recent < keep:
			recent++
			out = append(out, e)
		case !covered[i]:
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}
