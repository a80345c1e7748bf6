package frame

import (
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/lexicon"
)

// sketch is what a text says, read without a grammar: its words with their weights. It serves to weigh
// texts whose statements the rules of Compare cannot align.
type sketch struct {
	content []content
	total   float64 // weight of content
	meaning lexicon.Vector
	owner   []string // as in Frame, of all statements
	typed   map[Kind][]string
	cue     int
	also    bool // it says that something comes on top of what is known

	negated, ended, past, event, hedged, copular, condition bool
}

// content is a word that says something.
type content struct {
	low, stem string
	weight    float64 // (0,1], by rarity
	value     bool    // part of what the statement gives
	typed     bool    // part of a date, a number and so on
	name      bool
}

// additive words say that the statement adds to what is known.
var additive = words("also too additionally another second besides both additional moreover")

// sketchOf reads a text with its statements.
func sketchOf(text string, frames []Frame) *sketch {
	s := &sketch{typed: map[Kind][]string{}}
	owners, values := map[string]bool{}, map[string]bool{}
	for _, f := range frames {
		for _, o := range f.owner {
			owners[o] = true
		}
		for _, v := range f.values {
			for w := range strings.FieldsSeq(v.key) {
				values[w] = true
			}
		}
		s.cue = max(s.cue, f.cue)
		s.negated, s.ended, s.hedged = s.negated || f.negated, s.ended || f.ended, s.hedged || f.hedged
		s.copular, s.condition = s.copular || f.copular, s.condition || len(f.condition) > 0 || f.ifClause
	}
	s.past = len(frames) > 0 && !slices.ContainsFunc(frames, func(f Frame) bool { return !f.past })
	s.event = len(frames) > 0 && !slices.ContainsFunc(frames, func(f Frame) bool { return !f.event })
	s.owner = slices.Sorted(maps.Keys(owners))
	seen := map[string]bool{}
	for _, sentence := range sentences(text) {
		ts := tokenize(sentence)
		typed := make([]bool, len(ts))
		for _, v := range typedValues(ts) {
			s.typed[v.Kind] = append(s.typed[v.Kind], v.key)
			for i := v.from; i < v.to; i++ {
				typed[i] = true
			}
		}
		for i, t := range ts {
			s.also = s.also || additive[t.low] && !(t.low == "second" && typed[i])
			if selfWords[t.low] || t.low == "user" || correctionCues[t.low] || leadIns[t.low] && i < 2 || !isContent(t) && !typed[i] && !(t.cap && i > 0) ||
				changeVerbs[t.stem] || endVerbs[t.stem] || isMarker(t) {
				continue
			}
			for w := range strings.FieldsSeq(strings.ToLower(t.text)) {
				stem := stemOf(w)
				if owners[stem] || seen[stem] {
					continue
				}
				seen[stem] = true
				c := content{low: w, stem: stem, weight: 0.1 + 0.9*lexicon.Rarity(w), typed: typed[i], value: typed[i] || values[w] || values[stem],
					name: t.cap && i > 0}
				if softTerms[stem] {
					c.weight /= 2
				}
				s.content = append(s.content, c)
				s.total += c.weight
				if !c.typed {
					s.meaning.Add(w, c.weight)
				}
			}
		}
	}
	return s
}
