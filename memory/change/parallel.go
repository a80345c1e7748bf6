package change

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// likeness describes how two clauses with outlines match.
type likeness struct {
	a, b    frame.Part // the parts in which they differ, if they differ in one
	one     bool       // they differ in one part of the same role, and in nothing else
	several bool       // they differ in two or more parts of the same roles
	fixed   int        // content words that both have, and the verb; without the name of who does it
	act     bool       // they have the same verb, or verbs that say nothing of their own
	moved   bool       // a part has another role: "coffee with milk", "milk in the coffee"
	head    bool       // the parts in which they differ have the same noun
	some    bool       // both have "a" thing that is the same: there may be two of them
}

// liken aligns two clauses by their parts. The order of the parts does not matter, and the words of a part may be
// joined by a preposition or not: "the meeting with the bank" and "the bank meeting" are the same.
func liken(a, b frame.Frame) likeness {
	var out likeness
	x, y := a.Outline, b.Outline
	out.act = sameAct(a, b)
	if len(x.Parts) == 0 || len(y.Parts) == 0 || x.Able || y.Able ||
		english.EndVerbs[x.Verb] || english.EndVerbs[y.Verb] || english.Opposite(x.Verb, y.Verb) || stateOf(x) ||
		stateOf(y) {
		return out // the verb is the value
	}
	if x.Verb != "" && x.Verb == y.Verb && !english.LightVerbs[x.Verb] {
		out.fixed++
	}
	usedX, usedY := make([]bool, len(x.Parts)), make([]bool, len(y.Parts))
	pair := func(same func(p, q frame.Part) bool) {
		for i, p := range x.Parts {
			for j, q := range y.Parts {
				if usedX[i] || usedY[j] || !same(p, q) {
					continue
				}
				usedX[i], usedY[j] = true, true
				out.some = out.some || p.One && q.One
				out.moved = out.moved || p.Role != q.Role && !subjects(p, q)
				if p.Role != frame.RoleAgent || !a.BareName {
					out.fixed += len(p.Content(a))
				}
			}
		}
	}
	alike := func(p, q frame.Part) bool { return p.Role == q.Role || subjects(p, q) }
	pair(func(p, q frame.Part) bool { return alike(p, q) && samePart(a, b, p, q) })
	pair(func(p, q frame.Part) bool { return alike(p, q) && len(p.Kinds)+len(q.Kinds) == 0 && shorter(p, q) })
	pair(func(p, q frame.Part) bool {
		return p.Role != frame.RoleAgent && q.Role != frame.RoleAgent && samePart(a, b, p, q)
	})
	differing, extra := 0, 0
	for i, p := range x.Parts {
		if usedX[i] {
			continue
		}
		j := -1
		for k, q := range y.Parts {
			if !usedY[k] && (p.Role == q.Role || out.moved && p.Role != frame.RoleAgent && q.Role != frame.RoleAgent &&
				p.Head == q.Head) {
				j = k
				break
			}
		}
		if j < 0 {
			if !onlyWhen(p) {
				extra++
			}
			continue
		}
		usedX[i], usedY[j] = true, true
		differing++
		out.a, out.b = p, y.Parts[j]
	}
	for j, q := range y.Parts {
		if !usedY[j] && !onlyWhen(q) {
			extra++
		}
	}
	out.one = differing == 1 && extra == 0 && (!out.moved || out.a.Head == out.b.Head)
	out.several = differing > 1
	out.head = out.one && out.a.Head == out.b.Head
	if out.one {
		for _, t := range out.a.Stems {
			if slices.Contains(out.b.Stems, t) {
				out.fixed++
			}
		}
	}
	return out
}

// stateOf reports whether a passive verb is a state that has an opposite: "is enabled".
func stateOf(o frame.Outline) bool { return o.Passive && english.Opposites[o.Verb] != "" }

// subjects reports whether both parts are subjects: of "be" and of a passive verb.
func subjects(p, q frame.Part) bool {
	subject := func(p frame.Part) bool { return p.Role == frame.RoleAgent || p.Role == frame.RoleObject }
	return subject(p) && subject(q) && p.Role != q.Role
}

