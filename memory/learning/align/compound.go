package align

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/learning/trace"
)

// flows cuts out the whole result of an earlier step that a value contains in all attempts, also if it was always the
// same: the step was there to find it. The result must be a name that no other source has and that is not in the
// arguments of its step.
func (l *learner) flows(known []Known, texts []string) []piece {
	whole := []piece{{texts: texts}}
	if slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] }) {
		return whole
	}
	for _, name := range slices.Sorted(maps.Keys(known[0])) {
		value := known[0][name]
		at := wordIn(texts[0], value)
		if sourceOf(name) != inSteps || partOf(name) != "" || l.echoed[name] || len(value) < minWithin || at < 0 ||
			!strings.ContainsAny(value, "/._-0123456789") || strings.ContainsAny(value, " \n") {
			continue
		}
		if slices.ContainsFunc(known, func(k Known) bool { return k[name] != value || k.elsewhere(value) }) {
			continue
		}
		fixed := around(texts[0][:at], piece{texts: slices.Repeat([]string{value}, len(texts)), from: name},
			texts[0][at+len(value):], len(texts))
		return slices.DeleteFunc(fixed, func(p piece) bool { return p.texts[0] == "" })
	}
	return whole
}

// elsewhere reports whether a source other than a step has the value.
func (k Known) elsewhere(value string) bool {
	for name, v := range k {
		if v == value && sourceOf(name) != inSteps {
			return true
		}
	}
	return false
}

// echoes notes the results of a step that its arguments already contain.
func (l *learner) echoes(step int, s trace.Step) {
	for at, text := range s.Results {
		for _, arg := range s.Args {
			if wordIn(arg.Text, text) >= 0 {
				l.echoed[strings.TrimSuffix(fmt.Sprintf("step.%d.%s", step, at), ".")] = true
			}
		}
	}
}

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
			if all = at >= 0 && len(value) >= minWithin && len(tokens(value)) > 1 && !strings.Contains(value, "\n") &&
				(sourceOf(name) == inSteps && partOf(name) == "" || !strings.Contains(value, " ")); !all {
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
