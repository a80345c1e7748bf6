package passages

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of passages in bytes.
const (
	// MaxBytes is the maximum size of a passage. A text of at most this size is one passage.
	MaxBytes = 700
	// enough is the size at which a passage ends with the next sentence, about sixty words of English.
	enough = 350
	// little is the size at which a passage ends with its paragraph.
	little = 150
)

// Span is a part of a text: text[Start:End].
type Span struct{ Start, End int }

// breakKind is the kind of boundary between two units.
type breakKind int

const (
	sentenceBreak  breakKind = iota // a sentence or a line ends
	paragraphBreak                  // a blank line, or the beginning or end of a block of code
	noBreak                         // a heading, a lead-in or code belongs to the text after it
)

// unit is the smallest part of a passage: a sentence, a line, or a piece of one that is too long.
type unit struct {
	Span
	after breakKind
}

// Split splits a text into passages of at most MaxBytes. They cover the text in order, without gaps, and never split a
// rune. Passages end after sentences, lines and list items. A heading, or a line that ends in a colon, stays with the
// text after it. Fenced code is split only if it is longer than a passage, and then between lines.
func Split(text string) []Span {
	if len(text) == 0 {
		return nil
	}
	if len(text) <= MaxBytes {
		return []Span{{0, len(text)}}
	}
	var out []Span
	var current []unit
	closeBefore := func(n int) {
		out = append(out, Span{current[0].Start, current[n-1].End})
		current = append(current[:0:0], current[n:]...)
	}
	for _, u := range units(text) {
		for len(current) > 0 && u.End-current[0].Start > MaxBytes {
			closeBefore(lastBreak(current))
		}
		current = append(current, u)
		size := u.End - current[0].Start
		if u.after == paragraphBreak && size >= little || u.after == sentenceBreak && size >= enough {
			closeBefore(len(current))
		}
	}
	if len(current) > 0 {
		closeBefore(len(current))
	}
	return out
}

// lastBreak returns the number of units to keep in a full passage: all except headings and lead-ins at the end, unless
// there are no others.
func lastBreak(units []unit) int {
	for n := len(units); n > 0; n-- {
		if units[n-1].after != noBreak {
			return n
		}
	}
	return len(units)
}

// units splits a text into units that cover it.
func units(text string) []unit {
	var out []unit
	inCode := false
	for start := 0; start < len(text); {
		end := start + len(lineAt(text[start:]))
		line := strings.TrimSpace(text[start:end])
		fence := strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
		switch {
		case fence && !inCode:
			if len(out) > 0 && out[len(out)-1].after == sentenceBreak {
				out[len(out)-1].after = paragraphBreak
			}
			inCode = true
			out = appendPieces(out, text, Span{start, end}, noBreak)
		case fence:
			inCode = false
			out = appendPieces(out, text, Span{start, end}, paragraphBreak)
		case inCode:
			out = appendPieces(out, text, Span{start, end}, noBreak)
		case line == "":
			if len(out) > 0 && out[len(out)-1].after != noBreak {
				out[len(out)-1].after = paragraphBreak
			}
			after := paragraphBreak
			if len(out) > 0 {
				after = out[len(out)-1].after
			}
			out = appendPieces(out, text, Span{start, end}, after)
		default:
			out = appendSentences(out, text, Span{start, end})
			if strings.HasPrefix(line, "#") || strings.HasSuffix(line, ":") {
				out[len(out)-1].after = noBreak
			}
		}
		start = end
	}
	return out
}

// lineAt returns the first line of a text, with its line break.
func lineAt(text string) string {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return text[:n+1]
	}
	return text
}

// appendSentences adds the sentences of a line.
func appendSentences(out []unit, text string, line Span) []unit {
	start := line.Start
	for at := line.Start; at < line.End; {
		r, n := utf8.DecodeRuneInString(text[at:line.End])
		at += n
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		if end, ok := sentenceEnd(text, start, at, line.End, r); ok {
			out = appendPieces(out, text, Span{start, end}, sentenceBreak)
			start, at = end, end
		}
	}
	if start < line.End {
		out = appendPieces(out, text, Span{start, line.End}, sentenceBreak)
	}
	return out
}

// sentenceEnd returns the end of a sentence whose final mark is before at, including white space after it. A period
// after the number of a list item, within a word or before a lower-case letter does not end a sentence.
func sentenceEnd(text string, start, at, end int, mark rune) (int, bool) {
	if mark == '.' && strings.Trim(text[start:at], " \t0123456789") == "." {
		return 0, false
	}
	rest := strings.TrimLeft(text[at:end], "\"')]”’»*_")
	next := strings.TrimLeftFunc(rest, unicode.IsSpace)
	if mark < utf8.RuneSelf && next != "" && len(next) == len(rest) {
		return 0, false
	}
	if r, _ := utf8.DecodeRuneInString(next); mark == '.' && unicode.IsLower(r) {
		return 0, false
	}
	return end - len(next), true
}

// appendPieces adds a unit. If it is too long for a passage, it is split at words.
func appendPieces(out []unit, text string, s Span, after breakKind) []unit {
	for s.End-s.Start > MaxBytes {
		cut := s.Start + MaxBytes
		for cut > s.Start && !utf8.RuneStart(text[cut]) {
			cut--
		}
		if cut == s.Start { // not UTF-8
			cut = s.Start + MaxBytes
		}
		if space := strings.LastIndexAny(text[s.Start:cut], " \t\r\n"); space > MaxBytes/2 {
			cut = s.Start + space + 1
		}
		out = append(out, unit{Span{s.Start, cut}, sentenceBreak})
		s.Start = cut
	}
	return append(out, unit{s, after})
}
