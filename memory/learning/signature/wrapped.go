package signature

import (
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Constants of wrapped paragraphs.
const (
	minWidth     = 50 // least width at which tools wrap their text
	wrappedWords = 4  // least number of words of a line that was broken
)

// continues matches a line that may continue a sentence, unlike one with a mark of a list or of an excerpt.
var continues = regexp.MustCompile("^[\\pL\\d'\"`(‘“]")

// unwrapped returns the lines of a text. The lines of an indented paragraph that was wrapped are one line: which word
// begins a line of it depends on the lengths of the names in it.
func unwrapped(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var paragraph []string
		flush := func() bool {
			if wrapped(paragraph) {
				paragraph = []string{strings.Join(paragraph, " ")}
			}
			for _, line := range paragraph {
				if !yield(line) {
					return false
				}
			}
			paragraph = paragraph[:0]
			return true
		}
		for line := range strings.SplitSeq(text, "\n") {
			if len(paragraph) > 0 && (indent(line) == 0 || indent(line) != indent(paragraph[0])) && !flush() {
				return
			}
			paragraph = append(paragraph, line)
		}
		flush()
	}
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// wrapped reports whether lines of the same indentation are a paragraph that was wrapped: each line but the last has no
// room for the first word of the next.
func wrapped(lines []string) bool {
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	if len(lines) < 2 || width < minWidth {
		return false
	}
	for i, next := range lines[1:] {
		words := strings.Fields(next)
		if len(words) == 0 || !continues.MatchString(words[0]) || len(strings.Fields(lines[i])) < wrappedWords ||
			utf8.RuneCountInString(lines[i])+1+utf8.RuneCountInString(words[0]) <= width || saysStrongly.MatchString(next) {
			return false
		}
	}
	return true
}
