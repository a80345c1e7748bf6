package frame

import (
	"cmp"
	"slices"
	"strings"
)

// Certainty is the certainty that a later statement changes an earlier one.
type Certainty int

// Degrees of certainty.
const (
	Unrelated Certainty = iota // both may hold, or they are about different things
	Doubt                      // they answer the same question with different values
	Likely                     // the later one probably replaces the earlier one
	Sure                       // the later one replaces the earlier one
)

// Change is the effect of a later statement on an earlier one.
type Change string

// Changes.
const (
	Restates Change = "restates" // the same statement again
	Updates  Change = "updates"  // another value
	Ends     Change = "ends"     // the earlier statement is no longer true, and none replaces it
)

// Relation is the result of Compare. The zero Relation means that both statements may hold.
type Relation struct {
	Certainty Certainty
	Change    Change
	Why       string // the rule, never content
}

// Reasons of relations.
const (
	WhyNamed     = "names the value that it replaces"
	WhyEnded     = "says that it holds no longer"
	WhyOpposite  = "says the opposite of the same"
	WhySingle    = "another value of what has one at a time"
	WhyCue       = "another value, in words that say it changed"
	WhyRestated  = "another value in the same words"
	WhyAmbiguous = "another value; not certain that it is of the same thing"
)

// Compare returns how a later statement changes an earlier one. It does not judge whether they are true. The caller
// must consider the speakers and the times.
func Compare(earlier, later Frame) Relation {
	a, b := earlier, later
	if a.ifClause || b.ifClause || a.past || a.event && a.cue < cueChange || a.ended && len(a.values) == 0 {
		return Relation{}
	}
	m := match(a, b)
	if m.conditions {
		return Relation{}
	}
	if m.strangers {
		return handed(a, b)
	}
	if otherModifier(a, b) {
		return Relation{}
	}
	r := compare(a, b, m)
	if opposite := without(a, b); opposite.Certainty > Unrelated {
		return opposite
	}
	if r.Certainty < Likely {
		r = surest(r, handed(a, b), recovered(a, b), moved(a, b), equated(a, b), replaced(a, b),
			parallel(a, b))
	}
	if a.hedged || b.hedged || r.Why == WhyCue && otherSense(a, b) {
		r.Certainty = min(r.Certainty, Doubt)
	}
	return r
}

// surest returns the first of the most certain relations.
func surest(of ...Relation) Relation {
	return slices.MaxFunc(of, func(x, y Relation) int { return cmp.Compare(x.Certainty, y.Certainty) })
}

func compare(a, b Frame, m alignment) Relation {
	if r := named(a, b, m); r.Certainty > Unrelated {
		return r
	}
	if r := ended(a, b, m); r.Certainty > Unrelated {
		return r
	}
	if r := flipped(a, b, m); r.Certainty > Unrelated {
		return r
	}
	if b.past || b.event && b.cue < cueChange || b.negated || b.ended && len(b.values) == 0 {
		return Relation{}
	}
	return substituted(a, b, m)
}

// alignment describes how well the topics of two statements match.
type alignment struct {
	shared     []string // terms of both, subjects included
	partner    []string // for each shared term, the term that it matches in the other statement
	restA      []string // terms that only one has
	restB      []string
	strangers  bool // about different subjects
	conditions bool // under different conditions
	hearsay    bool // one speaker speaks about themselves, the other about them
}

// softTerms has words that occur with many attributes and so do not distinguish attributes.
var softTerms = stems(`team service system project app application tool time date value day make place thing company
	people person use user setup per event order set length default main primary official daily everyday everybody
	each client usual regular normal`)

