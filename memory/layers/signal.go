package layers

import (
	"math"
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"

	"github.com/mneme/mneme/memory/normalize"
)

// wantedText is a text of the request that a signal may match.
type wantedText struct {
	signalWords
	weight float64
}

func (s Situation) wanted() []wantedText {
	var out []wantedText
	for _, w := range []struct {
		text   string
		weight float64
	}{{s.ErrorSignature, 1}, {s.Intent, 1}, {s.Query, queryMatch}} {
		if words := signalWordsOf(w.text); len(words.stems) > 0 {
			out = append(out, wantedText{words, w.weight})
		}
	}
	return out
}

func bestMatch(signal string, wanted []wantedText) float64 {
	words := signalWordsOf(signal)
	best := 0.0
	for _, w := range wanted {
		best = max(best, w.weight*words.match(w.signalWords))
	}
	return best
}

// SignalMatch returns how well a signal, such as an error signature or an intent, matches the request, in [0,1]. It is
// 1 if both are equal, or if the request contains the signal and the signal has two or more words or is a code.
// Otherwise it is the cosine of their words. Numbers and addresses are ignored because they differ between occurrences
// of an error. Case, inflection and the way in which words are joined are ignored too.
func SignalMatch(signal, wanted string) float64 {
	return signalWordsOf(signal).match(signalWordsOf(wanted))
}

// signalWords is a text in the form in which signals are compared.
type signalWords struct {
	stems []string
	code  bool   // a single word that can only be an identifier or an error code
	plain string // all words in one string
}

func signalWordsOf(text string) signalWords {
	var out signalWords
	var joined strings.Builder
	for _, word := range normalize.Words(text, "'") {
		if normalize.SignalFillers[word] || isAddress(word) {
			continue
		}
		joined.WriteString(word)
		out.stems = append(out.stems, english.Stem(word, false))
		if len(out.stems) == maxSignalWords {
			break
		}
	}
	out.plain = joined.String()
	out.code = len(out.stems) == 1 && isCode(strings.TrimSpace(text))
	return out
}

// isAddress reports whether a word is a number or a hexadecimal address.
func isAddress(word string) bool {
	digits, hexadecimal := strings.CutPrefix(word, "0x")
	if hexadecimal {
		return true
	}
	return strings.Trim(digits, "0123456789") == "" ||
		len(digits) >= 8 && strings.Trim(digits, "0123456789abcdef") == "" && strings.ContainsAny(digits, "0123456789")
}

// isCode reports whether a word has letters and digits, or capitals after its first letter: E0308,
// ECONNREFUSED, OOMKilled.
func isCode(word string) bool {
	if len(word) < 3 {
		return false
	}
	letters, digits := strings.ContainsFunc(word, isASCIILetter), strings.ContainsAny(word, "0123456789")
	return letters && digits || strings.ContainsFunc(word[1:], func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

func isASCIILetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func (s signalWords) match(wanted signalWords) float64 {
	if len(s.stems) == 0 || len(wanted.stems) == 0 {
		return 0
	}
	if s.plain == wanted.plain || slices.Equal(s.stems, wanted.stems) ||
		(len(s.stems) > 1 || s.code) && containsRun(wanted.stems, s.stems) {
		return 1
	}
	has := map[string]bool{}
	for _, stem := range wanted.stems {
		has[stem] = true
	}
	own := map[string]bool{}
	for _, stem := range s.stems {
		own[stem] = true
	}
	both := 0
	for stem := range own {
		if has[stem] {
			both++
		}
	}
	return float64(both) / math.Sqrt(float64(len(own))*float64(len(has)))
}

// containsRun reports whether the text contains the words in sequence.
func containsRun(text, words []string) bool {
	for i := 0; i+len(words) <= len(text); i++ {
		if slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}
