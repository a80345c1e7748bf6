package change

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// dropped compares a habit with its end in fewer words: "Kasia plays chess on Sundays", "Kasia doesn't play chess any
// more".
func dropped(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !b.Ended || a.Negated || a.Ended || a.Past || b.Past || x.Verb == "" || !english.SameDeed(x.Verb, y.Verb) ||
		x.Passive != y.Passive || len(x.Parts) < 2 || len(y.Parts) < 2 || len(y.Parts) > len(x.Parts) {
		return Relation{}
	}
	object := false
	for _, p := range y.Parts {
		if !slices.ContainsFunc(x.Parts, func(q frame.Part) bool { return q.Role == p.Role && samePart(a, b, q, p) }) {
			return Relation{}
		}
		object = object || p.Role != frame.RoleAgent
	}
	if !object {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
}

// cancelled compares something planned, regular or subscribed to with its cancellation: "the standup is at 9:15", "we
// cancelled the daily standup"; "I get a box of cheese by post", "I cancelled the cheese box"; "we're going to Crete in
// July", "the trip to Crete is cancelled".
func cancelled(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !cancelling[y.Verb] || a.Negated || b.Negated || a.Ended || a.Past || b.Past || b.Hedged || b.Undecided || x.Able ||
		y.Able {
		return Relation{}
	}
	for _, gone := range y.Parts {
		if gone.Role != frame.RoleObject || !gone.Definite || gone.OfOther {
			continue
		}
		named := withoutWords(gone.Stems, regular)
		goal := withoutWords(named, journeys)
		for i, p := range x.Parts {
			subject := i == 0 && (p.Role == frame.RoleAgent || p.Role == frame.RoleObject)
			bought := p.Role == frame.RoleObject && getting[x.Verb]
			planned := (p.Role == "to" || p.Role == "for") && len(goal) < len(named) && len(goal) > 0
			switch {
			case lacksOwner(a, gone, p):
			case (subject || bought) && len(named) > 0 && english.Subset(named, p.Stems) &&
				slices.Contains(named, p.Head) && len(p.Stems)-len(named) < 2:
				return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
			case planned && english.Subset(goal, p.Stems) && english.Subset(p.Stems, goal):
				return Relation{Certainty: Likely, Change: Ends, Why: WhyEnded}
			}
		}
	}
	return Relation{}
}

// withoutWords returns the words that are not in a set.
func withoutWords(words []string, set english.WordSet) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return set[w] })
}

var (
	cancelling = english.Stems("cancel scrap abolish discontinue axe", "calloff")
	regular    = english.Stems("daily weekly monthly yearly annual regular")
	journeys   = english.Stems("trip flight holiday visit journey tour drive vacation weekend week stay")
)

// movedHouse compares where a person lives with a move into another place: "Mum lives in a flat in Cork", "Mum has
// moved into a care home in Galway".
func movedHouse(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !living[x.Verb] || y.Verb != english.StemOf("move") || y.Passive || a.Negated || b.Negated || a.Past || b.Past ||
		b.Hedged || b.Undecided || len(x.Parts) < 2 || len(y.Parts) < 2 || len(b.Old) > 0 ||
		x.Parts[0].Role != frame.RoleAgent || y.Parts[0].Role != frame.RoleAgent ||
		!samePart(a, b, x.Parts[0], y.Parts[0]) && !(selfIn(a, x.Parts[0]) && selfIn(b, y.Parts[0])) {
		return Relation{}
	}
	for _, p := range y.Parts[1:] {
		if p.Role == "into" && !slices.ContainsFunc(x.Parts, func(q frame.Part) bool { return samePart(a, b, p, q) }) {
			return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
		}
	}
	town := func(f frame.Frame, preposition string) frame.Value {
		i := slices.IndexFunc(f.Values, func(v frame.Value) bool {
			return v.Kind == frame.KindName && v.Preposition == preposition && v.Category == "" && !ofGroup(v)
		})
		if i < 0 {
			return frame.Value{}
		}
		return f.Values[i]
	}
	stays := slices.ContainsFunc(y.Parts, func(p frame.Part) bool { return p.Role == "for" }) // "for the summer"
	if old, now := town(a, "in"), town(b, "to"); !stays && old.Key != "" && now.Key != "" && !old.Same(now) {
		return Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
	}
	return Relation{}
}

// selfIn reports whether a part is the speaker, or a group with the speaker.
func selfIn(f frame.Frame, p frame.Part) bool { return len(p.Content(f)) == 0 }

var living = english.Stems("live reside stay dwell")