func match(a, b Frame) alignment {
	var m alignment
	usedA, usedB := make([]bool, len(a.topic)), make([]bool, len(b.topic))
	pair := func(same func(x, y string) bool) {
		for i, x := range a.topic {
			for j, y := range b.topic {
				if !usedA[i] && !usedB[j] && same(x, y) {
					usedA[i], usedB[j] = true, true
					m.shared = append(m.shared, x)
					m.partner = append(m.partner, y)
				}
			}
		}
	}
	pair(func(x, y string) bool { return x == y && !isPerson(a, x) || samePerson(a, b, x, y) })
	pair(sameTerm)
	m.restA, m.restB = unmatched(a, usedA, b), unmatched(b, usedB, a)
	m.strangers = strangers(a, b)
	m.restA, m.restB = withoutTeam(m.restA), withoutTeam(m.restB)
	m.conditions = len(a.condition) > 0 && len(b.condition) > 0 && !slices.Equal(a.condition, b.condition) ||
		len(b.condition) > 0 && len(a.condition) == 0 && !about(b, a) ||
		len(a.condition) > 0 && len(b.condition) == 0 && b.cue < cueChange && !about(a, b) &&
			(b.cue < cueNow || slices.ContainsFunc(a.condition, func(t string) bool { return environments[t] }))
	m.hearsay = a.speaker != "" && slices.Contains(a.topic, a.speaker) && b.speaker != a.speaker && b.speaker != ""
	return m
}

// about reports whether the other statement f has the words of a condition, so that they are not a condition but say
// what both statements are about: "For maps we use …", "we use … for maps".
func about(limited, f Frame) bool {
	return !limited.owned && !slices.ContainsFunc(limited.condition, func(t string) bool {
		return !slices.Contains(f.topic, t) || environments[t]
	})
}

// unmatched returns the terms of f that the other frame lacks. A term is not missing if the other frame has one with
// the same meaning.
func unmatched(f Frame, used []bool, other Frame) []string {
	var out []string
	for i, t := range f.topic {
		if used[i] || softTerms[t] || strings.HasPrefix(t, "@") && t != SelfTerm && t != TeamTerm {
			continue
		}
		if conceptsMeet(t, other) && !slices.Contains(f.subject, t) {
			continue
		}
		out = append(out, t)
	}
	return withoutValues(out, other) // "from Go 1.24" and "written in Go 1.24"
}

// conceptsMeet reports whether a term and a topic share a concept that counts in comparisons.
func conceptsMeet(t string, f Frame) bool {
	return slices.ContainsFunc(f.topic, func(o string) bool { return sameTerm(t, o) })
}

func withoutTeam(terms []string) []string {
	return slices.DeleteFunc(terms, func(t string) bool { return t == TeamTerm })
}

func isPerson(f Frame, t string) bool {
	return t == SelfTerm || t == TeamTerm || t == f.speaker && t != ""
}

// strangers reports whether the statements are about different people or things: each has an owner that the other
// lacks.
func strangers(a, b Frame) bool {
	if a.unresolved || b.unresolved {
		return true
	}
	missing := func(f, g Frame) bool {
		return slices.ContainsFunc(f.owner, func(t string) bool { return !has(f, g, t) })
	}
	if missing(a, b) && missing(b, a) {
		return true
	}
	// One is about a person's attribute, the other names no owner.
	alone := func(f, g Frame) bool { return personal(f) && len(g.owner) == 0 && g.actor == "" && missing(f, g) }
	if alone(a, b) || alone(b, a) && b.cue < cueChange {
		return true
	}
	// Someone other than the owner changed it.
	return b.actor != "" && b.actor != TeamTerm && b.actor != "they" && len(b.owner) == 0 && personal(a) &&
		!slices.ContainsFunc(a.owner, func(t string) bool { return samePerson(a, b, t, b.actor) })
}

// has reports whether g mentions an owner of f.
func has(f, g Frame, t string) bool {
	if slices.ContainsFunc(g.owner, func(o string) bool { return samePerson(f, g, t, o) }) {
		return true
	}
	if isPerson(f, t) {
		return g.actor != "" && samePerson(f, g, t, g.actor)
	}
	return slices.Contains(g.topic, t) || g.actor == t ||
		inValues(g, t)
}

// personal reports whether the statement is about one person.
func personal(f Frame) bool {
	return slices.ContainsFunc(f.owner, func(t string) bool { return isPerson(f, t) && t != TeamTerm }) ||
		f.bareName || f.kin
}

// inValues reports whether a term is part of a statement's values, or of the values that it says were replaced.
func inValues(f Frame, t string) bool {
	return slices.ContainsFunc(slices.Concat(f.values, f.old), func(v Value) bool {
		return slices.Contains(strings.Fields(v.key), t)
	})
}

func withoutValues(terms []string, f Frame) []string {
	return slices.DeleteFunc(terms, func(t string) bool {
		return inValues(f, t)
	})
}

