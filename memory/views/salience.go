package views

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema/ledger"
)

// Now is the moment for which a view is computed.
type Now struct {
	Turn  int    `json:"turn"`
	Scene string `json:"scene"` // the current situation in words; relevance is similarity to it
}

// SalienceMemory selects the events that matter most now (document 001, Layer 2): the K most salient of the events that
// the viewer sees, in ledger order. It is off by default.
//
//	salience = 0.30 relevance + 0.40 recency + 0.30 importance
//
// Recency is exp(-0.1·Δturn), and 1 for an event of a later turn. Importance follows from the kind. Relevance is the
// Jaccard similarity of the words of the event and of the scene, or the result of Index. Of equally salient events
// the later one comes first.
type SalienceMemory struct {
	Viewer     Viewer     `json:"viewer"`
	K          int        `json:"k,omitempty"` // events; 0 or less: DefaultWindow
	Weights    Weights    `json:"weights"`     // zero: the above
	Lambda     float64    `json:"lambda,omitempty"`
	Importance Importance `json:"importance,omitempty"` // overrides DefaultImportance for single kinds

	// Reflections replaces events by the agent's own reflections on them: of the events that a reflection covers,
	// only the latest Window are still eligible, as in EpisodicMemory.
	Reflections bool `json:"reflections,omitempty"`
	Window      int  `json:"window,omitempty"` // 0 or less: DefaultWindow

	Index MemoryIndex `json:"-"` // if nil, Jaccard similarity is used
}

// Weights are the weights of the three terms.
type Weights struct {
	Relevance  float64 `json:"relevance"`
	Recency    float64 `json:"recency"`
	Importance float64 `json:"importance"`
}

// Importance has the importance of events by kind. The entry "" is for all other kinds.
type Importance map[string]float64

// DefaultWeights returns the weights of document 001.
func DefaultWeights() Weights { return Weights{Relevance: 0.30, Recency: 0.40, Importance: 0.30} }

// DefaultLambda is the rate at which recency decays per turn. The half-life is about 7 turns.
const DefaultLambda = 0.1

var importance = Importance{
	ledger.KindVerdictFinal:   1.00,
	ledger.KindUserInjected:   0.95,
	ledger.KindJudgeVerdict:   0.90,
	ledger.KindAgentReflected: 0.85,
	ledger.KindClueFound:      0.80,
	ledger.KindWorldObserved:  0.70,
	ledger.KindAgentSpoke:     0.50,
	ledger.KindAgentThought:   0.40,
	ledger.KindRunStarted:     0.30,
	"":                        0.50, // other kinds, which the document does not name
}

// DefaultImportance returns the table of document 001.
func DefaultImportance() Importance {
	out := Importance{}
	for kind, weight := range importance {
		out[kind] = weight
	}
	return out
}

// MemoryIndex is a search by meaning, which replaces the Jaccard similarity in the relevance of events. It is derived
// from the ledger and can be rebuilt. It never decides which events are eligible: a hit that is
// not among the events just indexed is ignored.
//
// An index should have the events of one viewer. In a shared index, the k hits may include events of others, which are
// ignored.
type MemoryIndex interface {
	// Index adds events by their Text, verbatim. Adding an event again, by its id, changes nothing.
	Index(ctx context.Context, events []ledger.Event) error
	// Search returns at most k events that are similar to a query.
	Search(ctx context.Context, query string, k int) ([]Hit, error)
}

// Hit is an event that an index found.
type Hit struct {
	ID    string
	Score float64 // similarity, limited to [0,1]
}

// Scored is an event with its salience and the terms of it, each in [0,1].
type Scored struct {
	Event      ledger.Event `json:"event"`
	Salience   float64      `json:"salience"`
	Relevance  float64      `json:"relevance"`
	Recency    float64      `json:"recency"`
	Importance float64      `json:"importance"`
}

