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
	some    bool // both have "a" thing that is the same: there may be two of them
}

// liken aligns two clauses by their parts. The order of the parts does not matter, and the words of a part may be joined
// by a preposition or not: "the meeting with the bank" and "the bank meeting" are the same.
func liken(a, b Frame) likeness {
	var out likeness
	x, y := a.outline, b.outline
	if len(x.parts) == 0 || len(y.parts) == 0 || !sameAct(a, b) {
		return out
	}
	if x.verb != "" && x.verb == y.verb && !lightVerbs[x.verb] {
		out.fixed++
	}
	if endVerbs[x.verb] || endVerbs[y.verb] || opposites[x.verb] != "" || opposites[y.verb] != "" {
		return out // the verb is the value
	}
	usedX, usedY := make([]bool, len(x.parts)), make([]bool, len(y.parts))
	pair := func(same func(p, q part) bool) {
		for i, p := range x.parts {
			for j, q := range y.parts {
				if !usedX[i] && !usedY[j] && (p.role == q.role || subjects(p, q)) && same(p, q) {
					usedX[i], usedY[j] = true, true
					out.some = out.some || p.one && q.one
					if p.role != roleAgent || !a.bareName {
						out.fixed += len(p.content(a))
					}
				}
			}
		}
	}
	pair(func(p, q part) bool { return samePart(a, b, p, q) })
	pair(func(p, q part) bool { return len(p.kinds)+len(q.kinds) == 0 && shorter(p, q) })
	differing, extra := 0, 0
	for i, p := range x.parts {
		if usedX[i] {
			continue
		}
		j := slices.IndexFunc(y.parts, func(q part) bool { return p.role == q.role })
		if j < 0 || usedY[j] {
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
	out.one = differing == 1 && extra == 0
	out.several = differing > 1
	return out
}

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
	same := func(s, t string) bool { return samePerson(a, b, s, t) || sameTerm(s, t) }
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
		return k != KindDate && k != KindTime && k != KindDuration
	})
}

// parallel compares two clauses that differ in one phrase: "I keep my passport in the desk", "I keep my passport in the
// safe now". The phrase is the value, whatever its kind.
func parallel(a, b Frame) Relation {
	l := liken(a, b)
	if !l.one || l.fixed == 0 || l.some && l.a.role != roleObject || l.a.role == roleAgent || l.a.list || l.b.list || a.negated || b.negated ||
		a.ended || b.ended || a.sentiment != 0 || b.sentiment != 0 {
		return Relation{}
	}
	switch {
	case subset(l.a.stems, l.b.stems) || subset(l.b.stems, l.a.stems):
		return Relation{} // the same, with more or less detail
	case subjects(part{role: l.a.role}, part{role: roleAgent}) && a.outline.passive:
		return Relation{} // different things
	}
	out := Relation{Certainty: Doubt, Change: Updates, Why: WhyRestated}
	switch {
	case b.cue < cueNow && l.a.name != l.b.name:
		return Relation{}
	case b.cue < cueNow:
	case manyObjects(a, l):
		out.Certainty, out.Why = Likely, WhyCue
	default:
		out.Certainty, out.Why = Sure, WhyCue
	}
	return out
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
			return len(p.stems) > 0 && p.stems[0] != "" && !lightVerbs[p.stems[0]] &&
				!slices.ContainsFunc(other, func(q part) bool { return opposed(p, q) || samePart(a, b, p, q) })
		})
	}
	if !found || rest(states(x), states(y)) || rest(states(y), states(x)) {
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
	if x.who == nil || y.who == nil || a.negated || b.negated || a.ended || b.ended || a.past || b.past ||
		a.event && a.cue < cueChange || b.event && b.cue < cueChange {
		return Relation{}
	}
	if startVerbs[x.verb] || startVerbs[y.verb] || endVerbs[x.verb] || endVerbs[y.verb] || changeVerbs[x.verb] ||
		changeVerbs[y.verb] {
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

// sameDeed reports whether two words are forms of one verb, or a verb and the noun for who does it: "clean", "cleaner".
func sameDeed(v, w string) bool {
	if v == w {
		return v != ""
	}
	if len(v) > len(w) {
		v, w = w, v
	}
	return len(v) > 3 && strings.HasPrefix(w, v) && len(w)-len(v) <= 2
}