// samePerson reports whether two terms probably mean the same people: "I" and the name of the speaker, or "we" and a
// member of the group.
func samePerson(a, b Frame, x, y string) bool {
	personX := x == SelfTerm || x == TeamTerm || x == a.speaker && x != ""
	personY := y == SelfTerm || y == TeamTerm || y == b.speaker && y != ""
	if !personX || !personY {
		return x == y
	}
	if x == TeamTerm || y == TeamTerm {
		return true
	}
	return x == y || x == SelfTerm && a.speaker == "" && y == SelfTerm
}

// sameTerm reports whether two words mean the same: they have the same stem or belong to one concept.
func sameTerm(x, y string) bool {
	if x == y || len(x) > 4 && len(y) > 4 && sameDeed(x, y) {
		return true
	}
	for _, c := range concepts[x] {
		if slices.Contains(concepts[y], c) && (!kinds[c] || x == generalWord[c] || y == generalWord[c]) {
			return true
		}
	}
	return false
}

// attributes returns the shared terms that do not only name the subject.
func (m alignment) attributes(a, b Frame) []string {
	return slices.DeleteFunc(slices.Clone(m.shared), func(t string) bool {
		return t == SelfTerm || t == TeamTerm || t == a.speaker || t == b.speaker || softTerms[t] ||
			slices.Contains(a.owner, t) && slices.Contains(b.owner, t)
	})
}

// named compares with a statement that names the value that it replaces: "from Lyon to Oslo", "not Max".
func named(a, b Frame, m alignment) Relation {
	if len(b.old) == 0 || a.sentiment != 0 && b.sentiment == 0 && !b.ended && !isFavorite(b) {
		return Relation{}
	}
	hit := false
	for _, o := range b.old {
		for _, v := range a.values {
			hit = hit || o.Same(v) || v.Kind == KindName && o.Kind == KindName && partOf(o.key, v.key)
		}
		if !hit && (len(a.values) == 0 || a.values[0].Kind == KindOften) {
			hit = subset(strings.Fields(o.key), a.topic)
		}
	}
	within := !hit && sharesSubject(m) && len(b.values) > 0 && slices.ContainsFunc(b.old, func(o Value) bool {
		return slices.ContainsFunc(a.outline.parts, func(p part) bool {
			words := strings.Fields(o.key)
			return (p.role != roleAgent || len(m.attributes(a, b)) > 0) && subset(words, p.stems) &&
				subset(p.stems, words)
		})
	})
	if within && !exclusive(a, b) && a.sentiment == 0 {
		// "I put money aside for a car", "I'm saving up for a boat instead of a car"
		return Relation{Certainty: Likely, Change: Updates, Why: WhyNamed}
	}
	if !hit || exclusive(a, b) {
		return Relation{}
	}
	// The statements must have something in common other than the value, unless the later one says that the thing
	// was disposed of and another one acquired: "we sold the Honda and bought a Kia".
	disposed := endVerbs[b.mainVerb] && len(b.values) > 0 && a.OfSpeaker() &&
		(b.actor == TeamTerm || b.actor == a.speaker) && allNames(b.old)
	if len(m.shared) == 0 && !(a.holder && b.holder) && !disposed && (len(m.restA) > 0 && len(m.restB) > 0) {
		return Relation{}
	}
	out := Relation{Certainty: Sure, Change: Updates, Why: WhyNamed}
	if len(b.values) == 0 {
		out.Change = Ends
	}
	switch {
	case m.hearsay && b.cue < cueChange:
		out.Certainty = Likely
	case len(m.restA) == 1 && len(m.restB) == 1 && b.cue < cueChange && personal(a) && personal(b) &&
		allNames(a.values):
		out.Certainty = Likely // "I browse with Firefox instead of Edge"
	case len(m.restA) > 0 && len(m.restB) > 0 && b.cue == cueNow && len(m.shared) > 0 && len(b.values) > 0 &&
		(len(m.attributes(a, b)) > 0 || slices.ContainsFunc(b.old, func(o Value) bool {
			return slices.ContainsFunc(a.values, func(v Value) bool { return v.key == o.key })
		})) && // not "St Martin's" and "Martin"
		!slices.ContainsFunc(a.values, func(v Value) bool { return v.Kind == KindNumber || v.Kind == KindTerm }):
		out.Certainty = Likely // "instead of Freshsales"
	case len(m.restA) > 0 && len(m.restB) > 0 && b.cue < cueChange, len(m.shared) == 0 && b.cue < cueChange:
		out.Certainty = Doubt
	case len(m.shared) == 0, len(m.restA) > 1 && len(m.restB) > 1:
		out.Certainty = Likely
	}
	return out
}

