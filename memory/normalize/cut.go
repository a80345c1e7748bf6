package normalize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CutMark marks the end of a text that was cut. Without its space, it marks the start of a text whose beginning was
// removed.
const CutMark = " […]"

// CutChars cuts a text to a number of characters, including the mark at its end. It cuts at the end of a word if one is
// near, and reports whether it cut.
func CutChars(text string, chars int) (string, bool) {
	if utf8.RuneCountInString(text) <= chars {
		return text, false
	}
	return AtWord(text, len(FirstChars(text, max(0, chars-utf8.RuneCountInString(CutMark))))) + CutMark, true
}

// MarkCut returns text[start:end] with a mark on each side where more than white space is missing.
func MarkCut(text string, start, end int) string {
	out := text[start:end]
	if strings.TrimSpace(text[:start]) != "" {
		out = strings.TrimSpace(CutMark) + " " + out
	}
	if strings.TrimSpace(text[end:]) != "" {
		out += CutMark
	}
	return out
}

// AtWord returns text[:end], or a shorter prefix if white space is near its end.
func AtWord(text string, end int) string {
	const near = 40 // bytes
	if end == len(text) || end == 0 {
		return text[:end]
	}
	if at := strings.LastIndexFunc(text[:end], unicode.IsSpace); at > 0 && end-at <= near {
		end = at
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace)
}
