package frame

import (
	"slices"
	"strings"
)

// Best returns the surest relation between the statements of two texts, and whether the earlier text says
// other things too.
func Best(earlier, later []Frame) (best Relation, more bool) {
	for _, x := range earlier {
		for _, y := range later {
			if r := Compare(x, y); r.Certainty > best.Certainty ||
				r.Certainty == best.Certainty && best.Change == Restates {
				best = r
			}
		}
	}
	return best, len(earlier) > 1
}

// Terms are the words by which a statement can meet another: topics and values, without who speaks.
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

// OfSpeaker reports whether the statement is about who says it.
func (f Frame) OfSpeaker() bool {
	return slices.ContainsFunc(f.owner, func(t string) bool { return isPerson(f, t) && t != teamTerm }) && !f.kin
}

// Owner returns whose attribute the statement is about, in its own words; empty when it does not say.
func (f Frame) Owner() string {
	var out []string
	for _, t := range f.said {
		if slices.Contains(f.owner, stemOf(strings.ToLower(t))) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}

// About returns the words of a statement that say what it is about, without what it gives: "use for CI".
// Empty when there are none besides who speaks.
func (f Frame) About() string {
	var out []string
	for _, t := range f.said {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}
