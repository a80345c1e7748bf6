package change

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// recolored compares a state with the deed that gives another: "the walls are yellow", "we painted the walls green".
func recolored(a, b frame.Frame) Relation {
	x, y := a.Outline, b.Outline
	if x.Verb != "" || len(x.Parts) != 2 || x.Parts[1].Role != frame.RoleIs || a.Negated || b.Negated || b.Ended ||
		y.Passive || y.Verb == "" || english.Attitudes[y.Verb] || b.Undecided {
		return Relation{}
	}
	thing, state := x.Parts[0], x.Parts[1]
	for _, p := range y.Parts {
		n := len(thing.Stems)
		if p.Role != frame.RoleObject || len(p.Stems) <= n || len(p.Stems) > n+2 || len(state.Stems) == 0 ||
			!slices.Equal(p.Stems[:n], thing.Stems) {
			continue
		}
		old, now := state.Stems[len(state.Stems)-1], p.Stems[len(p.Stems)-1]
		if c := english.CategoryOfStem(old); c != "" && c == english.CategoryOfStem(now) && old != now {
			return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
		}
	}
	return Relation{}
}
