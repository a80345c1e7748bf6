package align

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// compounds cuts out the longest known value of several words that all texts have. Such a value is a symbol that the
// error offers, or the result of an earlier step. If it were divided into words, those that did not vary in the first
// occurrences would be constants. The pieces before and after it have no binding yet.
func compounds(known []Known, texts []string) []piece {
	whole := []piece{{texts: texts}}
	if len(known) == 0 || !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] }) {
		return whole
	}
	names := slices.SortedFunc(maps.Keys(known[0]), func(a, b string) int {
		return cmp.Or(len(known[0][b])-len(known[0][a]), rank(a)-rank(b), strings.Compare(a, b))
	})
	for _, name := range names {
		if source := sourceOf(name); source != inOutput && source != inSteps {
			continue
		}
		before, values, after := make([]string, len(texts)), make([]string, len(texts)), make([]string, len(texts))
		all, varies := true, false
		for i, text := range texts {
			value := known[i][name]
			at := wordIn(text, value)
			if all = at >= 0 && len(value) >= minWithin && len(tokens(value)) > 1 && !strings.ContainsAny(value, " \n"); !all {
				break
			}
			before[i], values[i], after[i] = text[:at], value, text[at+len(value):]
			varies = varies || value != values[0]
		}
		if !all || !varies {
			continue
		}
		return slices.Concat(compounds(known, before), []piece{{texts: values, from: name}}, compounds(known, after))
	}
	return whole
}
