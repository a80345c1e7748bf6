package change

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// arrived compares what something was with what it came to: "coverage is at 61 percent", "coverage climbed to 74
// percent"; "the phone is with Dario", "Dario handed the phone to Wiebke". The later clause tells what happened, and
// its goal is a phrase after "to" of the same kind as the value of the earlier one. Any verb may tell that. If the
// value is a date, a number and the like, or one of several floors or grades, the goal replaces it; a name or a place
// only probably does.
func arrived(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if len(x.Parts) < 2 || len(y.Parts) < 2 || x.Able || y.Able || a.Negated || b.Negated || a.Ended || a.Past ||
		b.Past || b.Undecided || len(b.Old) > 0 || exclusive(a, b) || y.Verb == "" || !b.Event && b.Cue < frame.CueNow {
		return Relation{}
	}
	thing, value, known := given(a)
	goal, ok := goalOf(y, value)
	if !known || !ok || goal.List || value.List || english.Subset(goal.Stems, value.Stems) ||
		english.Subset(value.Stems, goal.Stems) || goal.One {
		return Relation{}
	}
	if !slices.ContainsFunc(y.Parts, func(p frame.Part) bool { return underwent(a, b, p, goal, thing, value) }) {
		return Relation{}
	}
	for _, p := range y.Parts { // where else and for whom limit it to a part
		if (p.Role == "for" || p.Role == "in") && len(p.Kinds) == 0 && !english.Subset(p.Stems, thing.Stems) {
			return Relation{}
		}
	}
	sameHead := goal.Head == value.Head
	switch {
	case len(goal.Kinds) > 0 && slices.Equal(goal.Kinds, value.Kinds) && (sameHead || len(goal.Stems) == 1 ||
		english.Subset(goal.Stems[1:], thing.Stems)):
		return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
	case len(goal.Kinds)+len(value.Kinds) > 0:
		return Relation{}
	case sameHead:
		return Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
	case a.Copular && goal.Name == value.Name && (goal.Name || b.Cue >= frame.CueChange) &&
		value.Role != frame.RoleObject &&
		(value.Role != frame.RoleIs || goal.Name):
		return Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
	}
	return Relation{}
}

// given returns the thing that a clause tells of and what it gives for it: "coverage is at 61 percent", "I pay 12 euros
// for my phone".
func given(a frame.Frame) (thing, value frame.Part, ok bool) {
	x := a.Outline
	if thing, value, ok = amountOf(a); ok {
		return thing, value, true
	}
	switch {
	case len(x.Parts) == 2:
		return x.Parts[0], x.Parts[1], true
	case len(x.Parts) == 3 && paying[x.Verb] && len(x.Parts[0].Content(a)) == 0 && len(x.Parts[1].Kinds) == 1 &&
		x.Parts[2].Role == "for" && !x.Passive:
		return x.Parts[2], x.Parts[1], true
	}
	return thing, value, false
}

// amountOf returns what a person has or does so and so much of: "I take 50 mg of sertraline".
func amountOf(a frame.Frame) (thing, value frame.Part, ok bool) {
	x := a.Outline
	if len(x.Parts) < 2 || x.Parts[0].Role != frame.RoleAgent || x.Passive || len(x.Parts[0].Content(a)) > 0 ||
		x.Verb == "" {
		return thing, value, false
	}
	p := x.Parts[1]
	if n, unit, ok := strings.Cut(p.Head, " "); ok && len(p.Stems) == 1 && len(p.Kinds) == 1 &&
		p.Kinds[0] == frame.KindDuration && p.Role == frame.RoleObject { // "I work 40 hours a week"
		value = frame.Part{Role: p.Role, Stems: []string{n}, Kinds: []frame.Kind{frame.KindNumber}, Head: n}
		return frame.Part{Role: p.Role, Stems: []string{unit}, Head: unit, Own: true}, value, true
	}
	if p.Role != frame.RoleObject || len(p.Kinds) != 1 || len(p.Stems) < 2 ||
		p.Kinds[0] != frame.KindNumber && p.Kinds[0] != frame.KindAmount {
		return thing, value, false
	}
	for _, other := range x.Parts[2:] {
		if len(other.Kinds) > 0 && !onlyWhen(other) {
			return thing, value, false
		}
	}
	value = frame.Part{Role: p.Role, Stems: p.Stems[:1], Kinds: p.Kinds, Head: p.Stems[0]}
	thing = frame.Part{Role: p.Role, Stems: p.Stems[1:], Head: p.Stems[len(p.Stems)-1], Own: true}
	return thing, value, true
}

var paying = english.Stems("pay spend")

