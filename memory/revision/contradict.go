package revision

import (
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/normalize"
)

// minContradictionOverlap is the least number of words that two texts about the same subject share.
const minContradictionOverlap = 2

// Contradiction is the result of DetectContradiction.
type Contradiction struct {
	Risk             bool        // the texts may contradict each other
	Overlap          int         // distinct words in both
	NegationMismatch bool        // one text negates, the other does not
	Antonyms         [][2]string // registered pairs in opposition, such as {"enabled", "disabled"}
}

// DetectContradiction compares two texts by their words (document 002 "Contradiction Detection"): there is a
// risk if they share at least two words and only one of them has a negation, or if they have opposing antonyms. The
// order of the texts does not matter.
//
// Words are lower-cased and at least two characters long; apostrophes are removed, so that "don't" is the negation
// "dont" however it is typed. Common words count for the overlap, as in the document: a false alarm costs a review, a
// missed contradiction costs a memory.
//
// Antonyms are the document's pairs with their inflections (allows, denied). They oppose if one text has one side of a
// pair and the other text has the other side, unless both texts have both.
//
// The rule only knows English words. It finds candidates for a review and does not decide.
func DetectContradiction(a, b string) Contradiction {
	wordsA, wordsB := contradictionWords(a), contradictionWords(b)
	var c Contradiction
	for word := range wordsA {
		if wordsB[word] {
			c.Overlap++
		}
	}
	c.NegationMismatch = negates(wordsA) != negates(wordsB)
	for _, pair := range antonyms {
		plusA, minusA := intersects(wordsA, pair.plus), intersects(wordsA, pair.minus)
		plusB, minusB := intersects(wordsB, pair.plus), intersects(wordsB, pair.minus)
		opposed := plusA && minusB || minusA && plusB
		if opposed && !(plusA && minusA && plusB && minusB) {
			c.Antonyms = append(c.Antonyms, pair.name)
		}
	}
	c.Risk = c.Overlap >= minContradictionOverlap && (c.NegationMismatch || len(c.Antonyms) > 0)
	return c
}

// antonyms has document 002's pairs.
var antonyms = []struct {
	name        [2]string
	plus, minus map[string]bool
}{
	{
		[2]string{"enabled", "disabled"},
		normalize.Set("enabled enable enables enabling"),
		normalize.Set("disabled disable disables disabling"),
	},
	{
		[2]string{"allow", "deny"},
		normalize.Set("allow allows allowed allowing"),
		normalize.Set("deny denies denied denying"),
	},
	{
		[2]string{"accept", "reject"},
		normalize.Set("accept accepts accepted accepting"),
		normalize.Set("reject rejects rejected rejecting"),
	},
	{[2]string{"always", "never"}, normalize.Set("always"), normalize.Set("never")},
	{[2]string{"on", "off"}, normalize.Set("on"), normalize.Set("off")},
	{[2]string{"true", "false"}, normalize.Set("true"), normalize.Set("false")},
}

// contradictionWords returns the distinct words of text that take part in the comparison.
func contradictionWords(text string) map[string]bool {
	out := make(map[string]bool)
	for _, word := range normalize.Words(text, "'") {
		word = strings.ReplaceAll(word, "'", "")
		if utf8.RuneCountInString(word) >= 2 {
			out[word] = true
		}
	}
	return out
}

// negates reports whether a text with these words negates something.
func negates(text map[string]bool) bool { return intersects(text, normalize.Negations) }

// intersects reports whether the two sets share a word.
func intersects(text, list map[string]bool) bool {
	for word := range list {
		if text[word] {
			return true
		}
	}
	return false
}
