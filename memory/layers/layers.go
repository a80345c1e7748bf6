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
	resultTokens = 12 // what an agent is shown of a result in addition to its text: category, date, speaker
	minCutTokens = 32 // a text that is cut to less says nothing
)

// layerShares are the shares of an answer reserved for the layers, in their order. The unused part of a layer goes to
// the best of the rest. Facts have most, because most questions ask for facts.
var layerShares = map[schema.LayerName]float64{
	schema.LayerWorking: 0.15, schema.LayerSemantic: 0.35, schema.LayerCompetence: 0.2, schema.LayerPlan: 0.1,
	schema.LayerEpisodic: 0.2,
}

// Item is a result that may be taken into a layered answer.
type Item struct {
	Layer    schema.LayerName
	Selected bool // what was chosen for the task goes before the rest of its layer
	Tokens   int  // estimated, all of it
	// Shell is the part of Tokens that cannot be cut: the frame around the text.
	Shell int
	// Passage is what the item takes with the passage that answers instead of its whole text; 0: it has none.
	Passage int
}

// need is the least that an item takes of a budget without losing its answer.
func (i Item) need(budget int) int {
	if budget > 0 && i.Passage > 0 {
		return min(i.Tokens, i.Passage)
	}
	return i.Tokens
}

// Placed is a result that was taken: whole, or cut to some tokens.
type Placed struct {
	Index  int // of the item
	Tokens int // that it may have, its shell included
	Cut    bool
}

// Fill takes the results that an answer has room for: at most limit of them, whose tokens sum to at
// most budget; a budget of 0 means no bound. Items come best first, and are returned in that order.
//
// In the order of the layers (document 004 §15.8), each takes its best until its share of the places or of
// the tokens is used up, and the remaining tokens go to the best of the remaining results of any layer. A share is
// at least one place, where there are as many places as layers with something in them.
//
// A long text is taken by the passage that answers, and made whole if there is room in the end, the best first. Other
// memories are taken whole or left. Only the best of a layer, when it is larger than its share, is cut to the share,
// and when nothing else was taken the best of all to the budget.
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

// layers returns the layers that have items, in their order, and the sum of their shares.
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

// fill gives a layer its share.
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

// rest fills the remaining budget, best items first. Items that were cut without regard to a passage are completed
// first, if there is room, and items with only a passage last.
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

// complete restores items that were cut, the best first, while there is room.
func (f *filling) complete(which func(Item) bool) {
	for i, item := range f.items {
		if p, ok := f.placed[i]; ok && p.Cut && which(item) && f.used-p.Tokens+item.Tokens <= f.budget {
			f.used -= p.Tokens
			f.place(i, item.Tokens)
		}
	}
}

// ResultTokens estimates the tokens of a result as --format prompt shows it: its text, its payload where it has
// one, its speaker, and the frame around them. Speaker and surroundings alone are shell.
func ResultTokens(r schema.RecallResult) (tokens, shell int) {
	shell = resultTokens + EstimateTokens(r.Who)
	return shell + EstimateTokens(r.Content) + EstimateTokens(string(r.Payload)), shell
}

// EstimateTokens estimates how many tokens a language model reads a text as, without knowing the model. It
// is meant to be a little high: by the vocabularies in use, English prose has 0.75 words a token.
//
//   - a run of Latin letters counts one for each five letters or part of them, a run of digits one for each
//     three;
//   - letters of other alphabets count one for each two;
//   - ideographs, kana, hangul, punctuation and symbols count one each, and what is outside the Basic
//     Multilingual Plane two;
//   - white space counts nothing, since tokens include the blank before a word, except line breaks: one each.
//
// It never falls when text is added, and of two texts put together it is at most the sum.
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

// CutTokens cuts a text to an estimated number of tokens, including the mark at its end, at the end of a word if one
// is near. It reports whether it cut. If there is no room for text, the result is the mark alone, or nothing.
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
	low, high := 0, len(text) // the longest beginning that fits lies in [low, high)
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
