package frame

import (
	"slices"
	"strings"
	"sync"

	"github.com/mneme/mneme/memory/english"
)

var (
	// partBreaks has words that begin another part of a sentence if a verb stands before and after them.
	partBreaks = english.Words("and but so because since although though while whereas after until as nor")
	// denials has words with which a part of a sentence says that something is not so.
	denials = english.Words("not never nolonger anymore longer no none nobody nothing neither hardly without")
	// closings has words for the state of a thing that is no longer used or valid.
	closings = english.Words(`over gone out off empty bankrupt dead closed shut broken stolen finished done history
		obsolete full wrong old previous former down away last overdue useless insolvent unavailable abolished`)
	// leavings has words before a thing that is left or not meant: "instead of Jira", "out of the flat".
	leavings = english.Words("not nolonger insteadof ratherthan off without")
)

// holdings has nouns for what one has with a provider, so that their end is that of the provider: "the Nordea account".
var holdings = english.Stems(`account subscription membership contract agreement licence license board project instance
	endpoint plan`)

// Telling is what a whole text says is so, and what it says is over. Words are stems.
type Telling struct {
	Over  []string // of phrases such as "instead of Jira", and of parts that deny something or tell of an end
	Was   []string // of the other parts in the past
	Terms []string // all other words
	Names []string // those of Terms that have a capital, without days and months
	Parts []string // names that only say which of several another noun means: "Kubernetes secrets"

	Typed    []Value // dates, numbers and the like of what is so
	OldTyped []Value // those of what is over or was so
}

// Has reports whether the text has a word.
func (t *Telling) Has(stem string) bool {
	return slices.Contains(t.Over, stem) || slices.Contains(t.Was, stem) || slices.Contains(t.Terms, stem)
}

// maxWholeWords is the number of words up to which a text is read as a whole. A longer one is about many things.
const maxWholeWords = 100

// whole is a text. What it tells is found out once, when it is asked for.
type whole struct {
	sentences []Sentence // without questions
	once      sync.Once
	telling   *Telling
}

func wordsOf(sentences []Sentence) (out int) {
	for _, s := range sentences {
		out += len(s.Tokens)
	}
	return out
}

// TextHas reports whether the text of a statement has all of some words, given by their stems.
func (f Frame) TextHas(stems []string) bool {
	return f.whole != nil && !slices.ContainsFunc(stems, func(stem string) bool {
		return !slices.ContainsFunc(f.whole.sentences, func(s Sentence) bool {
			return slices.ContainsFunc(s.Tokens, func(t english.Token) bool { return t.Stem == stem })
		})
	})
}

// Telling returns what the text of a statement says is so, and what is over. It returns nil for a long text.
func (f Frame) Telling() *Telling {
	if f.whole == nil {
		return nil
	}
	f.whole.once.Do(func() { f.whole.telling = tellingOf(f.whole.sentences) })
	return f.whole.telling
}

// tellingOf reads sentences. A part tells of something as over only beside one that tells what is so: "the lawyers did
// not like Jira, and we use Linear".
func tellingOf(sentences []Sentence) *Telling {
	parts := make([][]part, len(sentences))
	lasting := false
	for i, s := range sentences {
		parts[i] = partsOf(s.Tokens)
		lasting = lasting || slices.ContainsFunc(parts[i], func(p part) bool { return p.present && !p.over })
	}
	out := &Telling{}
	for i, s := range sentences {
		over, was := left(s.Tokens), make([]bool, len(s.Tokens))
		for _, p := range parts[i] {
			for k := p.from; k < p.to && lasting; k++ {
				over[k] = over[k] || p.over && !p.past
				was[k] = p.past && (p.over || !p.present)
			}
		}
		out.add(s, over, was)
	}
	return out
}

// add adds the words of a sentence. over and was say for each word whether it belongs to what is over or was so.
func (t *Telling) add(s Sentence, over, was []bool) {
	ts := s.Tokens
	for i, w := range ts {
		if !english.IsContent(w) && !english.HasDigit(w.Low) {
			continue
		}
		switch {
		case modifies(ts, i):
			t.Parts = append(t.Parts, w.Stem)
			t.Terms = append(t.Terms, w.Stem)
		case over[i]:
			t.Over = append(t.Over, w.Stem)
		case was[i]:
			t.Was = append(t.Was, w.Stem)
		default:
			t.Terms = append(t.Terms, w.Stem)
			day := english.Weekdays[strings.TrimSuffix(w.Low, "s")] > 0 || Month(w) > 0
			if w.Cap && !day && (i > 0 || !english.IsVerb(w)) {
				t.Names = append(t.Names, w.Stem)
			}
		}
	}
	for _, v := range s.Values {
		if !over[v.From] && !was[v.From] {
			t.Typed = append(t.Typed, v)
		} else {
			t.OldTyped = append(t.OldTyped, v)
		}
	}
}

