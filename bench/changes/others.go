package changes

import (
	"slices"
	"strings"
)

// slots fills {p} and {q} with names, {x} and {y} with services, {v} and {w} with different values.
func (g *generator) slots(texts string, values []string) map[string]string {
	out := map[string]string{}
	for _, slot := range []string{"p", "q"} {
		if strings.Contains(texts, "{"+slot+"}") {
			out[slot] = person(g.name()).name
		}
	}
	for _, slot := range []string{"x", "y"} {
		if strings.Contains(texts, "{"+slot+"}") {
			out[slot] = g.service()
		}
	}
	if len(values) > 1 {
		i, j := g.IntN(len(values)), g.IntN(len(values)-1)
		if j >= i {
			j++
		}
		out["v"], out["w"] = values[i], values[j]
	}
	return out
}

// coexist adds coexisting statements, each template at most once.
func (g *generator) coexist() {
	all := slices.Clone(g.together)
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, t := range all[:min(togetherOfTenant, len(all))] {
		values := g.slots(t.a.text+t.b.text, t.values)
		fill := func(text string) string { return render(text, me, values) }
		c := Coexisting{Kind: t.kind, AskA: fill(t.a.ask), AskB: fill(t.b.ask)}
		c.A = g.say(fill(t.a.text), g.user, g.IntN(sessions))
		c.B = g.say(fill(t.b.text), g.user, g.IntN(sessions))
		g.t.Coexisting = append(g.t.Coexisting, c)
	}
}

// distract adds unrelated statements, and questions about some of them.
func (g *generator) distract() {
	all := slices.Clone(g.distractors)
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, text := range all[:min(distractsOfTenant, len(all))] {
		values := map[string]string{"p": g.people[g.IntN(6)].name}
		s := parseSaying(text)
		at := g.say(render(s.text, me, values), g.user, g.IntN(sessions))
		if s.ask != "" && len(g.t.Known) < questionsOfTenant {
			g.t.Known = append(g.t.Known, Probe{Kind: "known", Question: render(s.ask, me, values), Answer: at})
		}
	}
}

// vague are attributes whose question another attribute may answer: a hobby may be an instrument.
var vague = map[string]bool{"hobby": true}

// unknown adds questions about something never said: an unknown attribute of a known subject, an attribute of a
// stranger, an attribute that no one has, and a foreign topic.
func (g *generator) unknown() {
	asked := map[string]bool{}
	add := func(kind, question string) {
		if !asked[question] {
			asked[question] = true
			g.t.Unknown = append(g.t.Unknown, Probe{Kind: kind, Question: question, Answer: -1})
		}
	}
	said := map[string]bool{}
	for _, p := range g.t.Pairs {
		said[p.Attribute] = true
	}
	var attributes []*attribute // attributes that some subject has
	for _, c := range g.changes {
		known := said[c.attr.name] && c.attr.subjects != "any" && !vague[c.attr.name]
		if known && !slices.Contains(attributes, c.attr) {
			attributes = append(attributes, c.attr)
		}
	}
	for range 200 {
		if len(g.t.Unknown) >= 3 {
			break
		}
		a := pick(g.Rand, attributes)
		s := pick(g.Rand, g.subjects(a))
		if !g.taken[a.name+"/"+s.key()] {
			add("other subject", render(pick(g.Rand, a.asks), s, nil))
		}
	}
	for range 3 {
		a := pick(g.Rand, attributes)
		s := subject{person: 3, name: person(g.name()).name, pronoun: "she"}
		switch a.subjects {
		case "team":
			s = subject{person: 3, name: "the " + g.team() + " team", pronoun: "it"}
		case "thing":
			s = subject{person: 3, name: g.service(), pronoun: "it"}
		}
		add("stranger", render(pick(g.Rand, a.asks), s, nil))
	}
	for len(g.t.Unknown) < questionsOfTenant*3/4 {
		add("never said", render(pick(g.Rand, g.unheard), me, map[string]string{"p": g.people[g.IntN(6)].name}))
	}
	for len(g.t.Unknown) < questionsOfTenant {
		add("foreign topic", pick(g.Rand, g.foreign))
	}
}

// subjects returns the subjects of the tenant to which an attribute applies.
func (g *generator) subjects(a *attribute) []subject {
	switch a.subjects {
	case "person":
		return append([]subject{me}, g.people...)
	case "team":
		return append([]subject{we}, g.groups...)
	default:
		return g.systems
	}
}
