package normalize

import (
	"strings"
	"unicode"
)

// Words splits text into lower-cased words: runs of letters, digits and marks, in which a joiner may
// stand between two of them. Apostrophes of any shape become the straight one first.
func Words(text, joiners string) []string {
	text = Apostrophes.Replace(Lower(text))
	fields := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M) && !strings.ContainsRune(joiners, r)
	})
	out := fields[:0]
	for _, field := range fields {
		if word := strings.Trim(field, joiners); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// Apostrophes unifies what keyboards and word processors put into don't. Backquote and acute accent
// are what is typed where a keyboard hides the apostrophe.
var Apostrophes = strings.NewReplacer(
	"\u2019",
	"'",
	"\u2018",
	"'",
	"\u02BC",
	"'",
	"\uFF07",
	"'",
	"\u201B",
	"'",
	"\u00B4",
	"'",
	"`",
	"'",
)

// Set makes a lookup table of space-separated words.
func Set(list string) map[string]bool {
	out := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		out[word] = true
	}
	return out
}

// SignalFillers say nothing of what is to be done or what went wrong. Particles do: to set up is not to set.
var SignalFillers = Set(
	"a an the this that these those of to in at for from with as and or is are was were " +
		"be been i you we my your our me us it its please",
)

// Negations are the words that turn a statement round, as contradictionWords spells them. "No
// longer", "not any more" and "can not" are covered by their first or second word. Words that negate
// by meaning only (lacks, fails, stopped) are left to the model that made the proposal.
var Negations = Set(`
	no not never none nobody nothing nowhere neither nor without cannot
	aint arent cant couldnt darent didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt
	oughtnt shant shouldnt wasnt werent wont wouldnt
`)