// conveyed compares how someone gets somewhere: "I take the bus to school", "I cycle to school now".
func conveyed(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if b.Cue < frame.CueNow || !travelling[x.Verb] || !travelling[y.Verb] || a.Negated || b.Negated || a.Ended ||
		b.Ended || a.Past || b.Past || b.Undecided || a.Event || len(x.Parts) < 2 || len(y.Parts) < 2 ||
		!samePart(a, b, x.Parts[0], y.Parts[0]) {
		return Relation{}
	}
	goal := func(o frame.Outline) (frame.Part, bool) {
		i := slices.IndexFunc(o.Parts, func(p frame.Part) bool { return p.Role == "to" && len(p.Stems) > 0 })
		if i < 0 {
			return frame.Part{}, false
		}
		return o.Parts[i], true
	}
	means := func(o frame.Outline) []string {
		out := []string{}
		if o.Verb != english.StemOf("take") && o.Verb != english.StemOf("go") {
			out = append(out, o.Verb)
		}
		for _, p := range o.Parts {
			if p.Role == "by" || p.Role == frame.RoleObject {
				out = append(out, p.Stems...)
			}
		}
		return out
	}
	to, ok := goal(x)
	other, found := goal(y)
	if !ok || !found || !samePart(a, b, to, other) || len(means(x)) == 0 || len(means(y)) == 0 ||
		english.Subset(means(x), means(y)) || english.Subset(means(y), means(x)) {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
}

var travelling = english.Stems("take go drive fly cycle walk ride bike commute travel run")

// separated compares a relationship with its end: "my girlfriend is called Ana", "Ana and I broke up".
func separated(a, b frame.Frame) Relation {
	y := b.Outline
	partner := slices.ContainsFunc(a.Topic, func(t string) bool { return english.HasConcept(t, partners) })
	if !parting[y.Verb] || !partner || a.Negated || b.Negated || a.Past || b.Past || b.Hedged ||
		slices.ContainsFunc(y.Parts, func(p frame.Part) bool { return p.Role == frame.RoleObject }) {
		return Relation{}
	}
	for _, v := range a.Values {
		if v.Kind == frame.KindName && slices.ContainsFunc(y.Parts, func(p frame.Part) bool {
			return english.Subset(strings.Fields(v.Key), p.Stems)
		}) {
			return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
		}
	}
	return Relation{}
}

var (
	parting  = english.Stems("split divorce separate", "breakup")
	partners = english.WordSet{"PARTNER": true}
)

// stateEnds has deeds after which a person is no longer in a state. With objects, the deed has one of them.
var stateEnds = []struct{ states, deeds, objects english.WordSet }{
	{english.Stems("pregnant expecting"), english.Stems("have get deliver"),
		english.Stems("baby son daughter twins child boy girl")},
	{english.Stems("pregnant expecting"), english.Stems("give"), english.Stems("birth")},
	{english.Stems("unemployed jobless"), english.Stems("start join"), nil},
	{english.Stems("unemployed jobless"), english.Stems("get find land take"), english.Stems("job position")},
	{english.Stems("vegan"), english.Stems("eat"), english.Stems("egg cheese honey butter milk yoghurt yogurt dairy")},
	{english.Stems("vegan vegetarian"), english.Stems("eat"),
		english.Stems("meat fish chicken beef pork ham sausage bacon steak salmon tuna turkey lamb")},
}

// outgrown compares a person's state with a deed that does not go with it: "Eva is pregnant", "Eva had her baby".
func outgrown(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !a.Copular || a.Negated || a.Ended || a.Past || b.Negated || b.Past || b.Ended || b.Hedged || b.Undecided ||
		y.Able || y.Passive || len(x.Parts) == 0 || len(y.Parts) == 0 || !samePart(a, b, x.Parts[0], y.Parts[0]) {
		return Relation{}
	}
	var state []string
	switch {
	case len(x.Parts) == 2 && x.Parts[1].Role == frame.RoleIs:
		state = x.Parts[1].Stems
	case len(x.Parts) == 1 && x.Passive:
		state = []string{x.Verb} // "unemployed"
	}
	for _, e := range stateEnds {
		inState := slices.ContainsFunc(state, func(t string) bool { return e.states[t] })
		if !inState || !e.deeds[y.Verb] && !e.deeds[b.MainVerb] {
			continue
		}
		if e.objects == nil || slices.ContainsFunc(y.Parts[1:], func(p frame.Part) bool {
			return p.Role == frame.RoleObject && slices.ContainsFunc(p.Stems, func(t string) bool { return e.objects[t] })
		}) {
			return Relation{Certainty: Likely, Change: Ends, Why: WhyOpposite}
		}
	}
	return Relation{}
}
