package frame

import (
	"cmp"
	"slices"
)

// entityHeads has nouns that may be attributes of people, but also end the names of things: "the import job".
var entityHeads = stems(`job page lake store site gateway printer bot scheduler worker queue node module package
	component`)

// systemHeads has nouns that end the names of systems and of the teams that run them: "the shipping service is …".
var systemHeads = stems(`service system app application api engine portal platform detector software backend widget
	relay archive team project`)

// findOwner finds the owner of the statement's attribute.
func (r *reader) findOwner(actor int, agent bool) {
	add := func(t string) {
		if t != "" && !softTerms[t] && !slices.Contains(r.owner, t) {
			r.owner = append(r.owner, t)
		}
	}
	possessor := false
	start := 0 // of the noun phrase
	for i, t := range r.ts {
		if r.taken[i] || articles[t.low] || prepositions[t.low] || isAux(t) || i == r.verb {
			start = i + 1
		}
		switch {
		case t.poss && !r.taken[i]:
			possessor = true
			for k := start; k <= i; k++ {
				if w := r.ts[k]; possessives[w.low] {
					r.kin = r.kin || i < r.verb
				} else if w.low == "user" {
					add(SelfTerm)
					r.kin = r.kin || i+1 < r.verb && r.ownsPerson(i)
				} else if isContent(w) {
					add(w.stem)
				}
			}
			start = i + 1
		case t.is("my", "our") && !r.ownsPerson(i):
			possessor = true
			if t.low == "our" {
				add(TeamTerm)
			} else {
				add(cmp.Or(r.speaker, SelfTerm))
			}
		case t.low == "of" && i+1 < len(r.ts) && hasDigit(r.ts[i+1].low): // "a weight of 68 kg"
		case t.low == "of" && i+1 < len(r.ts):
			for k := i + 1; k < len(r.ts) && (isContent(r.ts[k]) && !r.taken[k] || articles[r.ts[k].low] ||
				possessives[r.ts[k].low]); k++ {
				if isContent(r.ts[k]) {
					possessor = true
					add(r.ts[k].stem)
				}
				if r.ts[k].end != 0 {
					break
				}
			}
		}
	}
	if agent || r.verb >= len(r.ts) || actor == 0 || actor > len(r.ts) || r.taken[0] {
		return
	}
	switch {
	case slices.ContainsFunc(r.ts[1:actor], func(t token) bool { return t.low == "i" }):
		add(cmp.Or(r.speaker, SelfTerm)) // "the series I'm watching", "every Tuesday I meet friends"
	case slices.ContainsFunc(r.ts[1:actor], func(t token) bool { return t.low == "we" }):
		add(TeamTerm)
	case r.isSelf(0, actor):
		for _, t := range r.subject {
			add(t)
		}
	case r.bareName:
		for _, t := range r.ts[:actor] {
			add(t.stem)
		}
	case possessor:
	case possessives[r.ts[0].low] && r.ownsPerson(0):
		r.kin = true
		for _, t := range r.ts[:actor] {
			if isContent(t) {
				add(t.stem)
			}
		}
	default:
		head := r.ts[actor-1]
		if isBe(r.main()) && !properEnd(head) && !systemHeads[head.stem] ||
			concepts[head.stem] != nil && !entityHeads[head.stem] && !systemHeads[head.stem] {
			return
		}
		for _, t := range r.ts[:actor] {
			if isContent(t) {
				add(t.stem)
			}
		}
	}
}

// properEnd reports whether a noun phrase ends in a name.
func properEnd(t token) bool { return t.cap && concepts[t.stem] == nil }

// people are nouns for persons that come with a possessive: "my brother".
var people = stems(`brother sister mother father mom dad son daughter wife husband partner boyfriend girlfriend fiance
	fiancee friend cousin uncle aunt boss manager colleague coworker teacher doctor neighbor neighbour roommate
	flatmate grandmother grandfather grandma grandpa niece nephew client customer landlord mentor intern child twin
	kid`)

// ownsPerson reports whether a person follows the possessive at i: "my brother lives …", but not "my manager is".
func (r *reader) ownsPerson(i int) bool {
	if i+1 >= len(r.ts) || !people[r.ts[i+1].stem] {
		return false
	}
	if r.ts[i+1].poss {
		return true
	}
	main := r.main()
	if i+2 <= r.verb && isBe(main) && hasConcept(r.ts[i+1].stem, words("MANAGER PARTNER DOCTOR CUSTOMER")) &&
		len(r.values) > 0 && r.values[0].Kind == KindName {
		return false // the person is the value
	}
	return i == 0 && i+2 <= r.verb || i > r.verb &&
		!hasConcept(r.ts[i+1].stem, words("MANAGER PARTNER DOCTOR CUSTOMER"))
}
