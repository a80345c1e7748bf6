package frame

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// entityHeads has nouns that may be attributes of people, but also end the names of things: "the import job".
var entityHeads = english.Stems(`job page lake store site gateway printer bot scheduler worker queue node module package
	component`)

// findOwner finds the owner of the statement's attribute.
func (r *reader) findOwner(actor int, agent bool) {
	add := func(t string) {
		if t != "" && !english.SoftTerms[t] && !slices.Contains(r.Owners, t) {
			r.Owners = append(r.Owners, t)
		}
	}
	possessor := false
	start := 0 // of the noun phrase
	for i, t := range r.ts {
		if r.taken[i] || english.Articles[t.Low] || english.Prepositions[t.Low] || english.IsAux(t) || i == r.verb {
			start = i + 1
		}
		switch {
		case t.Poss && !r.taken[i]:
			possessor = true
			for k := start; k <= i; k++ {
				if w := r.ts[k]; english.Possessives[w.Low] {
					r.Kin = r.Kin || i < r.verb
				} else if w.Low == "user" {
					add(english.SelfTerm)
					r.Kin = r.Kin || i+1 < r.verb && r.ownsPerson(i)
				} else if english.IsContent(w) {
					add(w.Stem)
				}
			}
			start = i + 1
		case t.Is("my", "our") && !r.ownsPerson(i):
			possessor = true
			if t.Low == "our" {
				add(english.TeamTerm)
			} else {
				add(cmp.Or(r.Speaker, english.SelfTerm))
			}
		case t.Low == "of" && i+1 < len(r.ts) && english.HasDigit(r.ts[i+1].Low): // "a weight of 68 kg"
		case t.Low == "of" && i+1 < len(r.ts):
			for k := i + 1; k < len(r.ts) && (english.IsContent(r.ts[k]) && !r.taken[k] ||
				english.Articles[r.ts[k].Low] ||
				english.Possessives[r.ts[k].Low]); k++ {
				if english.IsContent(r.ts[k]) {
					possessor = true
					add(r.ts[k].Stem)
				}
				if r.ts[k].End != 0 {
					break
				}
			}
		}
	}
	if agent || r.verb >= len(r.ts) || actor == 0 || actor > len(r.ts) || r.taken[0] {
		return
	}
	switch {
	case slices.ContainsFunc(r.ts[1:actor], func(t english.Token) bool { return t.Low == "i" }):
		add(cmp.Or(r.Speaker, english.SelfTerm)) // "the series I'm watching", "every Tuesday I meet friends"
	case slices.ContainsFunc(r.ts[1:actor], func(t english.Token) bool { return t.Low == "we" }):
		add(english.TeamTerm)
	case r.isSelf(0, actor):
		for _, t := range r.Subject {
			add(t)
		}
	case r.BareName:
		for _, t := range r.ts[:actor] {
			add(t.Stem)
		}
	case possessor:
	case english.Possessives[r.ts[0].Low] && r.ownsPerson(0):
		r.Kin = true
		for _, t := range r.ts[:actor] {
			if english.IsContent(t) {
				add(t.Stem)
			}
		}
	default:
		head := r.ts[actor-1]
		if english.IsBe(r.main()) && !properEnd(head) && !english.SystemHeads[head.Stem] ||
			english.Concepts[head.Stem] != nil && !entityHeads[head.Stem] && !english.SystemHeads[head.Stem] {
			return
		}
		for _, t := range r.ts[:actor] {
			if english.IsContent(t) {
				add(t.Stem)
			}
		}
	}
}

