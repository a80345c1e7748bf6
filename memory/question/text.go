package question

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/lexicon"
)

// Text is a text that was parsed in two ways: by its grammar, into statements, and into words with weights and
// meanings. The words are used if the grammar could not be parsed.
type Text struct {
	Frames     []frame.Frame
	vocabulary vocabulary
	words      []content
	total      float64 // weight of words
	meaning    lexicon.Vector
	owner      []string // as in Frame, of all statements
	typed      map[frame.Kind][]string
	cue        int
	changed    []vocabulary // vocabularies of the sentences with an update word: see Question.UpdatedBy
	change     float64      // how near one of its words is to a word for a change, in [0,1]
	current    bool         // it says that it holds now, or held until now

	ended, past, event, hedged bool
	places                     places
	aspect                     aspect
	placed                     bool // it names a place: "in the yard"
	opposites                  []string
}

// content is a content word.
type content struct {
	stem   string
	place  lexicon.Place
	weight float64 // (0,1], by rarity
	value  bool    // part of a value of the statement
	typed  bool    // part of a date, a number and so on
	name   bool    // it has a capital letter within a sentence
	kind   bool    // of a question: the kind of the answer
	verb   bool    // of a question: its verb, see verbAt
	det    determiner
}

// ReadText parses a text. who is the speaker, or "" if unknown.
func ReadText(text, who string) Text {
	text, who = norm.NFC.String(text), norm.NFC.String(who) // the forms of an accent are the same letter
	frames, read := frame.ReadSentences(text, who)
	t := Text{Frames: frames, vocabulary: vocabularyOf(read, who, frames), typed: map[frame.Kind][]string{}}
	values := t.sumUp()
	t.aspect = aspectOf(read)
	seen := map[string]bool{}
	for _, sentence := range read {
		if slices.ContainsFunc(sentence.Tokens, func(w english.Token) bool { return updateStems[w.Stem] }) {
			t.changed = append(t.changed, vocabularyOf([]frame.Sentence{sentence}, who, nil))
		}
		t.places.readPlaces(sentence, values)
		t.readWords(sentence, values, seen)
	}
	return t
}

// sumUp copies the content of the frames into the text, and returns the words of their values.
func (t *Text) sumUp() map[string]bool {
	owners, values := map[string]bool{}, map[string]bool{}
	t.past, t.event = len(t.Frames) > 0, len(t.Frames) > 0
	for _, f := range t.Frames {
		for _, o := range f.Owners {
			owners[o] = true
		}
		for _, v := range slices.Concat(f.Values, f.Old) {
			for w := range strings.FieldsSeq(v.Key) {
				values[w] = true
			}
		}
		t.cue = max(t.cue, f.Cue)
		t.ended, t.hedged = t.ended || f.Ended, t.hedged || f.Hedged
		t.past, t.event = t.past && f.Past, t.event && f.Event
	}
	t.owner = slices.Sorted(maps.Keys(owners))
	return values
}

// readWords adds the content words of a sentence, without owners and words of change.
func (t *Text) readWords(s frame.Sentence, values, seen map[string]bool) {
	ts, typed := s.Tokens, make([]bool, len(s.Tokens))
	for _, v := range s.Values {
		t.typed[v.Kind] = append(t.typed[v.Kind], v.Key)
		for i := v.From; i < v.To; i++ {
			typed[i] = true
		}
	}
	dets := determiners(ts)
	for i, w := range ts {
		inside := w.Cap && i > 0
		t.placed = t.placed || placesAt(ts, i, typed)
		if english.Opposites[w.Stem] != "" {
			t.opposites = append(t.opposites, w.Stem)
		}
		t.noteChange(w)
		switch {
		case english.SelfWords[w.Low], w.Low == "user", english.CorrectionCues[w.Low], english.LeadIns[w.Low] && i < 2,
			!english.IsContent(w) && !typed[i] && !inside, english.ChangeVerbs[w.Stem], english.EndVerbs[w.Stem],
			english.IsMarker(w):
			continue
		}
		for low := range strings.FieldsSeq(strings.ToLower(w.Text)) {
			stem := english.StemOf(low)
			if seen[stem] || slices.Contains(t.owner, stem) {
				continue
			}
			seen[stem] = true
			c := contentOf(low, stem)
			c.typed, c.name, c.value, c.det = typed[i], inside, typed[i] || values[low] || values[stem], dets[i]
			t.words = append(t.words, c)
			t.total += c.weight
			if !c.typed {
				t.meaning.Add(low, c.weight)
			}
		}
	}
}

// changing has words of change. current has words that contrast the present with the past.
var (
	changing = resemblanceTo("changed switched replaced moved swapped stopped quit cancelled increased reduced")
	current  = english.Words(`
		now today nowadays currently lately recently new latest again back until instead rather than no
		not never anymore any more longer without from since already still thesedays nolonger fromnowon asof afterall
		insteadof ratherthan`)
)

func (t *Text) noteChange(w english.Token) {
	t.current = t.current || current[w.Low]
	if t.change == 1 || english.Articles[w.Low] || english.Prepositions[w.Low] || english.Pronouns[w.Low] ||
		english.Auxiliaries[w.Low] {
		return
	}
	t.change = max(t.change, changing().of(lexicon.PlaceOf(w.Low)))
}

// contentOf returns a content word with its weight, by rarity.
func contentOf(low, stem string) content {
	c := content{stem: stem, place: lexicon.PlaceOf(low), weight: 0.1 + 0.9*lexicon.Rarity(low)}
	if english.SoftTerms[stem] {
		c.weight /= 2
	}
	return c
}

// OnlyEnds reports whether a text says only that something is no longer true.
func (t *Text) OnlyEnds() bool {
	return len(t.Frames) > 0 && !slices.ContainsFunc(t.Frames, func(f frame.Frame) bool {
		return !f.Ended &&
			!f.Negated
	})
}

func (t *Text) has(stem string) bool {
	return slices.ContainsFunc(t.words, func(c content) bool { return c.stem == stem })
}

// nearest returns the similarity in meaning of c and the most similar of the words, in [0,1]. It is 1 for c itself.
func nearest(words []content, c content) float64 {
	best := 0.0
	for _, d := range words {
		if c.stem == d.stem {
			return 1
		}
		best = max(best, c.place.Similarity(d.place))
	}
	return best
}

// coveredBy returns the share of the content words of t that o covers. Each word of t counts by its similarity to the
// most similar word of o.
func (t *Text) coveredBy(o *Text) float64 {
	covered, total := 0.0, 0.0
	for _, c := range t.words {
		if !c.typed {
			covered += c.weight * nearest(o.words, c)
			total += c.weight
		}
	}
	if total == 0 {
		return 0
	}
	return covered / total
}
