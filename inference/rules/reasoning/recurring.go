package reasoning

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

// words returns the words of a text in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// recurring returns up to three words of five letters or more that occur in the most events: in at least three, and in
// at least a third of the events with a text. A word counts once for each event.
func recurring(span []ledger.Event) []finding {
	in := map[string][]int{}
	var order []string
	speaking := 0
	for i, e := range span {
		text := views.Text(e)
		if text == "" || e.Kind == ledger.KindAgentReflected {
			continue
		}
		speaking++
		for _, word := range words(text) {
			if len(word) < 5 || common[word] || strings.IndexFunc(word, unicode.IsDigit) >= 0 {
				continue
			}
			if in[word] == nil {
				order = append(order, word)
			}
			if places := in[word]; len(places) == 0 || places[len(places)-1] != i {
				in[word] = append(places, i)
			}
		}
	}
	order = slices.DeleteFunc(order, func(w string) bool { return len(in[w]) < max(recursAtLeast, (speaking+2)/3) })
	slices.SortStableFunc(order, func(a, b string) int { return len(in[b]) - len(in[a]) })
	order = order[:min(len(order), 3)]
	if len(order) == 0 {
		return nil
	}
	var places []int
	for _, word := range order {
		places = append(places, in[word][max(0, len(in[word])-shown):]...)
	}
	slices.Sort(places)
	text := fmt.Sprintf("Recurring words in %d events: %s.", speaking, strings.Join(order, ", "))
	return []finding{{text, 0.2, slices.Compact(places)}}
}

// common are words that recur in any text.
var common = func() map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(`about above after again against because before being below between could doing
		during every further having itself other ourselves should their theirs themselves there these thing things those
		through under until where which while would yours yourself agent event found happened nothing result right
		something still tells today turn`) {
		out[word] = true
	}
	return out
}()

// last reports the last event, if there is no other finding.
func last(span []ledger.Event) []finding {
	for i, e := range slices.Backward(span) {
		if said := quote(e); said != "" {
			text := fmt.Sprintf("Nothing notable in %d events. The last, by %s: %s", len(span), e.Agent, said)
			return []finding{{text, 0, []int{i}}}
		}
	}
	kinds := []string{}
	for _, e := range span {
		if !slices.Contains(kinds, e.Kind) {
			kinds = append(kinds, e.Kind)
		}
	}
	text, _ := normalize.CutChars(strings.Join(kinds, ", "), maxQuote)
	return []finding{{fmt.Sprintf("%d events without text: %s.", len(span), text), 0, []int{len(span) - 1}}}
}
