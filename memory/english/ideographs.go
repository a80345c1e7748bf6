package english

import (
	"strings"
	"unicode"
)

// apartFromIdeographs puts a space between Latin words and Chinese, Japanese or Korean text, which is written without:
// "从MySQL迁移".
func apartFromIdeographs(s string) string {
	if strings.IndexFunc(s, IsIdeograph) < 0 {
		return s
	}
	var out strings.Builder
	var before rune
	for _, r := range s {
		if unicode.IsLetter(before) && unicode.IsLetter(r) && IsIdeograph(before) != IsIdeograph(r) {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
		before = r
	}
	return out.String()
}

// IsIdeograph reports whether a letter is Chinese, Japanese or Korean.
func IsIdeograph(r rune) bool {
	return r >= 0x3000 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
