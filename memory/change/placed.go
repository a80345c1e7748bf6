package change

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// placed compares where a thing is with where someone put it: "our router is in the hallway", "the electrician put the
// router up in the living room".
func placed(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !putting[y.Verb] || a.Negated || b.Negated || b.Ended || a.Past || b.Past || x.Verb != "" && !keeping[x.Verb] ||
		x.Able || y.Able || b.Undecided {
		return Relation{}
	}
	thing, old, ok := located(a)
	goal, at, known := located(b)
	if !ok || !known || !goal.Definite || goal.OfOther || goal.Own && !thing.Own && len(a.Owners) > 0 ||
		lacksOwner(a, goal, thing) || !samePart(a, b, goal, thing) && !(shorter(thing, goal) && !thing.Name) ||
		english.Subset(at.Stems, old.Stems) || english.Subset(old.Stems, at.Stems) {
		return Relation{}
	}
	return Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
}

var (
	putting = english.Stems("put place set hang store park plant lay stick pin mount install")
	keeping = english.Stems("keep store hang stand sit lie stay live park lay")
	places  = english.Words("in into on onto under behind at inside above below beside next near")
)

// located returns the thing that a clause tells of and the place that it gives for it. The result is false if the
// clause says anything else.
func located(f frame.Frame) (thing, place frame.Part, ok bool) {
	object := slices.ContainsFunc(f.Outline.Parts, func(p frame.Part) bool { return p.Role == frame.RoleObject })
	for _, p := range f.Outline.Parts {
		switch {
		case p.List || len(p.Kinds) > 0 && !onlyWhen(p):
			return thing, place, false
		case onlyWhen(p):
		case p.Role == frame.RoleObject, p.Role == frame.RoleAgent && !object:
			thing = p
		case p.Role == frame.RoleAgent: // who puts or keeps it there
		case places[p.Role] && len(place.Stems) == 0:
			place = p
		default:
			return thing, place, false
		}
	}
	return thing, place, len(thing.Content(f)) > 0 && len(place.Stems) > 0
}

// installed compares the version of a product on a thing with another that was put there: "the laptop runs Windows 10",
// "IT installed Windows 11 on the laptop".
func installed(a, b frame.Frame) Relation {
	if len(a.Values) != 1 || len(b.Values) != 1 || a.Negated || b.Negated || b.Ended || b.Undecided ||
		!english.ChangeVerbs[b.Outline.Verb] && !installing[b.Outline.Verb] {
		return Relation{}
	}
	old, now := a.Values[0], b.Values[0]
	if old.Kind != frame.KindVersion || now.Kind != frame.KindVersion || now.Category == "" ||
		old.Category != now.Category || old.Same(now) {
		return Relation{}
	}
	of := slices.Concat(a.Topic, []string{english.StemOf(now.Category)})
	things := 0
	for _, p := range b.Outline.Parts {
		if p.Role == frame.RoleAgent && !b.Outline.Passive || p.Role == "over" || p.Role == "during" || onlyWhen(p) {
			continue
		}
		for _, t := range p.Content(b) {
			switch {
			case slices.Contains(a.Topic, t):
				things++
			case !slices.Contains(of, t) && t != english.StemOf(string(now.Key)) && !english.HasDigit(t):
				return Relation{}
			}
		}
	}
	switch {
	case things == 0:
		return Relation{}
	case b.Cue >= frame.CueChange:
		return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
	}
	return Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
}

var installing = english.Stems("install put deploy get bring run roll")

// removed compares a thing that is somewhere with the deed that took it away: "the old oak stands in front of the
// school", "they felled the oak in front of the school".
func removed(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if a.Negated || b.Negated || a.Past || b.Past || x.Able || y.Able || b.Undecided ||
		x.Verb != "" && !keeping[x.Verb] || len(x.Parts) < 2 || len(y.Parts) == 0 || !b.Event && b.Cue < frame.CueNow {
		return Relation{}
	}
	thing := x.Parts[0]
	if thing.Role != frame.RoleAgent && thing.Role != frame.RoleObject || len(thing.Content(a)) == 0 ||
		!places[x.Parts[1].Role] {
		return Relation{}
	}
	for _, p := range y.Parts {
		gone := destroying[y.Verb] && p.Role == frame.RoleObject ||
			taking[y.Verb] && (p.Role == "down" || p.Role == "away" || p.Role == "up")
		if gone && p.Definite && !p.OfOther && !lacksOwner(a, p, thing) &&
			(samePart(a, b, p, thing) || p.Head == thing.Head && english.Subset(p.Stems, thing.Stems) && !thing.Name) {
			return Relation{Certainty: Likely, Change: Ends, Why: WhyEnded}
		}
	}
	return Relation{}
}

var (
	destroying = english.Stems("felled demolish remove uproot destroy raze dismantle bulldoze steal scrap")
	taking     = english.Stems("tear take cut pull knock chop burn throw")
)

// unable compares what someone cannot do with having done it: "I can't swim", "I swam fifty metres today".
func unable(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !a.Negated || !x.Able || b.Negated || b.Past || b.Hedged || y.Able || y.Passive || x.Verb == "" ||
		x.Verb != y.Verb || english.LightVerbs[x.Verb] || a.Sentiment != 0 || len(x.Parts) == 0 || len(y.Parts) == 0 ||
		x.Parts[0].Role != frame.RoleAgent || y.Parts[0].Role != frame.RoleAgent ||
		!samePart(a, b, x.Parts[0], y.Parts[0]) {
		return Relation{}
	}
	for _, p := range x.Parts[1:] {
		if !onlyWhen(p) && !slices.ContainsFunc(y.Parts[1:], func(q frame.Part) bool { return samePart(a, b, p, q) }) {
			return Relation{}
		}
	}
	return Relation{Certainty: Likely, Change: Ends, Why: WhyOpposite}
}
