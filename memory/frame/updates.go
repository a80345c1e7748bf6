package frame

import (
	"slices"
	"strings"
	"unicode"
)

// updateWords are verbs by which people say that an amount, a time or a plan is another than it was.
var updateWords = []string{"increased", "decreased", "raised", "lowered", "reduced", "extended", "shortened", "expanded",
	"adjusted", "changed", "updated", "revised", "moved", "rescheduled", "postponed", "delayed", "upgraded", "switched"}

var updateStems = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range updateWords {
		out[stemOf(w)] = true
	}
	return out
}()

// Updates reports whether a text has a word by which people say that something is another than it was.
func (t *Text) Updates() bool {
	for stem := range updateStems {
		if t.vocabulary.stems[stem] {
			return true
		}
	}
	return false
}

// asksValue reports whether a question asks for a value that holds now, such as an amount, a time or a place: it begins
// with a question word, and asks for nothing past, for no advice and for nothing of the assistant.
func asksValue(question string) bool {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) })
	return len(words) > 0 && valueQuestions[words[0]] &&
		!slices.ContainsFunc(words, func(w string) bool { return otherQuestions[w] })
}

var (
	valueQuestions = map[string]bool{"how": true, "what": true, "when": true, "where": true, "which": true, "who": true}
	otherQuestions = map[string]bool{"did": true, "was": true, "were": true, "had": true, "should": true, "would": true,
		"could": true, "might": true, "you": true, "your": true}
)
