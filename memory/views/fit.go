package views

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/layers"
)

const (
	minEntryTokens  = 32  // the least that an entry is cut to; less says nothing
	fairEntryTokens = 64  // the most that an entry counts if there is not room for all
	maxEntryTokens  = 256 // of what an event says, so that a long tool result does not take all the room
)

// line is an entry of a section. What it says is put on one line.
type line struct {
	heading string // of the group that it belongs to; groups are not mixed
	text    string
	rank    int // which goes first when there is not room for all: the lowest
	cut     bool
}

// entry is a line of what an event says.
func entry(heading, text string, rank int) line {
	return shorten(line{heading: heading, text: text, rank: rank}, maxEntryTokens)
}

func (l line) String() string { return "- " + oneLine(l.text) }

// tokens is what a line costs with its line break.
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

// fit returns the entries that there is room for, in their own order, and how many it dropped. They are taken by
// rank, until one does not fit. An entry counts at most fairEntryTokens, so that long ones do not exclude others. The
// remaining room makes the long ones longer.
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
	texts := room // what headings leave of it
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

// shorten cuts an entry to some tokens, its line break included.
func shorten(l line, tokens int) line {
	around := line{}.tokens()
	if l.tokens() > tokens {
		l.text, l.cut = layers.CutTokens(oneLine(l.text), max(0, tokens-around))
	}
	return l
}

// shorter cuts each entry to an equal part of the room; the unused part of one goes to the others. None is dropped:
// each keeps minEntryTokens whatever the room.
func shorter(lines []line, room int) []line {
	out := slices.Clone(lines)
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[a].tokens(), lines[b].tokens()) })
	for n, i := range order { // the short ones first: what they leave goes to the longer
		out[i] = shorten(out[i], max(minEntryTokens, room/(len(order)-n)))
		room -= out[i].tokens()
	}
	return out
}

// want is what a section would take, and its share of the room in percent.
type want struct{ tokens, share int }

// divide gives each section its share of the room or what it wants, whichever is less, and what is left to the sections
// in their order.
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
