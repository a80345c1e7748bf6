package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema/ledger"
)

// BeliefGraph has the beliefs of agents and their evidence, as far as a viewer sees them. It is derived from the
// reflections in the ledger and is not stored.
type BeliefGraph struct {
	Beliefs []Belief   `json:"beliefs"` // in ledger order
	Events  []Evidence `json:"events"`  // evidence other than beliefs, in the order of citation
	Based   []Based    `json:"based"`   // in the order of the beliefs
	Shared  []Shared   `json:"shared"`  // in the order of the earlier belief
}

// Belief is a node: one reflection.
type Belief struct {
	ID     string `json:"id"` // of the event
	Agent  string `json:"agent"`
	Turn   int    `json:"turn"`
	Belief string `json:"belief"`
	Covers int    `json:"covers,omitempty"` // number of events that it summarizes

	// LostSupport means that some of its evidence, of that which the viewer would see, was erased. A belief is erased
	// with the last of its evidence.
	LostSupport bool `json:"lost_support,omitempty"`
}

// Evidence is a node: an event that a belief is based on. An event that the viewer does not see has only an id, which
// is part of the belief.
type Evidence struct {
	ID    string `json:"id"`
	Agent string `json:"agent,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Turn  int    `json:"turn,omitempty"`
	Text  string `json:"text,omitempty"`
	Seen  bool   `json:"seen"` // the viewer sees it
	// it was erased, and the viewer would see it otherwise: the belief has lost support
	Erased bool `json:"erased,omitempty"`
}

// Based is an edge from a belief to an event or a belief that it is based on.
type Based struct {
	Belief string `json:"belief"`
	On     string `json:"on"`
}

// Shared is an edge between two beliefs that are based on the same events.
type Shared struct {
	Earlier string   `json:"earlier"`
	Later   string   `json:"later"`
	Events  []string `json:"events"` // ids of the evidence that both cite
}

// Beliefs returns the graph of the beliefs that the viewer sees.
func Beliefs(v Viewer, events []ledger.Event) BeliefGraph {
	g := BeliefGraph{Beliefs: []Belief{}, Events: []Evidence{}, Based: []Based{}, Shared: []Shared{}}
	cited := map[string][]int{} // ids of evidence to the beliefs that cite them
	var order []string
	isBelief := map[string]bool{}
	for _, e := range Order(events) {
		r, ok := ledger.Payload[ledger.Reflection](e)
		if e.Kind != ledger.KindAgentReflected || !ok || !v.Sees(e) {
			continue
		}
		isBelief[e.ID] = true
		for _, id := range r.BasedOn {
			if cited[id] == nil {
				order = append(order, id)
			} else if slices.Contains(cited[id], len(g.Beliefs)) {
				continue // named twice
			}
			cited[id] = append(cited[id], len(g.Beliefs))
			g.Based = append(g.Based, Based{Belief: e.ID, On: id})
		}
		g.Beliefs = append(g.Beliefs, Belief{ID: e.ID, Agent: e.Agent, Turn: e.Turn, Belief: r.Belief,
			Covers: r.Covers})
	}
	byID := make(map[string]ledger.Event, len(order))
	for _, e := range events {
		if cited[e.ID] != nil {
			byID[e.ID] = e
		}
	}
	for _, id := range order {
		if isBelief[id] {
			continue
		}
		e, found := byID[id]
		g.Events = append(g.Events, v.evidence(id, e, found))
		for _, belief := range cited[id] {
			g.Beliefs[belief].LostSupport = g.Beliefs[belief].LostSupport || g.Events[len(g.Events)-1].Erased
		}
	}
	g.share(order, cited)
	return g
}

func (v Viewer) evidence(id string, e ledger.Event, found bool) Evidence {
	if !found || !v.admits(e) || !v.cleared(e) {
		return Evidence{ID: id}
	}
	return Evidence{ID: id, Agent: e.Agent, Kind: e.Kind, Turn: e.Turn, Text: Text(e), Seen: !e.Erased,
		Erased: e.Erased}
}

// share adds the edges between beliefs.
func (g *BeliefGraph) share(order []string, cited map[string][]int) {
	type pair struct{ earlier, later int }
	common := map[pair][]string{}
	for _, id := range order {
		for i, earlier := range cited[id] {
			for _, later := range cited[id][i+1:] {
				p := pair{earlier, later}
				common[p] = append(common[p], id)
			}
		}
	}
	pairs := make([]pair, 0, len(common))
	for p := range common {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.earlier, b.earlier), cmp.Compare(a.later, b.later))
	})
	for _, p := range pairs {
		g.Shared = append(g.Shared, Shared{Earlier: g.Beliefs[p.earlier].ID, Later: g.Beliefs[p.later].ID,
			Events: common[p]})
	}
}

// labelChars is the number of characters that a node shows of a text.
const labelChars = 80

// Mermaid draws the graph: beliefs are rounded, events are boxes, a dotted line joins beliefs with shared evidence.
func (g BeliefGraph) Mermaid() string {
	var b strings.Builder
	names := map[string]string{}
	b.WriteString("flowchart LR\n")
	for i, belief := range g.Beliefs {
		names[belief.ID] = fmt.Sprintf("b%d", i+1)
		fmt.Fprintf(&b, "    b%d([\"%s, turn %d: %s\"])\n", i+1, label(belief.Agent), belief.Turn, label(belief.Belief))
	}
	for i, e := range g.Events {
		names[e.ID] = fmt.Sprintf("e%d", i+1)
		text := label(e.ID)
		switch {
		case e.Erased:
			text += ", erased"
		case e.Seen:
			text = label(e.Kind) + ", turn " + fmt.Sprint(e.Turn) + ": " + label(e.Text)
		}
		fmt.Fprintf(&b, "    e%d[\"%s\"]\n", i+1, text)
	}
	for _, edge := range g.Based {
		fmt.Fprintf(&b, "    %s --> %s\n", names[edge.Belief], names[edge.On])
	}
	for _, edge := range g.Shared {
		fmt.Fprintf(&b, "    %s -.-|\"%d shared\"| %s\n", names[edge.Earlier], len(edge.Events), names[edge.Later])
	}
	return b.String()
}

// label returns a text as one line of a node. Characters with a meaning in Mermaid are written as character codes.
func label(text string) string {
	text, _ = normalize.CutChars(oneLine(text), labelChars)
	return mermaidEscapes.Replace(text)
}

var mermaidEscapes = strings.NewReplacer(`#`, `#35;`, `"`, `#quot;`, `<`, `#lt;`, `>`, `#gt;`, `&`, `#amp;`,
	"`", `#96;`, `\`, `#92;`)
