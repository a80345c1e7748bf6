package views

import (
	"context"
	"math"
	"strings"

	"github.com/mneme/mneme/schema/ledger"
)

// The functions of this file are for readers of a part of a ledger: which events they can omit without changing the
// result.

// Ceiling returns the highest possible salience of an event with the kind that is not later than the turn. Kind and
// turn determine importance and recency. Relevance may be up to 1, but is 0 if the scene has no words.
func (m SalienceMemory) Ceiling(kind string, turn int, now Now) float64 {
	relevance := 1.0
	if m.Index == nil && len(wordSet(now.Scene)) == 0 || m.Index != nil && strings.TrimSpace(now.Scene) == "" {
		relevance = 0
	}
	return m.salience(relevance, m.recency(turn, now), m.importance(kind))
}

// Least returns the salience that an event needs to be among the K most salient of these or more events. It is 0 if
// there are fewer than K events. It does not use an index: if there is one, every event counts as irrelevant.
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

// Visited reports whether an event is a user input that a context may show: the viewer sees it, and it has a text.
func (v Viewer) Visited(e ledger.Event) bool {
	return e.Kind == ledger.KindUserInjected && v.Sees(e) && said(e) != ""
}

// WindowSize returns the number of events in the window.
func (m Memory) WindowSize() int { return orDefault(m.Window, DefaultWindow) }

// BeliefCount returns the number of beliefs in the window if reflections are on.
func (m Memory) BeliefCount() int { return orDefault(m.MaxBeliefs, DefaultMaxBeliefs) }

// Covered returns the last event that the agent's reflections cover, and reports whether there is one. It needs the
// agent's reflections and the events that they name as Through.
func (t ReflectionTracker) Covered(events []ledger.Event) (ledger.Event, bool) {
	events = Order(events)
	_, end := t.Viewer.coverage(events)
	if end == 0 {
		return ledger.Event{}, false
	}
	return events[end-1], true
}
