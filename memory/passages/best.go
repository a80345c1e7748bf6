package passages

import (
	"math"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
)

// Best returns the passage of a long text that best matches the wanted words, without surrounding white space. wanted
// contains prefixes of words in lower case. A word weighs more if fewer passages contain it, so the subject of the
// whole text weighs little. Of equal passages, the first is returned. Best reports false if the text is one passage or
// contains none of the words.
func Best(text string, wanted []string) (Span, bool) {
	if len(wanted) == 0 {
		return Span{}, false
	}
	spans := Split(text)
	if len(spans) < 2 {
		return Span{}, false
	}
	has := make([][]bool, len(spans))
	in := make([]int, len(wanted)) // passages that have the word
	for i, s := range spans {
		has[i] = find(text[s.Start:s.End], wanted)
		for w, found := range has[i] {
			if found {
				in[w]++
			}
		}
	}
	best, most := -1, 0.0
	for i := range spans {
		score := 0.0
		for w, found := range has[i] {
			if found {
				score += math.Log(1 + float64(len(spans))/float64(in[w]))
			}
		}
		if score > most {
			best, most = i, score
		}
	}
	if best < 0 {
		return Span{}, false
	}
	return trim(text, spans[best]), true
}

// find reports for each prefix whether a word of the text has it.
func find(text string, wanted []string) []bool {
	out := make([]bool, len(wanted))
	between := func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) }
	for word := range strings.FieldsFuncSeq(text, between) {
		word = normalize.Lower(word)
		for i, w := range wanted {
			out[i] = out[i] || strings.HasPrefix(word, w)
		}
	}
	return out
}

// trim removes white space at both ends.
func trim(text string, s Span) Span {
	inner := strings.TrimLeftFunc(text[s.Start:s.End], unicode.IsSpace)
	s.Start = s.End - len(inner)
	s.End = s.Start + len(strings.TrimRightFunc(inner, unicode.IsSpace))
	return s
}