// ownsPerson reports whether a person follows the possessive at i: "my brother lives …", but not "my manager is".
func (r *reader) ownsPerson(i int) bool {
	if i+1 >= len(r.ts) || !english.People[r.ts[i+1].Stem] {
		return false
	}
	if r.ts[i+1].Poss {
		return true
	}
	main := r.main()
	if i+2 <= r.verb && english.IsBe(main) && english.HasConcept(r.ts[i+1].Stem,
		english.Words("MANAGER PARTNER DOCTOR CUSTOMER")) &&
		len(r.Values) > 0 && r.Values[0].Kind == KindName {
		return false // the person is the value
	}
	return i == 0 && i+2 <= r.verb || i > r.verb &&
		!english.HasConcept(r.ts[i+1].Stem, english.Words("MANAGER PARTNER DOCTOR CUSTOMER"))
}

// properEnd reports whether a noun phrase ends in a name.
func properEnd(t english.Token) bool { return t.Cap && english.Concepts[t.Stem] == nil }

// Strangers reports whether the statements are about different people or things: each has an owner that the other
// lacks.
func Strangers(a, b Frame) bool {
	if a.unresolved || b.unresolved {
		return true
	}
	missing := func(f, g Frame) bool {
		return slices.ContainsFunc(f.Owners, func(t string) bool { return !has(f, g, t) })
	}
	if missing(a, b) && missing(b, a) {
		return true
	}
	// One is about a person's attribute, the other names no owner.
	alone := func(f, g Frame) bool { return Personal(f) && len(g.Owners) == 0 && g.Actor == "" && missing(f, g) }
	// "My rent is 950 euros", "the rent went up to 1,020 euros"
	refersBack := b.Cue == CueChange && a.OfSpeaker() && a.Speaker == b.Speaker && b.ofKnownThing()
	if alone(a, b) && !refersBack || alone(b, a) && b.Cue < CueChange {
		return true
	}
	// Someone other than the owner changed it.
	return b.Actor != "" && b.Actor != english.TeamTerm && b.Actor != "they" && len(b.Owners) == 0 && Personal(a) &&
		!slices.ContainsFunc(a.Owners, func(t string) bool { return SamePerson(a, b, t, b.Actor) })
}

// ofKnownThing reports whether the subject of the statement is a thing that both speakers know, and nothing else
// limits it: "the rent".
func (f Frame) ofKnownThing() bool {
	p := f.Outline.Parts
	return len(p) > 0 && (p[0].Role == RoleAgent || p[0].Role == RoleObject) && p[0].Definite && !p[0].Name &&
		len(p[0].Stems) == 1
}

// has reports whether g mentions an owner of f.
func has(f, g Frame, t string) bool {
	if slices.ContainsFunc(g.Owners, func(o string) bool { return SamePerson(f, g, t, o) }) {
		return true
	}
	if IsSpeaker(f, t) {
		return g.Actor != "" && SamePerson(f, g, t, g.Actor)
	}
	return slices.Contains(g.Topic, t) || g.Actor == t ||
		InValues(g, t)
}

// Personal reports whether the statement is about one person.
func Personal(f Frame) bool {
	return slices.ContainsFunc(f.Owners, func(t string) bool { return IsSpeaker(f, t) && t != english.TeamTerm }) ||
		f.BareName || f.Kin
}

// IsSpeaker reports whether a term of a statement is its speaker: "I", "we" or the speaker's name.
func IsSpeaker(f Frame, t string) bool {
	return t == english.SelfTerm || t == english.TeamTerm || t == f.Speaker && t != ""
}

// SamePerson reports whether two terms probably mean the same people: "I" and the name of the speaker, or "we" and a
// member of the group.
func SamePerson(a, b Frame, x, y string) bool {
	if !IsSpeaker(a, x) || !IsSpeaker(b, y) {
		return x == y
	}
	if x == english.TeamTerm || y == english.TeamTerm {
		return true
	}
	return x == y || x == english.SelfTerm && a.Speaker == "" && y == english.SelfTerm
}

// InValues reports whether a term is part of a statement's values, or of the values that it says were replaced.
func InValues(f Frame, t string) bool {
	return slices.ContainsFunc(slices.Concat(f.Values, f.Old), func(v Value) bool {
		return slices.Contains(strings.Fields(v.Key), t)
	})
}
