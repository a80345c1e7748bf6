package normalize

import (
	"strings"
	"unicode"
)

// Words splits text into lower-cased words. A word is a run of letters, digits and marks, with single joiners allowed
// inside. All apostrophe characters are replaced by the straight one first.
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

// Apostrophes replaces all characters that are used as an apostrophe by the straight one, including backquote and acute
// accent, which some keyboards offer instead.
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

// SignalFillers are words without meaning for a task or an error. Particles are not among them: "set up" differs from
// "set".
var SignalFillers = Set(
	"a an the this that these those of to in at for from with as and or is are was were " +
		"be been i you we my your our me us it its please",
)

// Negations are words that negate a statement, in the form of Words. "No longer", "not any more" and "can not" are
// covered by one of their words. Words that negate only by meaning (lacks, fails, stopped) are left to models.
var Negations = Set(`
	no not never none nobody nothing nowhere neither nor without cannot
	aint arent cant couldnt darent didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt
	oughtnt shant shouldnt wasnt werent wont wouldnt
`)