// partOf reports whether short is the first word of the name long: "the Honda" is the Honda Fit.
func partOf(short, long string) bool {
	words := strings.Fields(long)
	return len(words) > 1 && words[0] == short
}

// exclusive reports whether the statements are about attributes that exclude each other.
func exclusive(a, b Frame) bool {
	birth := func(f Frame) bool {
		return slices.ContainsFunc(f.topic, func(t string) bool {
			return slices.Contains(concepts[t], conceptBirth) && t != birthday
		})
	}
	return birth(a) != birth(b)
}

var birthday = stemOf("birthday")

// ended handles "no longer", "cancelled", "gave up".
func ended(a, b Frame, m alignment) Relation {
	if !b.ended && !(b.past && !b.copular) {
		return Relation{}
	}
	if a.ended || a.negated {
		return Relation{}
	}
	values := true // what ended is what the earlier statement gives
	for _, v := range b.values {
		values = values && slices.ContainsFunc(a.values, v.Same)
	}
	thing := !personal(a) && slices.ContainsFunc(m.shared, func(t string) bool { return !isPerson(a, t) })
	aligned := (len(m.attributes(a, b)) > 0 || thing) && (len(m.restA) == 0 || len(m.restB) == 0)
	sameValue := len(b.values) > 0 && values && len(a.values) > 0
	switch {
	case sameValue && (aligned || len(m.shared) > 0 && len(m.restA)+len(m.restB) <= 1):
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
	case sameValue && len(m.shared) > 0 && len(m.restB) == 0 && b.sentiment == 0 && allNames(b.values):
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded} // "I don't have the Steam Deck any more"
	case len(b.values) == 0 && len(b.old) == 0 && !b.past && !b.negated && len(a.values) == 1 && len(m.restA) == 0 &&
		subset(strings.Fields(a.values[0].key), b.subject) && len(m.shared) > 0 && len(m.restB) == 0:
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded} // "is under warranty", "the warranty ran out"
	case len(b.values) == 0 && len(b.old) == 0 && aligned && len(m.restB) == 0 && !b.past:
		if len(m.restA) > 0 {
			return Relation{Certainty: Likely, Change: Ends, Why: WhyEnded}
		}
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
	}
	return Relation{}
}

func allNames(values []Value) bool {
	return !slices.ContainsFunc(values, func(v Value) bool { return v.Kind != KindName })
}

// flipped compares opposites: love and hate, enabled and disabled, is and is not.
func flipped(a, b Frame, m alignment) Relation {
	sure := Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
	same := len(a.values) > 0 && len(a.values) == len(b.values)
	for _, v := range a.values {
		same = same && slices.ContainsFunc(b.values, func(o Value) bool { return o.key == v.key })
	}
	aligned := len(m.restA) == 0 && len(m.restB) == 0
	if a.sentiment*b.sentiment < 0 && same && sharesSubject(m) {
		return sure
	}
	if a.sentiment*b.sentiment < 0 && len(a.values) > 0 && len(b.values) > 0 && sharesSubject(m) &&
		a.values[0].Same(b.values[0]) {
		return sure
	}
	if a.negated != b.negated && same && aligned && len(m.shared) > 0 && !a.ended && !b.ended {
		return sure
	}
	onlyVerb := func(rest []string, f Frame) bool { return len(rest) == 0 || len(rest) == 1 && rest[0] == f.mainVerb }
	if len(a.values) == 1 && len(b.values) == 1 && sharesSubject(m) &&
		(aligned || b.cue >= cueNow && onlyVerb(m.restA, a) && onlyVerb(m.restB, b)) &&
		opposite(a.values[0].key, b.values[0].key) && !a.negated && !b.negated {
		return sure
	}
	return Relation{}
}

func sharesSubject(m alignment) bool { return len(m.shared) > 0 }
