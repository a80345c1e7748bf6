package views

import (
	"context"
	"math"
	"strings"

	"github.com/mneme/mneme/schema/ledger"
)

// These are for readers that do not read all of a ledger: what they need to know to leave events out without changing
// the result.

// Ceiling returns the highest possible salience of an event of a kind and of no later turn. Kind and turn fix
// importance and recency. Relevance can be anything up to 1, unless the scene has no words: then it is 0.
func (m SalienceMemory) Ceiling(kind string, turn int, now Now) float64 {
	relevance := 1.0
	if m.Index == nil && len(wordSet(now.Scene)) == 0 || m.Index != nil && strings.TrimSpace(now.Scene) == "" {
		relevance = 0
	}
	return m.salience(relevance, m.recency(turn, now), m.importance(kind))
}

// Least returns the salience that an event needs to be among the K most salient of these events, or of more than
// these. It is 0 when there are fewer than K. It does not ask an index: with one, every event counts as irrelevant.
func (m SalienceMemory) Least(events []ledger.Event, now Now) float64 {
	if m.Index != nil {
		m.Index, now.Scene = nil, ""
	}
	ranked, err := m.rank(context.Background(), events, now)
	if err != nil || len(ranked) < orDefault(m.K, DefaultWindow) { // without an index there is no error
		return 0
	}
	return ranked[len(ranked)-1].Salience
}

func (m SalienceMemory) recency(turn int, now Now) float64 {
	lambda := m.Lambda
	if lambda == 0 {
		lambda = DefaultLambda
	}
	return math.Exp(-lambda * float64(max(0, now.Turn-turn)))
}

func (m SalienceMemory) salience(relevance, recency, importance float64) float64 {
	weights := m.Weights
	if weights == (Weights{}) {
		weights = DefaultWeights()
	}
	return round(weights.Relevance*relevance + weights.Recency*recency + weights.Importance*importance)
}

// Visits is how many inputs of users a context shows.
const Visits = visits

// Visited reports whether an event is an input of a user that a context may show: the viewer sees it, and it says
// something.
func (v Viewer) Visited(e ledger.Event) bool {
	return e.Kind == ledger.KindUserInjected && v.Sees(e) && said(e) != ""
}

// WindowSize returns how many events the window has.
func (m Memory) WindowSize() int { return orDefault(m.Window, DefaultWindow) }

// BeliefCount returns how many beliefs the window has with reflections on.
func (m Memory) BeliefCount() int { return orDefault(m.MaxBeliefs, DefaultMaxBeliefs) }

// Covered returns the last event that the agent's reflections stand for, and reports whether there is one. It needs the
// agent's reflections and the events that they name as Through.
func (t ReflectionTracker) Covered(events []ledger.Event) (ledger.Event, bool) {
	events = Order(events)
	_, end := t.Viewer.coverage(events)
	if end == 0 {
		return ledger.Event{}, false
	}
	return events[end-1], true
}
