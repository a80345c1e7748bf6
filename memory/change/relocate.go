package change

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// settled has verbs that only say where something is.
var settled = english.Stems("live land sit reside belong arrive end stay stand lie hang")

// relocated compares where something is: "we write our tickets in Trello", "all our tickets live in Linear now".
func relocated(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if frame.Personal(a) || frame.Personal(b) {
		return Relation{} // "Alice works for Siemens", "Alice is with Samuel now"
	}
	if b.Cue < frame.CueNow || len(b.Old) > 0 || a.Negated || b.Negated || a.Ended || b.Ended || x.Able ||
		len(y.Parts) != 2 ||
		y.Parts[0].Role != frame.RoleAgent && y.Parts[0].Role != frame.RoleObject ||
		!english.Prepositions[y.Parts[1].Role] ||
		y.Verb != "" && !english.LightVerbs[y.Verb] && !settled[y.Verb] && y.Verb != x.Verb ||
		len(y.Parts[0].Content(b)) == 0 {
		return Relation{}
	}
	var at *frame.Part
	same := false
	for i, p := range x.Parts {
		switch {
		case samePart(a, b, p, withoutPersons(b, y.Parts[0])), samePart(a, b, p, y.Parts[0]):
			same = true
		case p.Role == frame.RoleAgent && len(p.Content(a)) == 0 && !samePart(a, b, p, y.Parts[1]):
		case at == nil && english.Prepositions[p.Role]:
			at = &x.Parts[i]
		default:
			return Relation{}
		}
	}
	if !same || at == nil || !at.Name || !y.Parts[1].Name || at.List || y.Parts[1].List ||
		len(at.Kinds)+len(y.Parts[1].Kinds) > 0 || samePart(a, b, *at, y.Parts[1]) {
		return Relation{}
	}
	return Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
}

func withoutPersons(f frame.Frame, p frame.Part) frame.Part { return frame.Part{Stems: p.Content(f)} }

// recolored compares a state with the deed that gives another: "the walls are yellow", "we painted the walls green".
func recolored(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if x.Verb != "" || len(x.Parts) != 2 || x.Parts[1].Role != frame.RoleIs || a.Negated || b.Negated || b.Ended ||
		y.Passive ||
		y.Verb == "" {
		return Relation{}
	}
	thing, state := x.Parts[0], x.Parts[1]
	for _, p := range y.Parts {
		n := len(thing.Stems)
		if p.Role != frame.RoleObject || len(p.Stems) <= n || len(p.Stems) > n+2 || len(state.Stems) == 0 ||
			!slices.Equal(p.Stems[:n], thing.Stems) {
			continue
		}
		old, now := state.Stems[len(state.Stems)-1], p.Stems[len(p.Stems)-1]
		if c := english.CategoryOfStem(old); c != "" && c == english.CategoryOfStem(now) && old != now {
			return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
		}
	}
	return Relation{}
}