// modifies reports whether the word at i is a name before another noun, so that what is said of that is not said of the
// name: "Kubernetes secrets".
func modifies(ts []english.Token, i int) bool {
	if !ts[i].Cap || ts[i].End != 0 || ts[i].Poss || i+1 >= len(ts) {
		return false
	}
	next := ts[i+1]
	return english.IsContent(next) && !next.Cap && !english.IsVerb(next) && !english.PastTense(next) &&
		!holdings[next.Stem] && !strings.HasSuffix(next.Low, "ly")
}

// part is a part of a sentence that tells one thing.
type part struct {
	from, to int
	over     bool // it denies something, or tells of an end
	past     bool // it has a verb in the past
	present  bool // it has another verb
}

// partsOf splits a sentence at its punctuation, and at words such as "and" that stand between two verbs.
func partsOf(ts []english.Token) []part {
	n := len(ts)
	var verb, end []int // the next verb and the next punctuation, from each word on
	if slices.ContainsFunc(ts, func(t english.Token) bool { return partBreaks[t.Low] }) {
		verb, end = nextOf(ts)
	}
	var out []part
	start := 0
	for i := range ts {
		if i+1 < n && ts[i].End == 0 {
			word := ts[i+1].Low
			if !partBreaks[word] || verb[start] > i || word != "but" && verb[i+2] > end[i+2] {
				continue
			}
		}
		p := readPart(ts[start : i+1])
		p.from, p.to = start, i+1
		out = append(out, p)
		start = i + 1
	}
	return out
}

// nextOf returns the positions of the next verb and of the next punctuation from each word on.
func nextOf(ts []english.Token) (verb, end []int) {
	n := len(ts)
	at := make([]int, 2*(n+2))
	verb, end = at[:n+2], at[n+2:]
	verb[n], verb[n+1], end[n], end[n+1] = n, n, n-1, n-1
	for i := n - 1; i >= 0; i-- {
		verb[i], end[i] = verb[i+1], end[i+1]
		if english.IsVerb(ts[i]) {
			verb[i] = i
		}
		if ts[i].End != 0 {
			end[i] = i
		}
	}
	return verb, end
}

func readPart(ts []english.Token) part {
	var p part
	auxiliary, failed := false, false
	for i, t := range ts {
		failed = failed || i+1 < len(ts) && fails(t, ts[i+1])
		noun := i > 0 && (english.Articles[ts[i-1].Low] || english.Possessives[ts[i-1].Low] || ts[i-1].Poss)
		switch {
		case t.Cap && i > 0 || t.Poss || noun:
			continue
		case denials[t.Low], english.Sentiments[t.Stem] < 0, english.EndVerbs[t.Stem], english.Replacers[t.Stem],
			closings[t.Low] && auxiliary:
			p.over = true
		}
		auxiliary = auxiliary || english.IsAux(t)
		switch {
		case english.PastTense(t) && (i == 0 || !english.IsBe(ts[i-1])), t.Text == "was", t.Text == "were",
			t.Is("had", "did"):
			p.past = true
		case english.IsVerb(t):
			p.present = true
		}
	}
	if failed { // that it was too cold is so still
		p.over, p.past = true, false
	}
	return p
}

// fails reports whether two words say that something does not do: "too cold", "fell through".
func fails(t, next english.Token) bool {
	return t.Low == "too" && t.End == 0 && english.IsContent(next) && !next.Cap ||
		t.Is("fell", "falls", "fallen") && next.Is("through", "apart")
}

// left reports which words are in the phrases after the words of leavings.
func left(ts []english.Token) []bool {
	out := make([]bool, len(ts))
	for i := range ts {
		t := ts[i]
		if !leavings[t.Low] && !(t.Low == "out" && i+1 < len(ts) && ts[i+1].Low == "of") ||
			t.Low == "not" && i > 0 && english.IsAux(ts[i-1]) && !english.IsBe(ts[i-1]) { // "did not see Anna"
			continue
		}
		from := i + 1
		for from < len(ts) && (english.Prepositions[ts[from].Low] || english.Articles[ts[from].Low] ||
			ts[from].Is("that", "those")) {
			from++
		}
		for k := from; k < len(ts); k++ {
			w := ts[k]
			if k > from && (english.Prepositions[w.Low] || english.Conjunctions[w.Low] || english.IsAux(w)) {
				break
			}
			out[k] = true
			if w.End != 0 {
				break
			}
		}
	}
	return out
}
