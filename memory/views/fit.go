package views

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/layers"
)

const (
	minEntryTokens  = 32  // least length to which an entry is cut; less is not useful
	fairEntryTokens = 64  // greatest length that an entry counts if not all fit
	maxEntryTokens  = 256 // greatest length of an event, so that a long tool result leaves room for others
)

// line is an entry of a section. Its text is on one line.
type line struct {
	heading string // heading of its group; groups are not mixed
	text    string
	rank    int // the lowest rank is kept first if not all fit
	cut     bool
}

// entry returns a line with the text of an event.
func entry(heading, text string, rank int) line {
	return shorten(line{heading: heading, text: text, rank: rank}, maxEntryTokens)
}

func (l line) String() string { return "- " + oneLine(l.text) }

// tokens returns the tokens of a line with its line break.
func (l line) tokens() int { return layers.EstimateTokens(l.String()) + 1 }

// render returns the text of entries, with a heading before each group that has one.
func render(lines []line) string {
	var out []string
	heading := ""
	for _, l := range lines {
		if l.heading != heading && l.heading != "" {
			out = append(out, l.heading)
		}
		heading = l.heading
		out = append(out, l.String())
	}
	return strings.Join(out, "\n")
}

// cost estimates the tokens of entries. It is at least what render returns.
func cost(lines []line) int {
	total := 0
	heading := ""
	for _, l := range lines {
		if l.heading != heading && l.heading != "" {
			total += layers.EstimateTokens(l.heading) + 1
		}
		heading = l.heading
		total += l.tokens()
	}
	return total
}

// fit returns the entries that fit, in their original order, and the number of dropped ones. It takes entries by rank
// until one does not fit. An entry counts at most fairEntryTokens, so that long ones do not exclude others. The
// remaining tokens extend the long ones.
func fit(lines []line, room int) (taken []line, left int) {
	if cost(lines) <= room {
		return lines, 0
	}
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[a].rank, lines[b].rank) })
	headed := map[string]bool{"": true}
	var kept []int
	texts := room // without the headings
	for _, i := range order {
		l, heading := lines[i], 0
		if !headed[l.heading] {
			heading = layers.EstimateTokens(l.heading) + 1
		}
		tokens := l.tokens()
		if heading+min(tokens, minEntryTokens) > room {
			break
		}
		headed[l.heading] = true
		texts -= heading
		room -= heading + min(tokens, fairEntryTokens)
		kept = append(kept, i)
	}
	slices.Sort(kept)
	for _, i := range kept {
		taken = append(taken, lines[i])
	}
	return shorter(taken, texts), len(lines) - len(taken)
}

// shorten returns an entry cut to a number of tokens, including its line break.
func shorten(l line, tokens int) line {
	around := line{}.tokens()
	if l.tokens() > tokens {
		l.text, l.cut = layers.CutTokens(oneLine(l.text), max(0, tokens-around))
	}
	return l
}

// shorter cuts each entry to an equal share of the room. The unused part of a share goes to the others. No entry is
// dropped: each keeps at least minEntryTokens.
func shorter(lines []line, room int) []line {
	out := slices.Clone(lines)
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[a].tokens(), lines[b].tokens()) })
	for n, i := range order { // the short ones first: their unused shares go to the longer ones
		out[i] = shorten(out[i], max(minEntryTokens, room/(len(order)-n)))
		room -= out[i].tokens()
	}
	return out
}

// want has the tokens that a section needs, and its share of the room in percent.
type want struct{ tokens, share int }

// divide returns the room of each section: its share or the tokens that it needs, whichever is less. The rest goes to
// the sections in their order.
func divide(room int, wants []want) []int {
	room = max(0, room)
	out := make([]int, len(wants))
	left := room
	for i, w := range wants {
		out[i] = min(w.tokens, room*w.share/100)
		left -= out[i]
	}
	for i, w := range wants {
		more := min(left, w.tokens-out[i])
		out[i] += more
		left -= more
	}
	return out
}