// sameAct reports whether two clauses have the same verb, or verbs that say nothing of their own.
func sameAct(a, b frame.Frame) bool {
	v, w := a.Outline.Verb, b.Outline.Verb
	if v == w || v != "" && w != "" && english.SameTerm(v, w) {
		return true
	}
	plain := func(v string) bool { return v == "" || english.LightVerbs[v] }
	return plain(v) && plain(w) || plain(v) && english.ChangeVerbs[w]
}

// samePart reports whether two parts have the same words in any order.
func samePart(a, b frame.Frame, p, q frame.Part) bool {
	same := func(s, t string) bool { return frame.SamePerson(a, b, s, t) || english.SameDeed(s, t) }
	within := func(p, q frame.Part) bool {
		return !slices.ContainsFunc(p.Stems, func(s string) bool {
			return !slices.ContainsFunc(q.Stems, func(t string) bool { return same(s, t) })
		})
	}
	return within(p, q) && within(q, p)
}

// shorter reports whether the later part q names the thing of p with fewer words: "the report for the city council",
// "the council report".
func shorter(p, q frame.Part) bool {
	return q.Definite && q.Head == p.Head && len(q.Stems) < len(p.Stems) && english.Subset(q.Stems, p.Stems)
}

// onlyWhen reports whether a part is only a date, a time, a season or a duration.
func onlyWhen(p frame.Part) bool {
	if len(p.Stems) == 1 && p.Role == "in" && english.CategoryOfStem(p.Stems[0]) == "SEASON" {
		return true
	}
	return len(p.Kinds) == len(p.Stems) && !slices.ContainsFunc(p.Kinds, func(k frame.Kind) bool {
		return k != frame.KindDate && k != frame.KindTime && k != frame.KindDuration && k != frame.KindOften
	})
}

// parallel compares two clauses that differ in one phrase: "I keep my passport in the desk", "I keep my passport in the
// safe now". The phrase is the value, whatever its kind.
func parallel(a, b frame.Frame) Relation {
	l := liken(a, b)
	onlyVerb := l.fixed == 1 && english.ChangeVerbs[b.Outline.Verb] && a.Outline.Verb == b.Outline.Verb
	if !l.one || l.fixed == 0 || onlyVerb || l.some && l.a.Role != frame.RoleObject || l.a.Role == frame.RoleAgent ||
		l.a.Role == "about" || l.a.List || l.b.List ||
		len(b.Old) > 0 || exclusive(a, b) || a.Negated || b.Negated || a.Ended || b.Ended ||
		a.Sentiment != 0 || b.Sentiment != 0 {
		return Relation{}
	}
	switch {
	case l.a.Role == "to" && isDeed(l.a) && isDeed(l.b):
		return Relation{} // "I want to eat better", "I have to leave"
	case english.Subset(l.a.Stems, l.b.Stems) || english.Subset(l.b.Stems, l.a.Stems):
		return Relation{} // the same, with more or less detail
	case subjects(frame.Part{Role: l.a.Role}, frame.Part{Role: frame.RoleAgent}) && a.Outline.Passive:
		return Relation{} // different things
	}
	out := Relation{Certainty: Doubt, Change: Updates, Why: WhyRestated}
	if !l.act && !(l.head && l.fixed > 1) && !(b.Cue >= frame.CueNow && english.LightVerbs[b.Outline.Verb] &&
		l.a.Name && l.b.Name &&
		english.Prepositions[l.a.Role]) {
		return Relation{}
	}
	switch {
	case b.Cue < frame.CueNow && l.a.Name != l.b.Name:
		return Relation{}
	case b.Cue < frame.CueNow, b.Cue == frame.CueNow && (forNow(a, b) || bothStart(a, b)):
	case manyObjects(a, l), !l.act:
		out.Certainty, out.Why = Likely, WhyCue
	default:
		out.Certainty, out.Why = Sure, WhyCue
	}
	return out
}

// isDeed reports whether a part after "to" is an infinitive.
func isDeed(p frame.Part) bool {
	return len(p.Stems) > 0 && (english.PlainVerbs[p.Stems[0]] || english.LightVerbs[p.Stems[0]])
}

