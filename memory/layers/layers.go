package layers

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

const (
	resultTokens = 12 // category, date and speaker, which are shown with the text of a result
	minCutTokens = 32 // a shorter text is not useful
)

// layerShares are the shares of an answer that are reserved for the layers. The unused part of a share goes to the best
// remaining results. Facts have the largest share, because most questions ask for facts.
var layerShares = map[schema.LayerName]float64{
	schema.LayerWorking: 0.15, schema.LayerSemantic: 0.35, schema.LayerCompetence: 0.2, schema.LayerPlan: 0.1,
	schema.LayerEpisodic: 0.2,
}

// Item is a candidate for a layered answer.
type Item struct {
	Layer    schema.LayerName
	Selected bool // selected for the task; comes before the rest of its layer
	Tokens   int  // estimate for the whole item
	// Shell is the part of Tokens that cannot be cut: the frame around the text.
	Shell int
	// Passage is the estimate for the item with only the passage that answers; 0 if there is no such passage.
	Passage int
}

// need returns the tokens that the item needs at least, to keep its answer.
func (i Item) need(budget int) int {
	if budget > 0 && i.Passage > 0 {
		return min(i.Tokens, i.Passage)
	}
	return i.Tokens
}

// Placed is an item of the answer, possibly cut.
type Placed struct {
	Index  int // index of the item
	Tokens int // tokens that the item may use, including its shell
	Cut    bool
}

// Fill returns the items that fit into an answer: at most limit items with at most budget tokens in total. A budget of
// 0 means no bound. Items must be sorted best first, and are returned in that order.
//
// Layers are filled in their order (document 004 §15.8). Each layer gets its best items until its share of the places
// or of the tokens is used up. The rest goes to the best remaining items of any layer. If there are at least as many
// places as layers with items, each of these layers gets at least one place.
//
// A long text is first reduced to the passage that answers. At the end, such texts are completed while there is room,
// the best first. Other items are not cut, with two exceptions: the best item of a layer is cut to the share of the
// layer, and if no item fits at all, the best one is cut to the budget.
func Fill(items []Item, limit, budget int) []Placed {
	f := &filling{items: items, limit: limit, budget: budget, placed: map[int]Placed{}}
	filled, total := f.layers()
	if limit >= len(filled) {
		for _, layer := range filled {
			share := layerShares[layer] / total
			f.fill(layer, max(1, int(share*float64(limit))), int(share*float64(budget)))
		}
	}
	f.rest()
	out := make([]Placed, 0, len(f.placed))
	for i := range items {
		if p, ok := f.placed[i]; ok {
			out = append(out, p)
		}
	}
	return out
}

type filling struct {
	items         []Item
	limit, budget int
	used          int // tokens
	placed        map[int]Placed
}

// layers returns the layers that have items, in order, and the sum of their shares.
func (f *filling) layers() (filled []schema.LayerName, total float64) {
	for _, layer := range schema.Layers() {
		if slices.ContainsFunc(f.items, func(i Item) bool { return i.Layer == layer }) {
			filled = append(filled, layer)
			total += layerShares[layer]
		}
	}
	return filled, total
}

func (f *filling) place(index, tokens int) {
	f.placed[index] = Placed{Index: index, Tokens: tokens, Cut: tokens < f.items[index].Tokens}
	f.used += tokens
}

// fill places the items of one layer within its share.
func (f *filling) fill(layer schema.LayerName, places, tokens int) {
	var own []int
	for i, item := range f.items {
		if item.Layer == layer {
			own = append(own, i)
		}
	}
	slices.SortStableFunc(own, func(a, b int) int { return cmp.Compare(before(f.items[a]), before(f.items[b])) })
	used := 0
	for n, i := range own {
		item := f.items[i]
		switch {
		case places == 0 || len(f.placed) == f.limit:
			return
		case f.budget == 0 || used+item.need(f.budget) <= tokens:
			f.place(i, item.need(f.budget))
			used += item.need(f.budget)
			places--
		case n == 0 && tokens-item.Shell >= minCutTokens:
			f.place(i, tokens)
			return
		}
	}
}

