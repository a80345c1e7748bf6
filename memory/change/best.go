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
	if best.Certainty < Likely {
		best = surest(best, Together(earlier, later))
	}
	return best, len(earlier) > 1
}

// Together compares an earlier text with all statements of a later one: one of them tells what became of what the
// earlier text gives, and another gives a new value.
func Together(earlier, later []frame.Frame) Relation {
	var best Relation
	for _, f := range earlier {
		if succeeded(f, later) {
			return Relation{Certainty: Sure, Change: Updates, Why: WhyNamed}
		}
		best = surest(best, contrasted(f, later), rejected(f, later))
	}
	return best
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
			!g.Negated && slices.ContainsFunc(g.Topic, func(t string) bool { return !frame.IsSpeaker(g, t) }) &&
			(covered(g, f) || g.Holder && g.Cue >= frame.CueNow && servesSame(f, g))
	})
}

// servesSame reports whether what a person does in g concerns an owner of f: "Dr. Whitfield looks after me now".
func servesSame(f, g frame.Frame) bool {
	return slices.ContainsFunc(f.Owners, func(t string) bool { return slices.Contains(g.Topic, t) })
}

// contrasted reports whether one of the later statements tells what became of the value or the doer of the earlier one,
// and another gives a new one: "Trello is gone, all our tickets live in Linear now", "Ines is on leave, Tobias leads the
// migration".
func contrasted(f frame.Frame, later []frame.Frame) Relation {
	if len(later) < 2 || f.Negated || f.Ended || f.Past {
		return Relation{}
	}
	var best Relation
	about := func(words []string) bool {
		return len(words) > 0 && slices.ContainsFunc(later, func(h frame.Frame) bool {
			told := h.Ended || h.Past || h.Copular || h.Cue >= frame.CueChange
			return told && !h.Hedged && english.Subset(words, h.Subject) && english.Subset(h.Subject, words)
		})
	}
	for _, v := range f.Values {
		if v.Kind != frame.KindName || !about(strings.Fields(v.Key)) {
			continue
		}
		for _, g := range later {
			if len(g.Values) == 0 || g.Ended || g.Negated || g.Values[0].Kind != frame.KindName || g.Values[0].Same(v) {
				continue
			}
			g.Old, g.Cue, g.Event = append(slices.Clone(g.Old), v), frame.CueChange, false
			best = surest(best, Compare(f, g))
		}
	}
	if f.BareName && about(f.Subject) {
		for _, g := range later {
			if g.BareName && !slices.Equal(g.Subject, f.Subject) {
				g.Cue = max(g.Cue, frame.CueNow)
				best = surest(best, handed(f, g))
			}
		}
	}
	return best
}