// equated compares "my usual breakfast is porridge" with "I have pancakes for breakfast": what one clause says that a
// thing is, the other gives as an object for it, and the other way round.
func equated(a, b frame.Frame) Relation {
	is, has, ok := equation(a, b)
	if !ok {
		is, has, ok = equation(b, a)
	}
	if !ok || a.Negated || b.Negated || a.Ended || b.Ended || len(b.Old) > 0 || a.Sentiment != 0 || b.Sentiment != 0 ||
		is.List || has.List || is.Name != has.Name || english.Subset(is.Stems, has.Stems) ||
		english.Subset(has.Stems, is.Stems) {
		return Relation{}
	}
	if b.Cue >= frame.CueNow {
		return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
	}
	return Relation{Certainty: Doubt, Change: Updates, Why: WhyRestated}
}

// equation returns what the thing of f is, and what the clause of g gives for it.
func equation(f, g frame.Frame) (is, has frame.Part, ok bool) {
	x, y := f.Outline, g.Outline
	if x.Verb != "" || len(x.Parts) != 2 || x.Parts[0].Role != frame.RoleAgent || x.Parts[1].Role != frame.RoleIs ||
		len(y.Parts) != 3 || y.Passive || !english.LightVerbs[y.Verb] || y.Parts[1].Role != frame.RoleObject ||
		(y.Parts[2].Role != "for" && y.Parts[2].Role != "as") {
		return is, has, false
	}
	thing := frame.Part{Stems: slices.DeleteFunc(slices.Clone(x.Parts[0].Stems), func(t string) bool {
		return english.SoftTerms[t] || slices.Contains(y.Parts[0].Stems, t)
	})}
	return x.Parts[1], y.Parts[1], len(thing.Stems) > 0 && samePart(f, g, thing, y.Parts[2])
}

// replaced reads "the grey in my bedroom was replaced with lavender" after "the walls in my bedroom are grey".
func replaced(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !y.Passive || !english.Replacers[y.Verb] || len(y.Parts) == 0 || len(x.Parts) < 2 || a.Negated || b.Negated {
		return Relation{}
	}
	gone, old := y.Parts[0].Stems, x.Parts[len(x.Parts)-1]
	if !english.Subset(old.Stems, gone) || len(gone) == len(old.Stems) {
		return Relation{}
	}
	if slices.ContainsFunc(gone, func(t string) bool {
		return !slices.ContainsFunc(x.Parts, func(p frame.Part) bool { return slices.Contains(p.Stems, t) })
	}) {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyNamed}
}

// otherModifier reports whether the clauses are about two things with one noun, "holiday requests" and "travel
// requests", although the words before it have similar meanings. Two words for an attribute with one value, "phone
// number" and "mobile number", are no difference.
func otherModifier(a, b frame.Frame) bool {
	subject := func(o frame.Outline) (frame.Part, bool) {
		if len(o.Parts) == 0 || o.Parts[0].Role != frame.RoleAgent && o.Parts[0].Role != frame.RoleObject {
			return frame.Part{}, false
		}
		return o.Parts[0], true
	}
	p, ok := subject(a.Outline)
	q, found := subject(b.Outline)
	if !ok || !found || p.Head != q.Head || frame.IsSpeaker(a, p.Head) || p.Name || q.Name {
		return false
	}
	only := func(p, q frame.Part) (out []string) {
		for _, s := range p.Stems {
			if !english.SoftTerms[s] && !slices.ContainsFunc(q.Stems, func(t string) bool {
				return english.SameDeed(s,
					t)
			}) {
				out = append(out, s)
			}
		}
		return out
	}
	one, other := only(p, q), only(q, p)
	if len(one) != 1 || len(other) != 1 || !english.SameTerm(one[0], other[0]) {
		return false
	}
	return !slices.ContainsFunc(english.Concepts[one[0]], func(c string) bool {
		return slices.Contains(english.Concepts[other[0]], c) && (english.SingleConcepts[c] || english.UsualConcepts[c])
	})
}

// otherSense reports whether a verb has two senses: "plays the viola", "plays handball".
func otherSense(a, b frame.Frame) bool {
	l := liken(a, b)
	return l.one && l.a.Role == frame.RoleObject && l.a.Definite != l.b.Definite && !l.a.One && !l.b.One && !l.a.Name &&
		!l.b.Name && !l.head && len(l.a.Kinds)+len(l.b.Kinds) == 0 && l.fixed < 2
}