// Recall returns the K most salient events in ledger order. Only Index can fail; without one there is no error.
func (m SalienceMemory) Recall(ctx context.Context, events []ledger.Event, now Now) ([]ledger.Event, error) {
	ranked, err := m.rank(ctx, events, now)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ranked, func(a, b placedScore) int { return cmp.Compare(a.place, b.place) })
	out := make([]ledger.Event, 0, len(ranked))
	for _, s := range ranked {
		out = append(out, s.Event)
	}
	return out, nil
}

// Rank returns the K most salient events, the most salient first, with the terms of their salience.
func (m SalienceMemory) Rank(ctx context.Context, events []ledger.Event, now Now) ([]Scored, error) {
	ranked, err := m.rank(ctx, events, now)
	if err != nil {
		return nil, err
	}
	out := make([]Scored, 0, len(ranked))
	for _, s := range ranked {
		out = append(out, s.Scored)
	}
	return out, nil
}

// placedScore is a scored event with its place in ledger order.
type placedScore struct {
	Scored
	place int
}

func (m SalienceMemory) rank(ctx context.Context, events []ledger.Event, now Now) ([]placedScore, error) {
	eligible := m.eligible(events)
	relevance, err := m.relevance(ctx, eligible, now.Scene)
	if err != nil {
		return nil, err
	}
	scores := make([]placedScore, 0, len(eligible))
	for i, e := range eligible {
		s := Scored{Event: e, Relevance: relevance[i], Importance: m.importance(e.Kind),
			Recency: m.recency(e.Turn, now)}
		s.Salience = m.salience(s.Relevance, s.Recency, s.Importance)
		scores = append(scores, placedScore{s, i})
	}
	slices.SortFunc(scores, func(a, b placedScore) int {
		return cmp.Or(cmp.Compare(b.Salience, a.Salience), cmp.Compare(b.place, a.place))
	})
	return scores[:min(len(scores), orDefault(m.K, DefaultWindow))], nil
}

// round removes rounding differences between processors, so that they do not decide between equally salient events.
func round(salience float64) float64 { return math.Round(salience*1e9) / 1e9 }

// eligible returns the events that are ranked, in ledger order.
func (m SalienceMemory) eligible(events []ledger.Event) []ledger.Event {
	if m.Reflections {
		return m.Viewer.compact(events, orDefault(m.Window, DefaultWindow))
	}
	return m.Viewer.Visible(events)
}

func (m SalienceMemory) importance(kind string) float64 {
	for _, table := range []Importance{m.Importance, importance} {
		if weight, ok := table[kind]; ok {
			return weight
		}
	}
	if weight, ok := m.Importance[""]; ok {
		return weight
	}
	return importance[""]
}

// relevance returns the relevance of each event to the scene.
func (m SalienceMemory) relevance(ctx context.Context, events []ledger.Event, scene string) ([]float64, error) {
	out := make([]float64, len(events))
	if m.Index == nil {
		words := wordSet(scene)
		for i, e := range events {
			out[i] = jaccard(wordSet(Text(e)), words)
		}
		return out, nil
	}
	if err := m.Index.Index(ctx, events); err != nil {
		return nil, fmt.Errorf("memory index: index %d events: %w", len(events), err)
	}
	if strings.TrimSpace(scene) == "" || len(events) == 0 {
		return out, nil
	}
	hits, err := m.Index.Search(ctx, scene, len(events))
	if err != nil {
		return nil, fmt.Errorf("memory index: search: %w", err)
	}
	best := make(map[string]float64, len(hits))
	for _, hit := range hits {
		if hit.Score > best[hit.ID] { // false for NaN
			best[hit.ID] = min(1, hit.Score)
		}
	}
	for i, e := range events {
		out[i] = best[e.ID]
	}
	return out, nil
}

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range normalize.Words(text, "'") {
		out[word] = true
	}
	return out
}

// jaccard returns the Jaccard similarity of two sets of words, or 0 if both are empty.
func jaccard(a, b map[string]bool) float64 {
	common := 0
	for word := range a {
		if b[word] {
			common++
		}
	}
	all := len(a) + len(b) - common
	if all == 0 {
		return 0
	}
	return float64(common) / float64(all)
}
