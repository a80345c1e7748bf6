package frame

import (
	"slices"
	"strings"
)

// likeness describes how two clauses with outlines match.
type likeness struct {
	a, b    part // the parts in which they differ, if they differ in one
	one     bool // they differ in one part of the same role, and in nothing else
	several bool // they differ in two or more parts of the same roles
	fixed   int  // content words that both have, and the verb; without the name of who does it
	act     bool // they have the same verb, or verbs that say nothing of their own
	moved   bool // a part has another role: "coffee with milk", "milk in the coffee"
	head    bool // the parts in which they differ have the same noun
	some    bool // both have "a" thing that is the same: there may be two of them
}

// liken aligns two clauses by their parts. The order of the parts does not matter, and the words of a part may be
// joined by a preposition or not: "the meeting with the bank" and "the bank meeting" are the same.
func liken(a, b Frame) likeness {
	var out likeness
	x, y := a.outline, b.outline
	out.act = sameAct(a, b)
	if len(x.parts) == 0 || len(y.parts) == 0 || x.able || y.able ||
		endVerbs[x.verb] || endVerbs[y.verb] || opposite(x.verb, y.verb) || stateOf(x) || stateOf(y) {
		return out // the verb is the value
	}
	if x.verb != "" && x.verb == y.verb && !lightVerbs[x.verb] {
		out.fixed++
	}
	usedX, usedY := make([]bool, len(x.parts)), make([]bool, len(y.parts))
	pair := func(same func(p, q part) bool) {
		for i, p := range x.parts {
			for j, q := range y.parts {
				if usedX[i] || usedY[j] || !same(p, q) {
					continue
				}
				usedX[i], usedY[j] = true, true
				out.some = out.some || p.one && q.one
				out.moved = out.moved || p.role != q.role && !subjects(p, q)
				if p.role != roleAgent || !a.bareName {
					out.fixed += len(p.content(a))
				}
			}
		}
	}
	alike := func(p, q part) bool { return p.role == q.role || subjects(p, q) }
	pair(func(p, q part) bool { return alike(p, q) && samePart(a, b, p, q) })
	pair(func(p, q part) bool { return alike(p, q) && len(p.kinds)+len(q.kinds) == 0 && shorter(p, q) })
	pair(func(p, q part) bool { return p.role != roleAgent && q.role != roleAgent && samePart(a, b, p, q) })
	differing, extra := 0, 0
	for i, p := range x.parts {
		if usedX[i] {
			continue
		}
		j := -1
		for k, q := range y.parts {
			if !usedY[k] && (p.role == q.role || out.moved && p.role != roleAgent && q.role != roleAgent &&
				p.head == q.head) {
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
		out.a, out.b = p, y.parts[j]
	}
	for j, q := range y.parts {
		if !usedY[j] && !onlyWhen(q) {
			extra++
		}
	}
	out.one = differing == 1 && extra == 0 && (!out.moved || out.a.head == out.b.head)
	out.several = differing > 1
	out.head = out.one && out.a.head == out.b.head
	if out.one {
		for _, t := range out.a.stems {
			if slices.Contains(out.b.stems, t) {
				out.fixed++
			}
		}
	}
	return out
}

// stateOf reports whether a passive verb is a state that has an opposite: "is enabled".
func stateOf(o outline) bool { return o.passive && opposites[o.verb] != "" }

// subjects reports whether both parts are subjects: of "be" and of a passive verb.
func subjects(p, q part) bool {
	subject := func(p part) bool { return p.role == roleAgent || p.role == roleObject }
	return subject(p) && subject(q) && p.role != q.role
}

// sameAct reports whether two clauses have the same verb, or verbs that say nothing of their own.
func sameAct(a, b Frame) bool {
	v, w := a.outline.verb, b.outline.verb
	if v == w || v != "" && w != "" && sameTerm(v, w) {
		return true
	}
	plain := func(v string) bool { return v == "" || lightVerbs[v] }
	return plain(v) && plain(w) || plain(v) && changeVerbs[w]
}

// samePart reports whether two parts have the same words in any order.
func samePart(a, b Frame, p, q part) bool {
	same := func(s, t string) bool { return samePerson(a, b, s, t) || sameDeed(s, t) }
	within := func(p, q part) bool {
		return !slices.ContainsFunc(p.stems, func(s string) bool {
			return !slices.ContainsFunc(q.stems, func(t string) bool { return same(s, t) })
		})
	}
	return within(p, q) && within(q, p)
}

// shorter reports whether the later part q names the thing of p with fewer words: "the report for the city council",
// "the council report".
func shorter(p, q part) bool {
	return q.definite && q.head == p.head && len(q.stems) < len(p.stems) && subset(q.stems, p.stems)
}

// onlyWhen reports whether a part is only a date, a time or a duration.
func onlyWhen(p part) bool {
	return len(p.kinds) == len(p.stems) && !slices.ContainsFunc(p.kinds, func(k Kind) bool {
		return k != KindDate && k != KindTime && k != KindDuration && k != KindOften
	})
}

// parallel compares two clauses that differ in one phrase: "I keep my passport in the desk", "I keep my passport in the
// safe now". The phrase is the value, whatever its kind.
func parallel(a, b Frame) Relation {
	l := liken(a, b)
	if !l.one || l.fixed == 0 || l.some && l.a.role != roleObject || l.a.role == roleAgent || l.a.list || l.b.list ||
		len(b.old) > 0 || exclusive(a, b) || a.negated || b.negated || a.ended || b.ended ||
		a.sentiment != 0 || b.sentiment != 0 {
		return Relation{}
	}
	switch {
	case subset(l.a.stems, l.b.stems) || subset(l.b.stems, l.a.stems):
		return Relation{} // the same, with more or less detail
	case subjects(part{role: l.a.role}, part{role: roleAgent}) && a.outline.passive:
		return Relation{} // different things
	}
	out := Relation{Certainty: Doubt, Change: Updates, Why: WhyRestated}
	if !l.act && !(l.head && l.fixed > 1) && !(b.cue >= cueNow && lightVerbs[b.outline.verb] && l.a.name && l.b.name &&
		prepositions[l.a.role]) {
		return Relation{}
	}
	switch {
	case b.cue < cueNow && l.a.name != l.b.name:
		return Relation{}
	case b.cue < cueNow:
	case manyObjects(a, l), !l.act:
		out.Certainty, out.Why = Likely, WhyCue
	default:
		out.Certainty, out.Why = Sure, WhyCue
	}
	return out
}

// equated compares "my usual breakfast is porridge" with "I have pancakes for breakfast": what one clause says that a
// thing is, the other gives as an object for it, and the other way round.
func equated(a, b Frame) Relation {
	is, has, ok := equation(a, b)
	if !ok {
		is, has, ok = equation(b, a)
	}
	if !ok || a.negated || b.negated || a.ended || b.ended || len(b.old) > 0 || a.sentiment != 0 || b.sentiment != 0 ||
		is.list || has.list || is.name != has.name || subset(is.stems, has.stems) || subset(has.stems, is.stems) {
		return Relation{}
	}
	if b.cue >= cueNow {
		return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
	}
	return Relation{Certainty: Doubt, Change: Updates, Why: WhyRestated}
}

// equation returns what the thing of f is, and what the clause of g gives for it.
func equation(f, g Frame) (is, has part, ok bool) {
	x, y := f.outline, g.outline
	if x.verb != "" || len(x.parts) != 2 || x.parts[0].role != roleAgent || x.parts[1].role != roleIs ||
		len(y.parts) != 3 || y.passive || !lightVerbs[y.verb] || y.parts[1].role != roleObject ||
		(y.parts[2].role != "for" && y.parts[2].role != "as") {
		return is, has, false
	}
	thing := part{stems: slices.DeleteFunc(slices.Clone(x.parts[0].stems), func(t string) bool {
		return softTerms[t] || slices.Contains(y.parts[0].stems, t)
	})}
	return x.parts[1], y.parts[1], len(thing.stems) > 0 && samePart(f, g, thing, y.parts[2])
}

// replaced reads "the grey in my bedroom was replaced with lavender" after "the walls in my bedroom are grey".
func replaced(a, b Frame) Relation {
	x, y := a.outline, b.outline
	if !y.passive || !replacers[y.verb] || len(y.parts) == 0 || len(x.parts) < 2 || a.negated || b.negated {
		return Relation{}
	}
	gone, old := y.parts[0].stems, x.parts[len(x.parts)-1]
	if !subset(old.stems, gone) || len(gone) == len(old.stems) {
		return Relation{}
	}
	if slices.ContainsFunc(gone, func(t string) bool {
		return !slices.ContainsFunc(x.parts, func(p part) bool { return slices.Contains(p.stems, t) })
	}) {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyNamed}
}

// otherModifier reports whether the clauses are about two things with one noun, "holiday requests" and "travel
// requests", although the words before it have similar meanings. Two words for an attribute with one value, "phone
// number" and "mobile number", are no difference.
func otherModifier(a, b Frame) bool {
	subject := func(o outline) (part, bool) {
		if len(o.parts) == 0 || o.parts[0].role != roleAgent && o.parts[0].role != roleObject {
			return part{}, false
		}
		return o.parts[0], true
	}
	p, ok := subject(a.outline)
	q, found := subject(b.outline)
	if !ok || !found || p.head != q.head || isPerson(a, p.head) || p.name || q.name {
		return false
	}
	only := func(p, q part) (out []string) {
		for _, s := range p.stems {
			if !softTerms[s] && !slices.ContainsFunc(q.stems, func(t string) bool { return sameDeed(s, t) }) {
				out = append(out, s)
			}
		}
		return out
	}
	one, other := only(p, q), only(q, p)
	if len(one) != 1 || len(other) != 1 || !sameTerm(one[0], other[0]) {
		return false
	}
	return !slices.ContainsFunc(concepts[one[0]], func(c string) bool {
		return slices.Contains(concepts[other[0]], c) && (singleConcepts[c] || usualConcepts[c])
	})
}

// otherSense reports whether a verb has two senses: "plays the viola", "plays handball".
func otherSense(a, b Frame) bool {
	l := liken(a, b)
	return l.one && l.a.role == roleObject && l.a.definite != l.b.definite && !l.a.one && !l.b.one && !l.a.name &&
		!l.b.name && !l.head && len(l.a.kinds)+len(l.b.kinds) == 0 && l.fixed < 2
}

// moved compares with a clause that says what something was moved to: "the records are kept in a spreadsheet", "the
// records were migrated to the CRM". What was moved is in the earlier clause, which has one other part: the old value.
func moved(a, b Frame) Relation {
	x, y := a.outline, b.outline
	if !changeVerbs[y.verb] || exclusive(a, b) || len(b.old) > 0 || b.negated || b.ended || a.negated || a.ended ||
		x.able ||
		len(x.parts) == 0 || changeVerbs[x.verb] {
		return Relation{}
	}
	var to *part
	used := make([]bool, len(x.parts))
	for _, p := range y.parts {
		p := p
		if (p.role == "to" || p.role == "into" || p.role == "onto") && to == nil {
			to = &p
			continue
		}
		i := slices.IndexFunc(x.parts, func(q part) bool {
			return samePart(a, b, q, p) || len(p.kinds)+len(q.kinds) == 0 && shorter(q, p)
		})
		switch {
		case i >= 0:
			used[i] = true
		case onlyWhen(p):
		case p.role == roleAgent && !y.passive && len(p.content(b)) == 0: // "we moved it"
		default:
			return Relation{}
		}
	}
	if to == nil || to.list {
		return Relation{}
	}
	var old *part
	matched := false
	for i, p := range x.parts {
		p := p
		switch {
		case used[i]:
			matched = matched || len(p.content(a)) > 0
		case p.role == roleAgent && len(p.content(a)) == 0:
		case old != nil || p.list || p.role == roleAgent:
			return Relation{}
		default:
			old = &p
		}
	}
	if !matched || old == nil || subset(old.stems, to.stems) || subset(to.stems, old.stems) ||
		!slices.Equal(old.kinds, to.kinds) || old.name != to.name && old.role == roleObject {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
}

// manyObjects reports whether people do what the verb says with several things at a time: "I speak French".
func manyObjects(a Frame, l likeness) bool {
	return l.a.role == roleObject && slices.ContainsFunc(a.topic, func(t string) bool {
		return slices.ContainsFunc(concepts[t], func(c string) bool { return pluralConcepts[c] })
	})
}

// recovered compares states that exclude each other: "the lift is broken", "the lift works again".
func recovered(a, b Frame) Relation {
	x, y := a.outline, b.outline
	if a.negated || b.negated || len(x.parts) == 0 || len(y.parts) == 0 || len(x.parts) > 2 || len(y.parts) > 2 ||
		x.parts[0].role != roleAgent && x.parts[0].role != roleObject || !samePart(a, b, x.parts[0], y.parts[0]) {
		return Relation{}
	}
	// With the verb as a part, one of them has the opposite of one of the other's, and the rest are the same.
	states := func(o outline) []part { return append(slices.Clone(o.parts[1:]), part{stems: []string{o.verb}}) }
	found := false
	for _, p := range states(x) {
		found = found || slices.ContainsFunc(states(y), func(q part) bool { return opposed(p, q) })
	}
	rest := func(of, other []part) bool {
		return slices.ContainsFunc(of, func(p part) bool {
			return len(p.stems) > 0 && p.stems[0] != "" && p.role != "for" && !lightVerbs[p.stems[0]] && !manner[p.stems[0]] &&
				!slices.ContainsFunc(other, func(q part) bool { return opposed(p, q) || samePart(a, b, p, q) })
		})
	}
	if !found || rest(states(x), states(y)) || rest(states(y), states(x)) {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
}

// manner has words for how well something works.
var manner = stems("fine well properly perfectly reliably smoothly")

// without compares "my tea with milk" with "my tea without milk".
func without(a, b Frame) Relation {
	x, y := a.outline.parts, b.outline.parts
	if len(x) < 2 || len(y) < 2 || a.negated || b.negated || !samePart(a, b, x[0], y[0]) {
		return Relation{}
	}
	found, common := false, false
	for _, p := range x[1:] {
		for _, q := range y[1:] {
			same := samePart(a, b, p, q)
			found = found || same && (p.role == "with" && q.role == "without" ||
				p.role == "without" && q.role == "with")
			common = common || same && p.role == q.role
		}
	}
	if !found || !common && (a.outline.verb != b.outline.verb || len(x)+len(y) > 4) {
		return Relation{}
	}
	return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
}

// opposed reports whether two parts have words for states that exclude each other.
func opposed(p, q part) bool {
	return slices.ContainsFunc(p.stems, func(s string) bool {
		return slices.ContainsFunc(q.stems, func(t string) bool { return opposite(s, t) })
	})
}

// personal verbs have many agents at a time for one thing: "Ulla plays the piano", "Ravi plays the piano now".
var personalVerbs = stems(`use play speak take like love hate drive ride read watch wear eat drink know attend visit
	join learn study understand support follow need want prefer live work sleep enjoy see hear own`)

// handed compares who does something: "the club is run by Marek", "Olga runs the club now". The roles may be exchanged,
// and the first may name the doer: "the coach of the team is Ivo", "Carla coaches the team now".
func handed(a, b Frame) Relation {
	x, y := doer(a, b.outline.verb), doer(b, a.outline.verb)
	if x.who == nil || y.who == nil || a.negated || a.ended || a.past || b.past ||
		a.event && a.cue < cueChange || b.event && b.cue < cueChange {
		return Relation{}
	}
	if b.ended && sameDeed(x.verb, y.verb) && samePart(a, b, part{stems: x.what}, part{stems: y.what}) &&
		samePart(a, b, part{stems: x.who}, part{stems: y.who}) && len(x.what) > 0 {
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
	}
	reports := func(verb string) bool {
		return startVerbs[verb] && verb != "take" || endVerbs[verb] || changeVerbs[verb]
	}
	if b.ended || b.negated || reports(x.verb) || reports(y.verb) {
		return Relation{}
	}
	if !sameDeed(x.verb, y.verb) || len(x.what) == 0 || !samePart(a, b, part{stems: x.what}, part{stems: y.what}) ||
		samePart(a, b, part{stems: x.who}, part{stems: y.who}) {
		return Relation{}
	}
	office := x.office || y.office
	switch {
	case !office && (b.cue < cueNow || personalVerbs[x.verb] || !x.definite || !y.definite):
		return Relation{}
	case b.cue >= cueNow && office:
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
func doer(f Frame, verb string) deed {
	out := deed{verb: f.outline.verb, office: f.outline.passive}
	for _, p := range f.outline.parts {
		switch {
		case p.list:
			return deed{}
		case p.role == roleAgent && f.outline.verb != "", p.role == "by" && f.outline.passive && len(p.kinds) == 0:
			out.who = p.stems
			if !p.name && !slices.ContainsFunc(p.stems, func(t string) bool { return isPerson(f, t) }) {
				return deed{}
			}
		case p.role == roleObject:
			out.what, out.definite = p.stems, p.definite
		case f.outline.verb != "":
			return deed{} // it depends on something else, too
		}
	}
	if f.outline.verb != "" || verb == "" || len(f.outline.parts) != 2 {
		return out
	}
	// "The coach of the team is Ivo", "Ivo is the coach of the team"
	for i, p := range f.outline.parts {
		at := slices.IndexFunc(p.stems, func(t string) bool { return sameDeed(t, verb) })
		other := f.outline.parts[1-i]
		if at >= 0 && other.name && !other.list && p.definite && len(p.stems) > 1 {
			return deed{who: other.stems, what: slices.Delete(slices.Clone(p.stems), at, at+1), verb: verb,
				definite: true, office: true}
		}
	}
	return deed{}
}

// derived has the endings that make a noun of the stem of a verb.
var derived = words("er or e ist al ion ing ment ant")

// sameDeed reports whether two words are forms of one verb, or a verb and the noun for who does it: "clean", "cleaner".
func sameDeed(v, w string) bool {
	if v == w {
		return v != ""
	}
	if len(v) > len(w) {
		v, w = w, v
	}
	return len(v) > 3 && strings.HasPrefix(w, v) && derived[w[len(v):]]
}
