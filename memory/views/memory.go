package views

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// Memory has the settings of an agent's memory (document 001, manifest.memory). The zero Memory is the recent window.
type Memory struct {
	Window int `json:"window,omitempty"` // 0: DefaultWindow
	// UseSalience uses SalienceMemory instead of the window.
	UseSalience bool    `json:"use_salience,omitempty"`
	TopK        int     `json:"top_k,omitempty"`  // of salience; 0: Window
	Weights     Weights `json:"weights"`          // of salience; zero: DefaultWeights
	Lambda      float64 `json:"lambda,omitempty"` // of salience; 0: DefaultLambda
	// of salience; for other kinds DefaultImportance
	Importance          Importance `json:"importance,omitempty"`
	ReflectionThreshold int        `json:"reflection_threshold,omitempty"` // 0: the agent does not reflect
	MaxBeliefs          int        `json:"max_beliefs,omitempty"`          // 0: DefaultMaxBeliefs
}

// Validate checks the settings. It returns a *schema.ValidationError.
func (m Memory) Validate() error {
	var p check.Problems
	for _, f := range []struct {
		name  string
		value int
	}{{"window", m.Window}, {"top_k", m.TopK}, {"reflection_threshold", m.ReflectionThreshold},
		{"max_beliefs", m.MaxBeliefs}} {
		if f.value < 0 {
			p.Add(f.name, "must not be negative")
		}
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"weights.relevance", m.Weights.Relevance}, {"weights.recency", m.Weights.Recency},
		{"weights.importance", m.Weights.Importance}, {"lambda", m.Lambda}} {
		if math.IsNaN(f.value) || f.value < 0 || math.IsInf(f.value, 1) {
			p.Add(f.name, "must be a number of 0 or more")
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Importance)) {
		if weight := m.Importance[kind]; math.IsNaN(weight) || weight < 0 || weight > 1 {
			p.Add("importance."+kind, "must be between 0 and 1")
		}
	}
	return p.Err()
}

// Episodic returns the window of a viewer.
func (m Memory) Episodic(v Viewer) EpisodicMemory {
	return EpisodicMemory{Viewer: v, Window: m.Window, Reflections: m.ReflectionThreshold > 0, MaxBeliefs: m.MaxBeliefs}
}

// Salience returns the salience memory of a viewer, with an index or nil.
func (m Memory) Salience(v Viewer, index MemoryIndex) SalienceMemory {
	return SalienceMemory{Viewer: v, K: cmp.Or(m.TopK, m.Window), Weights: m.Weights, Lambda: m.Lambda,
		Importance: m.Importance, Reflections: m.ReflectionThreshold > 0, Window: m.Window, Index: index}
}

// Tracker returns the reflection tracker of a viewer.
func (m Memory) Tracker(v Viewer) ReflectionTracker {
	return ReflectionTracker{Viewer: v, Threshold: m.ReflectionThreshold}
}

// Recall returns the events in the viewer's memory, in ledger order: by salience if that is on, otherwise the window.
func (m Memory) Recall(ctx context.Context, v Viewer, index MemoryIndex, events []ledger.Event,
	now Now) ([]ledger.Event, error) {
	remembered, err := m.remember(ctx, v, index, events, now)
	out := make([]ledger.Event, 0, len(remembered))
	for _, r := range remembered {
		out = append(out, r.Event)
	}
	return out, err
}

// remembered is an event of a memory. The lowest worth is kept first if not all fit.
type remembered struct {
	ledger.Event
	worth int
}

// remember returns the events of Recall with their worth. The most salient event comes first, in the window the latest.
func (m Memory) remember(ctx context.Context, v Viewer, index MemoryIndex, events []ledger.Event,
	now Now) ([]remembered, error) {
	var out []remembered
	if !m.UseSalience {
		recent := m.Episodic(v).Recall(events)
		for i, e := range recent {
			out = append(out, remembered{e, len(recent) - 1 - i})
		}
		return out, nil
	}
	ranked, err := m.Salience(v, index).rank(ctx, events, now)
	if err != nil {
		return nil, err
	}
	places := make(map[string]int, len(ranked))
	for i, s := range ranked {
		places[s.Event.ID] = s.place
		out = append(out, remembered{s.Event, i})
	}
	slices.SortFunc(out, func(a, b remembered) int { return cmp.Compare(places[a.ID], places[b.ID]) })
	return out, nil
}
