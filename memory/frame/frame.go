package frame

import (
	"slices"
	"strings"
)

// Best returns the most certain relation between the statements of two texts, and whether the earlier text also says
// other things.
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

// Terms returns the words that another statement may share with this one: topics and values, without the speaker.
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
	return slices.ContainsFunc(f.owner, func(t string) bool { return isPerson(f, t) && t != teamTerm }) && !f.kin
}

// Owner returns the owner of the attribute that the statement is about, in its own words. It is empty if the statement
// does not say.
func (f Frame) Owner() string {
	var out []string
	for _, t := range f.said {
		if slices.Contains(f.owner, stemOf(strings.ToLower(t))) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}

// About returns the topic of a statement without its values: "use for CI". It is empty if there is only the speaker.
func (f Frame) About() string {
	var out []string
	for _, t := range f.said {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}