// goalOf returns the phrase after "to" in what happened. After a verb of beginning it may be the object, if it has the
// same noun as the earlier value: "he is in third grade", "he started fourth grade".
func goalOf(o frame.Outline, value frame.Part) (frame.Part, bool) {
	for _, p := range o.Parts {
		if p.Role == "to" || p.Role == "into" || p.Role == "onto" || p.Role == "at" && len(p.Kinds) > 0 {
			return p, true
		}
	}
	last := o.Parts[len(o.Parts)-1]
	return last, english.StartVerbs[o.Verb] && last.Role == frame.RoleObject && last.Head == value.Head
}

// underwent reports whether a part of what happened is the thing of the earlier clause, known by now: in fewer words,
// by the owner of what has changed, or as the owner himself.
func underwent(a, b frame.Frame, p, goal, thing, value frame.Part) bool {
	own := slices.DeleteFunc(p.Content(b), func(t string) bool { return t == english.TeamTerm })
	if p.Role != frame.RoleAgent && p.Role != frame.RoleObject ||
		!p.Definite && p.Role == frame.RoleObject && len(own) > 0 || p.OfOther ||
		p.Own && !thing.Own && len(a.Owners) > 0 || lacksOwner(a, p, thing) ||
		p.Head == goal.Head && slices.Equal(p.Stems, goal.Stems) {
		return false
	}
	if len(own) == 0 { // "our office is on the third floor", "we were relocated to the fifth floor"
		return value.Head == goal.Head && len(a.Owners) > 0 && !frame.Strangers(a, b) &&
			(p.Role == frame.RoleObject || b.Outline.Verb == english.StemOf("move"))
	}
	return samePart(a, b, p, thing) || p.Head == thing.Head && english.Subset(p.Stems, thing.Stems) ||
		len(goal.Kinds) > 0 && goal.Head == value.Head && english.Subset(p.Stems, thing.Stems)
}

// lacksOwner reports whether a part names a thing without the person to whom the thing of the earlier clause belongs:
// "my dog's name" after "my brother's dog's name".
func lacksOwner(a frame.Frame, p, thing frame.Part) bool {
	return slices.ContainsFunc(thing.Stems, func(t string) bool {
		return (english.People[t] || frame.IsSpeaker(a, t)) && t != thing.Head && !slices.Contains(p.Stems, t)
	})
}

// undergone returns what happened without who did it, so that the clause is about the thing that something happened to:
// "the plumber fixed the boiler" tells what "the boiler was fixed" tells. The result is false if the clause does not
// tell what happened to a known thing.
func undergone(f frame.Frame) (frame.Frame, bool) {
	o := f.Outline
	if o.Passive || o.Verb == "" || len(o.Parts) < 2 || o.Parts[0].Role != frame.RoleAgent ||
		o.Parts[1].Role != frame.RoleObject || !o.Parts[1].Definite || o.Parts[1].OfOther || o.Parts[1].List ||
		!f.Event && f.Cue < frame.CueChange {
		return f, false
	}
	agent := o.Parts[0].Stems
	without := func(terms []string) []string {
		return slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return slices.Contains(agent, t) })
	}
	f.Outline.Parts, f.Outline.Passive = o.Parts[1:], true
	f.Owners, f.Subject = without(f.Owners), o.Parts[1].Stems
	return f, true
}

// repaired compares a state with a deed that ended it: "the boiler is broken", "the plumber fixed the boiler".
func repaired(a, b frame.Frame) Relation {
	if g, ok := undergone(b); ok && !frame.Strangers(a, g) && !b.Hedged && !b.Undecided {
		return surest(recovered(a, g), arrived(a, g))
	}
	return Relation{}
}

var (
	possessing = english.Stems("own have keep")
	giving     = english.Stems("give donate gift hand sell lose return scrap")
	seeking    = english.Stems("save look search wait hunt shop")
	getting    = english.Stems("buy get find receive rent hire arrive order")
)

// over reports whether the later clause tells the end of having or of looking for something: "I own a boat", "I gave
// the boat to my nephew"; "I'm saving up for a camera", "I bought the camera".
func over(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if len(x.Parts) < 2 || len(y.Parts) < 2 || x.Passive || y.Passive || a.Negated || b.Negated || a.Past || b.Past ||
		!b.Event && b.Cue < frame.CueNow || x.Parts[0].Role != frame.RoleAgent || y.Parts[0].Role != frame.RoleAgent ||
		!samePart(a, b, x.Parts[0], y.Parts[0]) || y.Parts[1].Role != frame.RoleObject {
		return Relation{}
	}
	for _, p := range x.Parts[1:] {
		had := possessing[x.Verb] && p.Role == frame.RoleObject && giving[y.Verb] && y.Parts[1].Definite
		sought := seeking[x.Verb] && p.Role == "for" && getting[y.Verb]
		if (had || sought) && !y.Parts[1].OfOther && samePart(a, b, p, y.Parts[1]) {
			return Relation{Certainty: Likely, Change: Ends, Why: WhyEnded}
		}
	}
	return Relation{}
}
