package frame

import (
	"slices"
	"strings"
)

// Best returns the most certain relation between the statements of two texts, and whether the earlier text also has
// other statements.
func Best(earlier, later []Frame) (best Relation, more bool) {
	for _, x := range earlier {
		for _, y := range later {
			if r := Compare(x, y); r.Certainty > best.Certainty ||
				r.Certainty == best.Certainty && best.Change == Restates {
				best = r
			}
		}
	}
	if best.Certainty < Likely && slices.ContainsFunc(earlier, func(f Frame) bool { return succeeded(f, later) }) {
		best = Relation{Certainty: Sure, Change: Updates, Why: WhyNamed}
	}
	return best, len(earlier) > 1
}

// succeeded reports whether one of the later statements ends what the earlier one names, and another gives a new name
// for the same: "Mr. Olsen retired, the night guard is Mrs. Brandt".
func succeeded(f Frame, later []Frame) bool {
	if len(f.values) != 1 || f.values[0].Kind != KindName || len(f.topic) == 0 || f.negated || f.ended {
		return false
	}
	ended := slices.ContainsFunc(later, func(g Frame) bool {
		words := strings.Fields(f.values[0].key)
		return g.ended && !g.negated && len(g.values) == 0 && subset(words, g.subject) && subset(g.subject, words)
	})
	return ended && slices.ContainsFunc(later, func(g Frame) bool {
		return len(g.values) == 1 && g.values[0].Kind == KindName && !g.values[0].Same(f.values[0]) && !g.ended &&
			!g.negated && slices.ContainsFunc(g.topic, func(t string) bool { return !isPerson(g, t) }) && covered(g, f)
	})
}

// Terms returns the terms of the topic and of the values, without the speaker. Related statements share some of them.
func (f Frame) Terms() []string {
	var out []string
	for _, t := range f.topic {
		if isPerson(f, t) || softTerms[t] {
			continue
		}
		out = append(out, t)
		out = append(out, concepts[t]...)
	}
	for _, v := range slices.Concat(f.values, f.old) {
		out = append(out, strings.Fields(v.key)...)
	}
	return out
}

// OfSpeaker reports whether the statement is about its speaker.
func (f Frame) OfSpeaker() bool {
	return slices.ContainsFunc(f.owner, func(t string) bool { return isPerson(f, t) && t != TeamTerm }) && !f.kin
}

// Owner returns the owner of the statement's attribute, in the words of the statement, or "" if it names none.
func (f Frame) Owner() string {
	var out []string
	for _, t := range f.said {
		if slices.Contains(f.owner, stemOf(strings.ToLower(t))) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}

// About returns the topic of a statement without its values: "use for CI". It returns "" if the topic is only the
// speaker.
func (f Frame) About() string {
	var out []string
	for _, t := range f.said {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}
