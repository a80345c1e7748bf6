package change

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// Best returns the most certain relation between the statements of two texts, and whether the earlier text also has
// other statements.
func Best(earlier, later []frame.Frame) (best Relation, more bool) {
	for _, x := range earlier {
		for _, y := range later {
			if r := Compare(x, y); r.Certainty > best.Certainty ||
				r.Certainty == best.Certainty && best.Change == Restates {
				best = r
			}
		}
	}
	if best.Certainty < Likely && slices.ContainsFunc(earlier, func(f frame.Frame) bool {
		return succeeded(f,
			later)
	}) {
		best = Relation{Certainty: Sure, Change: Updates, Why: WhyNamed}
	}
	return best, len(earlier) > 1
}

// succeeded reports whether one of the later statements ends what the earlier one names, and another gives a new name
// for the same: "Mr. Olsen retired, the night guard is Mrs. Brandt".
func succeeded(f frame.Frame, later []frame.Frame) bool {
	if len(f.Values) != 1 || f.Values[0].Kind != frame.KindName || len(f.Topic) == 0 || f.Negated || f.Ended {
		return false
	}
	ended := slices.ContainsFunc(later, func(g frame.Frame) bool {
		words := strings.Fields(f.Values[0].Key)
		return g.Ended && !g.Negated && len(g.Values) == 0 && english.Subset(words, g.Subject) &&
			english.Subset(g.Subject, words)
	})
	return ended && slices.ContainsFunc(later, func(g frame.Frame) bool {
		return len(g.Values) == 1 && g.Values[0].Kind == frame.KindName && !g.Values[0].Same(f.Values[0]) && !g.Ended &&
			!g.Negated && slices.ContainsFunc(g.Topic, func(t string) bool { return !frame.IsPerson(g, t) }) &&
			covered(g, f)
	})
}
