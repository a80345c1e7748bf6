package change

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// rejected reports whether a later text tells of the value of the earlier statement as over, and gives another for the
// same: "the lawyers did not like MPL 2.0, and the code is under EUPL now".
func rejected(f frame.Frame, later []frame.Frame) Relation {
	if len(later) == 0 || f.Negated || f.Ended || f.Past || f.Hedged || f.IfClause || f.Sentiment != 0 {
		return Relation{}
	}
	named := func(v frame.Value) bool {
		return v.Key != "" && (frame.SingleKind(v.Kind) || later[0].TextHas(strings.Fields(v.Key)))
	}
	if !slices.ContainsFunc(f.Values, named) {
		return Relation{}
	}
	told := later[0].Telling()
	if told == nil || slices.ContainsFunc(later, func(g frame.Frame) bool {
		return g.Hedged || g.Undecided || g.IfClause || match(f, g).conditions
	}) || otherPerson(f, later, told) {
		return Relation{}
	}
	for _, v := range f.Values {
		words := strings.Fields(v.Key)
		over := len(words) > 0 && english.Subset(words, told.Over)
		if frame.SingleKind(v.Kind) {
			over = slices.ContainsFunc(told.OldTyped, v.Same)
		}
		was := v.Kind == frame.KindName && len(words) > 0 && english.Subset(words, slices.Concat(told.Over, told.Was))
		if !over && !was || !renewed(f, v, told) {
			continue
		}
		specific := over && (v.Kind == frame.KindName || len(words) > 1)
		if about, attribute := sameMatter(f, v, later, told); about && (attribute || specific) {
			return Relation{Certainty: Likely, Change: Updates, Why: WhyNamed}
		}
	}
	return Relation{}
}

// otherPerson reports whether one of the statements has a relative that the other does not have: "my dog", "my
// brother's dog".
func otherPerson(f frame.Frame, later []frame.Frame, told *frame.Telling) bool {
	relatives := func(g frame.Frame) []string {
		return slices.DeleteFunc(slices.Concat(g.Owners, g.Subject), func(t string) bool { return !english.People[t] })
	}
	mine := relatives(f)
	if slices.ContainsFunc(mine, func(t string) bool { return !told.Has(t) }) {
		return true
	}
	return slices.ContainsFunc(later, func(g frame.Frame) bool {
		return slices.ContainsFunc(relatives(g), func(t string) bool {
			return !slices.Contains(f.Topic, t) && !frame.InValues(f, t)
		})
	})
}

// renewed reports whether a text gives another value of the kind of v.
func renewed(f frame.Frame, v frame.Value, told *frame.Telling) bool {
	if frame.SingleKind(v.Kind) {
		return slices.ContainsFunc(told.Typed, func(w frame.Value) bool { return w.Kind == v.Kind && !w.Same(v) })
	}
	fresh := func(t string) bool {
		return !slices.Contains(f.Topic, t) && !frame.InValues(f, t) && !slices.Contains(f.Owners, t) && t != f.Speaker
	}
	if v.Kind == frame.KindName {
		return slices.ContainsFunc(told.Names, fresh)
	}
	return slices.ContainsFunc(told.Terms, fresh)
}

// sameMatter reports whether a later text is about the owner of the earlier statement f or has another attribute of it
// than the value v, and whether it has such an attribute.
func sameMatter(f frame.Frame, v frame.Value, later []frame.Frame, told *frame.Telling) (about, attribute bool) {
	owned, named := len(f.Owners) == 0, false
	for _, o := range f.Owners {
		if !frame.IsSpeaker(f, o) {
			named = named || told.Has(o)
			continue
		}
		owned = owned || slices.ContainsFunc(later, func(g frame.Frame) bool {
			return !frame.Strangers(f, g) && len(g.Owners) > 0
		}) || o == english.TeamTerm && !slices.ContainsFunc(later, func(g frame.Frame) bool { return g.BareName })
	}
	for _, t := range f.Topic {
		if frame.IsSpeaker(f, t) || strings.HasPrefix(t, "@") || english.SoftTerms[t] || english.LightVerbs[t] ||
			slices.Contains(strings.Fields(v.Key), t) || slices.Contains(f.Owners, t) {
			continue
		}
		attribute = attribute || told.Has(t) || slices.ContainsFunc(told.Terms, func(o string) bool {
			return english.SameTerm(o, t)
		})
	}
	return named || owned && attribute, attribute
}