func before(i Item) int {
	if i.Selected {
		return 0
	}
	return 1
}

// rest fills the remaining budget, best items first. Before that it completes items that were cut without a passage,
// and after that items that were reduced to a passage.
func (f *filling) rest() {
	f.complete(func(i Item) bool { return i.Passage == 0 })
	for i, item := range f.items {
		need := item.need(f.budget)
		if _, ok := f.placed[i]; ok || len(f.placed) >= f.limit || f.budget > 0 && f.used+need > f.budget {
			continue
		}
		f.place(i, need)
	}
	if len(f.placed) == 0 && len(f.items) > 0 && f.limit > 0 && f.budget-f.items[0].Shell > 0 {
		f.place(0, f.budget)
	}
	f.complete(func(i Item) bool { return i.Passage > 0 })
}

// complete restores the full length of cut items, the best first, while there is room.
func (f *filling) complete(which func(Item) bool) {
	for i, item := range f.items {
		if p, ok := f.placed[i]; ok && p.Cut && which(item) && f.used-p.Tokens+item.Tokens <= f.budget {
			f.used -= p.Tokens
			f.place(i, item.Tokens)
		}
	}
}

// ResultTokens estimates the tokens of a result as --format prompt shows it: its text, its payload if any, its speaker,
// and the frame around them. The shell is the speaker and the frame.
func ResultTokens(r schema.RecallResult) (tokens, shell int) {
	shell = resultTokens + EstimateTokens(r.Who)
	return shell + EstimateTokens(r.Content) + EstimateTokens(string(r.Payload)), shell
}

// EstimateTokens estimates the number of tokens of a text for any language model. The estimate is slightly high: with
// common vocabularies, English prose has 0.75 words per token.
//
//   - A run of Latin letters counts one for every five letters or part of five, a run of digits one for every three.
//   - Letters of other alphabets count one for every two.
//   - Ideographs, kana, hangul, punctuation and symbols count one each, characters outside the Basic Multilingual
//     Plane two.
//   - White space counts 0, because tokens include the space before a word. Line breaks count one each.
//
// Adding text never lowers the estimate, and the estimate of a concatenation is at most the sum of its parts.
func EstimateTokens(text string) int {
	const latin, digit, other = 60 / 5, 60 / 3, 60 / 2 // sixtieths of a token
	total, run, kind := 0, 0, 0
	end := func() {
		total += (run + 59) / 60
		run = 0
	}
	for _, r := range text {
		next := 0
		switch {
		case r < utf8.RuneSelf && isASCIILetter(r), r >= 0xC0 && r < 0x250 && unicode.IsLetter(r):
			next = latin
		case unicode.IsDigit(r):
			next = digit
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		case unicode.IsLetter(r), unicode.IsMark(r):
			next = other
		}
		if next != kind || next == 0 {
			end()
		}
		kind = next
		switch {
		case next > 0:
			run += next
		case r == '\n':
			total++
		case unicode.IsSpace(r):
		case r > 0xFFFF:
			total += 2
		default:
			total++
		}
	}
	end()
	return total
}

// CutTokens cuts a text to an estimated number of tokens, including the mark at its end. It cuts at the end of a word
// if one is near, and reports whether it cut. If there is no room for text, the result is the mark alone or empty.
func CutTokens(text string, tokens int) (string, bool) {
	if EstimateTokens(text) <= tokens {
		return text, false
	}
	room := tokens - EstimateTokens(normalize.CutMark)
	if room <= 0 {
		if room == 0 {
			return strings.TrimSpace(normalize.CutMark), true
		}
		return "", true
	}
	low, high := 0, len(text) // the longest prefix that fits is in [low, high)
	for low+1 < high {
		middle := (low + high) / 2
		for middle > low && !utf8.RuneStart(text[middle]) {
			middle--
		}
		if middle == low {
			break
		}
		if EstimateTokens(text[:middle]) <= room {
			low = middle
		} else {
			high = middle
		}
	}
	return normalize.AtWord(text, low) + normalize.CutMark, true
}
