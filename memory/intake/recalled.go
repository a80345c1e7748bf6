package intake

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/normalize"
)

// WrapRecalled marks text as a result of recall, for an agent to read:
//
//	<mneme-recall id="…">
//	…
//	</mneme-recall>
//
// Agents ingest transcripts of the text that they read. Without the mark, each recall would be learned again and the
// store would fill with copies. StripRecalled removes the block. No text can close the block early or open another one,
// because the name of the tag is written with a space inside the block.
func WrapRecalled(retrievalID, text string) string {
	id := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.:", r) {
			return r
		}
		return -1
	}, retrievalID)
	text = recallName.ReplaceAllString(text, "$1 $2")
	return "<mneme-recall id=\"" + id + "\">\n" + text + "\n</mneme-recall>"
}

// StripRecalled removes the blocks of WrapRecalled and reports whether there were any. It recognizes markers in upper
// and lower case, with whitespace inside, and escaped in JSON or HTML. Blocks may nest.
//
// A part of a transcript may begin or end within a block. Therefore everything after an unclosed opening marker is
// removed, and everything before an unopened closing marker, back to the previous block. It is better to lose a
// sentence than to learn a recalled one. If a block was between two words, a line break separates them.
func StripRecalled(content string) (rest string, had bool) {
	markers := recallMarker.FindAllStringSubmatchIndex(content, -1)
	if markers == nil {
		return content, false
	}
	var kept strings.Builder
	keep := func(piece string) {
		last, _ := utf8.DecodeLastRuneInString(kept.String())
		first, _ := utf8.DecodeRuneInString(piece)
		if kept.Len() > 0 && piece != "" && !normalize.IsSpace(last) && !normalize.IsSpace(first) {
			kept.WriteByte('\n')
		}
		kept.WriteString(piece)
	}
	depth, from := 0, 0 // from is the end of the last marker that closed
	for _, m := range markers {
		start, end, closes := m[0], m[1], m[2] >= 0
		switch {
		case closes:
			depth = max(0, depth-1)
			from = end
		case depth == 0:
			keep(content[from:start])
			depth = 1
		default:
			depth++
		}
	}
	if depth == 0 {
		keep(content[from:])
	}
	return kept.String(), true
}

var (
	// recallName is the name of the tag, in two groups. Text without it has no marker.
	recallName = regexp.MustCompile(`(?i)(mneme)-(recall)`)

	// recallMarker is an opening or (with group 1) closing marker. A truncated marker has no end bracket. Attributes
	// are short and stay on one line.
	recallMarker = regexp.MustCompile(`(?i)` +
		`(?:<|&lt;|\\+u003c)[\s\p{Z}\x{FEFF}]*(\\*/)?[\s\p{Z}\x{FEFF}]*` +
		`mneme-recall\b(?:[^<>\n]{0,300}?(?:>|&gt;|\\+u003e))?`)
)