// moved compares with a clause that says what something was moved to: "the records are kept in a spreadsheet", "the
// records were migrated to the CRM". What was moved is in the earlier clause, which has one other part: the old value.
func moved(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if !english.ChangeVerbs[y.Verb] || exclusive(a, b) || len(b.Old) > 0 || b.Negated || b.Ended || a.Negated ||
		a.Ended ||
		x.Able ||
		len(x.Parts) == 0 || english.ChangeVerbs[x.Verb] {
		return Relation{}
	}
	var to *frame.Part
	used := make([]bool, len(x.Parts))
	for _, p := range y.Parts {
		p := p
		if (p.Role == "to" || p.Role == "into" || p.Role == "onto") && to == nil {
			to = &p
			continue
		}
		i := slices.IndexFunc(x.Parts, func(q frame.Part) bool {
			return samePart(a, b, q, p) || len(p.Kinds)+len(q.Kinds) == 0 && shorter(q, p)
		})
		switch {
		case i >= 0:
			used[i] = true
		case onlyWhen(p):
		case p.Role == frame.RoleAgent && !y.Passive && len(p.Content(b)) == 0: // "we moved it"
		default:
			return Relation{}
		}
	}
	if to == nil || to.List {
		return Relation{}
	}
	var old *frame.Part
	matched := false
	for i, p := range x.Parts {
		p := p
		switch {
		case used[i]:
			matched = matched || len(p.Content(a)) > 0
		case p.Role == frame.RoleAgent && len(p.Content(a)) == 0:
		case old != nil || p.List || p.Role == frame.RoleAgent:
			return Relation{}
		default:
			old = &p
		}
	}
	if !matched || old == nil || english.Subset(old.Stems, to.Stems) || english.Subset(to.Stems, old.Stems) ||
		!slices.Equal(old.Kinds, to.Kinds) || old.Name != to.Name && old.Role == frame.RoleObject {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
}

// manyObjects reports whether people do what the verb says with several things at a time: "I speak French".
func manyObjects(a frame.Frame, l likeness) bool {
	return l.a.Role == frame.RoleObject && slices.ContainsFunc(a.Topic, func(t string) bool {
		return slices.ContainsFunc(english.Concepts[t], func(c string) bool { return english.PluralConcepts[c] })
	})
}

// recovered compares states that exclude each other: "the lift is broken", "the lift works again".
func recovered(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if a.Negated || b.Negated || len(x.Parts) == 0 || len(y.Parts) == 0 || len(x.Parts) > 2 || len(y.Parts) > 2 ||
		x.Parts[0].Role != frame.RoleAgent && x.Parts[0].Role != frame.RoleObject ||
		!samePart(a, b, x.Parts[0], y.Parts[0]) && !shorter(x.Parts[0], y.Parts[0]) {
		return Relation{}
	}
	// With the verb as a part, one of them has the opposite of one of the other's, and the rest are the same.
	states := func(o frame.Outline) []frame.Part {
		return append(slices.Clone(o.Parts[1:]), frame.Part{Stems: []string{o.Verb}})
	}
	found := false
	for _, p := range states(x) {
		found = found || slices.ContainsFunc(states(y), func(q frame.Part) bool { return opposed(p, q) })
	}
	rest := func(of, other []frame.Part) bool {
		return slices.ContainsFunc(of, func(p frame.Part) bool {
			return len(p.Stems) > 0 && p.Stems[0] != "" && p.Role != "for" && !onlyWhen(p) && !english.LightVerbs[p.Stems[0]] &&
				!manner[p.Stems[0]] &&
				!slices.ContainsFunc(other, func(q frame.Part) bool { return opposed(p, q) || samePart(a, b, p, q) })
		})
	}
	if !found || rest(states(x), states(y)) || rest(states(y), states(x)) {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
}

// manner has words for how well something works.
var manner = english.Stems("fine well properly perfectly reliably smoothly")

// without compares "my tea with milk" with "my tea without milk".
func without(a, b frame.Frame) Relation {
	x, y := a.Outline.Parts, b.Outline.Parts
	if len(x) < 2 || len(y) < 2 || a.Negated || b.Negated || !samePart(a, b, x[0], y[0]) {
		return Relation{}
	}
	found, common := false, false
	for _, p := range x[1:] {
		for _, q := range y[1:] {
			same := samePart(a, b, p, q)
			found = found || same && (p.Role == "with" && q.Role == "without" ||
				p.Role == "without" && q.Role == "with")
			common = common || same && p.Role == q.Role
		}
	}
	if !found || !common && (a.Outline.Verb != b.Outline.Verb || len(x)+len(y) > 4) {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
}

// opposed reports whether two parts have words for states that exclude each other.
func opposed(p, q frame.Part) bool {
	return slices.ContainsFunc(p.Stems, func(s string) bool {
		return slices.ContainsFunc(q.Stems, func(t string) bool { return english.Opposite(s, t) })
	})
}

// personal verbs have many agents at a time for one thing: "Ulla plays the piano", "Ravi plays the piano now".
var personalVerbs = english.Stems(`
	use play speak take like love hate drive ride read watch wear eat drink know attend visit
	join learn study understand support follow need want prefer live work sleep enjoy see hear own`)

// handed compares who does something: "the club is run by Marek", "Olga runs the club now". The roles may be exchanged,
// and the first may name the doer: "the coach of the team is Ivo", "Carla coaches the team now".
func handed(a, b frame.Frame) Relation {
	x, y := doer(a, b.Outline.Verb), doer(b, a.Outline.Verb)
	if x.who == nil || y.who == nil || a.Negated || a.Ended || a.Past || b.Past ||
		a.Event && a.Cue < frame.CueChange || b.Event && b.Cue < frame.CueChange {
		return Relation{}
	}
	if b.Ended && english.SameDeed(x.verb, y.verb) &&
		samePart(a, b, frame.Part{Stems: x.what}, frame.Part{Stems: y.what}) &&
		samePart(a, b, frame.Part{Stems: x.who}, frame.Part{Stems: y.who}) && len(x.what) > 0 {
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
	}
	reports := func(verb string) bool {
		return english.StartVerbs[verb] && verb != "take" || english.EndVerbs[verb] || english.ChangeVerbs[verb]
	}
	if b.Ended || b.Negated || reports(x.verb) || reports(y.verb) {
		return Relation{}
	}
	if !english.SameDeed(x.verb, y.verb) || len(x.what) == 0 ||
		!samePart(a, b, frame.Part{Stems: x.what}, frame.Part{Stems: y.what}) ||
		samePart(a, b, frame.Part{Stems: x.who}, frame.Part{Stems: y.who}) {
		return Relation{}
	}
	office := x.office || y.office
	switch {
	case !office && (b.Cue < frame.CueNow || personalVerbs[x.verb] || !x.definite || !y.definite):
		return Relation{}
	case b.Cue >= frame.CueNow && office:
		return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
	}
	return Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
}

// deed is who does what to what.
type deed struct {
	who, what []string
	verb      string
	definite  bool // the object is one certain thing
	office    bool // in words that say that one does it for all: "is run by", "is the coach of"
}

// doer returns the deed that a clause tells. verb is the verb of the other clause, which may also be a noun here.
func doer(f frame.Frame, verb string) deed {
	out := deed{verb: f.Outline.Verb, office: f.Outline.Passive}
	for _, p := range f.Outline.Parts {
		switch {
		case p.List:
			return deed{}
		case p.Role == frame.RoleAgent && f.Outline.Verb != "", p.Role == "by" && f.Outline.Passive &&
			len(p.Kinds) == 0:
			out.who = p.Stems
			if !p.Name && !slices.ContainsFunc(p.Stems, func(t string) bool { return frame.IsSpeaker(f, t) }) {
				return deed{}
			}
		case p.Role == frame.RoleObject:
			out.what, out.definite = p.Stems, p.Definite
		case f.Outline.Verb != "":
			return deed{} // it depends on something else, too
		}
	}
	if f.Outline.Verb != "" || verb == "" || len(f.Outline.Parts) != 2 {
		return out
	}
	// "The coach of the team is Ivo", "Ivo is the coach of the team"
	for i, p := range f.Outline.Parts {
		at := slices.IndexFunc(p.Stems, func(t string) bool { return english.SameDeed(t, verb) })
		other := f.Outline.Parts[1-i]
		if at >= 0 && other.Name && !other.List && p.Definite && len(p.Stems) > 1 {
			return deed{who: other.Stems, what: slices.Delete(slices.Clone(p.Stems), at, at+1), verb: verb,
				definite: true, office: true}
		}
	}
	return deed{}
}
