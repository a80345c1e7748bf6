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
// Agents ingest transcripts of what they read, so without a mark each recall would be learned again and the store
// would fill with copies of itself. StripRecalled removes the block. No text can close the block early or open
// another: the tag's name is written with a space inside it.
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

// StripRecalled removes what WrapRecalled marked and reports whether there was any. Markers are
// recognised in any case, with whitespace inside, and as JSON or HTML escapes them. Blocks may nest.
//
// A window cut out of a transcript may begin or end within a block. An opening marker without its
// closing one therefore takes everything after it along, and a closing marker without its opening
// one everything before it, back to the last block: to miss a sentence is better than to learn an
// echo. Where a block was between two words, a line break separates them.
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
	// recallName is the tag's name, in two parts. Whatever lacks it cannot be a marker.
	recallName = regexp.MustCompile(`(?i)(mneme)-(recall)`)

	// recallMarker is an opening or (with group 1) closing marker. A marker cut off in the middle
	// has no end bracket; attributes are short and stay on one line.
	recallMarker = regexp.MustCompile(`(?i)` +
		`(?:<|&lt;|\\+u003c)[\s\p{Z}\x{FEFF}]*(\\*/)?[\s\p{Z}\x{FEFF}]*` +
		`mneme-recall\b(?:[^<>\n]{0,300}?(?:>|&gt;|\\+u003e))?`)
)
