package frame

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/lexicon"
)

// Question is a parsed question.
type Question struct {
	Past   bool     // it is about the past
	Before []string // stems of the value whose predecessor it asks for: "before Oslo"
	Terms  []Term   // its content words
	Asks   bool     // it has the form of a question; otherwise it is a list of words or a request
	Amount bool     // it asks how much or how many
	Value  bool     // it asks for a current value: see asksValue

	who     bool
	words   []content // its content words other than owners and Before
	total   float64   // weight of words
	meaning lexicon.Vector
}

// Term is a content word of a question.
type Term struct {
	Stem  string
	Owner bool // it names an owner: a name, "my", the thing asked about
}

// askFillers has words that occur in questions about any subject.
var askFillers = stems(`tell know describe explain list give remind summarize summarise discuss mention talk say said
	said want ask show think like_to help find detail information info example kind type sort name anything exactly
	again please current currently recent recently now latest about many much any ever used previously originally
	before former formerly previous initial initially`)

// pastCues has words of questions about the past.
var pastCues = words("previously previous formerly former originally original initially usedto inthepast prior earlier")

// ReadQuestion parses a question.
func ReadQuestion(text string) Question {
	ts := tokenize(strings.TrimSpace(text))
	q := Question{Value: asksValue(text)}
	did := slices.ContainsFunc(ts, func(t token) bool {
		return t.is("did", "was", "were", "had", "usedto") || pastTense(t)
	})
	q.Asks = strings.HasSuffix(strings.TrimRight(text, "\"')] "), "?") || len(ts) > 2 && asks(ts)
	for i, t := range ts {
		switch {
		case pastCues[t.low]:
			q.Past = true
		case did && i > 0 && (t.low == "recently" && ts[i-1].low == "until" ||
			t.low == "one" && ts[i-1].low == "last" ||
			t.low == "last" && i > 1 && ts[i-2].low == "until"):
			q.Past = true
		case did && i > 1 && t.is("beginning", "start", "outset") && ts[i-2].is("at", "in"):
			q.Past = true
		case t.low == "before" && i+1 == len(ts):
			q.Past = true
		case t.low == "use" && did && i+1 < len(ts) && ts[i+1].low == "to":
			q.Past = true
		case t.low == "first" && i > 0 && ts[i-1].low == "at":
			q.Past = did
		case t.low == "old" && i > 0 && ts[i-1].low != "how" && i+1 < len(ts) && !articles[ts[i-1].low]:
			q.Past = true
		case t.low == "before" && did && (i+1 == len(ts) || !endsGerund(ts[i+1]) || i+2 < len(ts)):
			q.Past = true
			for _, w := range ts[i+1:] {
				if (isContent(w) || w.cap) && !endsGerund(w) {
					q.Before = append(q.Before, strings.Fields(w.stem)...)
				}
				if w.end != 0 {
					break
				}
			}
		case t.low == "how" && i+1 < len(ts) && ts[i+1].is("much", "many"):
			q.Amount = true
		}
	}
	dated := make([]bool, len(ts)) // the time channel searches for times and dates
	for _, v := range typedValues(ts) {
		for i := v.from; i < v.to && (v.Kind == KindDate || v.Kind == KindTime); i++ {
			dated[i] = true
		}
	}
	q.terms(ts, dated)
	q.readWords(ts, dated)
	return q
}

// Precedes reports whether the earlier of two texts gives the value before the one that the question names. If the
// question names no value, any text does.
func (q Question) Precedes(earlier, later Text) bool {
	if len(q.Before) == 0 {
		return true
	}
	for _, stem := range q.Before {
		t := Term{Stem: stem}
		if later.vocabulary.covers(t) == 1 && earlier.vocabulary.covers(t) < 1 {
			return true
		}
	}
	return false
}

// asks reports whether a sentence begins like a question: "which", "is", "for whom".
func asks(ts []token) bool {
	return questionWords[ts[0].low] || isAux(ts[0]) ||
		len(ts) > 3 && prepositions[ts[0].low] && questionWords[ts[1].low]
}

// Readable reports whether a text is in the Latin script, the only one that this package reads.
func Readable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) &&
			!unicode.Is(unicode.Latin, r)
	})
}

func endsGerund(t token) bool { return strings.HasSuffix(t.low, "ing") && len(t.low) > 4 }

// Clauses splits a text with several questions: "which seat does she want, and which trips need approval?"
func Clauses(text string) []string {
	ts := strings.Fields(text)
	var out []string
	start := 0
	for i := 3; i < len(ts)-2; i++ {
		joins := strings.EqualFold(ts[i], "and") || strings.HasSuffix(ts[i-1], "?")
		next := ts[i]
		if strings.EqualFold(ts[i], "and") {
			next = ts[i+1]
		}
		if joins && questionWords[strings.ToLower(next)] {
			out = append(out, strings.Join(ts[start:i], " ")+"?")
			start = i
		}
	}
	return append(out, strings.Join(ts[start:], " "))
}

// terms collects the content words. Possessives and names give the owners.
func (q *Question) terms(ts []token, dated []bool) {
	add := func(stem string, owner bool) {
		if stem == "" || slices.ContainsFunc(q.Terms, func(t Term) bool { return t.Stem == stem }) {
			return
		}
		q.Terms = append(q.Terms, Term{stem, owner})
	}
	start := 0
	for i, t := range ts {
		if articles[t.low] || prepositions[t.low] || isAux(t) || questionWords[t.low] {
			start = i + 1
		}
		switch {
		case dated[i], relation(ts, i):
			continue
		case selfWords[t.low]:
			add(SelfTerm, true)
			continue
		case teamWords[t.low]:
			add(TeamTerm, true)
			continue
		case t.poss:
			for k := start; k < i; k++ {
				for j := range q.Terms {
					if q.Terms[j].Stem == ts[k].stem {
						q.Terms[j].Owner = true
					}
				}
			}
			if isContent(t) && !softTerms[t.stem] {
				add(t.stem, true)
			}
			start = i + 1
			continue
		}
		asks := askFillers[t.stem] || askFillers[t.low]
		if !isContent(t) && !(concepts[t.stem] != nil && !auxiliaries[t.low] && !prepositions[t.low] &&
			!fillers[t.low] && !questionWords[t.low]) || asks && concepts[t.stem] == nil ||
			slices.Contains(q.Before, t.stem) {
			continue
		}
		for w := range strings.FieldsSeq(t.stem) {
			add(w, i > 0 && (relation(ts, i-1) || t.cap && categories[t.low] == "" && concepts[t.stem] == nil))
		}
	}
}

// relation reports whether a person follows the possessive at i, as in "my sister". A question about her is not about
// the asker.
func relation(ts []token, i int) bool {
	return ts[i].is("my", "our") && i+1 < len(ts) && (people[ts[i+1].stem] || strings.HasSuffix(ts[i+1].low, "-in-law"))
}

// vocabulary has the stems and concepts of a text, which can cover the terms of a question.
type vocabulary struct {
	stems    map[string]bool
	concepts map[string]bool
	amounts  bool
	spoke    string // the speaker, if the text is about someone else
	self     bool   // a speaker with a name says "I"
}

// tokens are the words of a sentence, with the values whose kind is clear from their form.
type tokens struct {
	ts    []token
	typed []Value
}

// readTokens is Read that also returns the words of all sentences, questions too. Words are split and stemmed once.
func readTokens(text, speaker string) (frames []Frame, words []tokens) {
	for _, s := range sentences(text) {
		ts := tokenize(s)
		if !endsAsking(s) {
			frames = appendSentence(frames, slices.Clone(ts), speaker)
		}
		words = append(words, tokens{ts, typedValues(ts)})
	}
	return frames, words
}

// vocabularyOf returns the vocabulary of a text and its parsed statements.
func vocabularyOf(text []tokens, who string, frames []Frame) vocabulary {
	v := vocabulary{stems: map[string]bool{}, concepts: map[string]bool{}}
	note := func(stem string) {
		for w := range strings.FieldsSeq(stem) {
			v.stems[w] = true
		}
		for _, c := range concepts[stem] {
			v.concepts[c] = true
		}
	}
	for _, s := range text {
		for _, t := range s.ts {
			switch {
			case selfWords[t.low] && speakerKey(who) == "":
				v.stems[SelfTerm] = true
			case selfWords[t.low]:
				v.self = true
			case t.low == "user":
				v.stems[SelfTerm], v.stems["user"] = true, true
			case teamWords[t.low]:
				v.stems[TeamTerm] = true
			default:
				note(t.stem)
				if strings.Contains(t.text, " ") { // a phrase: a question may have only one of its words
					for w := range strings.FieldsSeq(strings.ToLower(t.text)) {
						note(stemOf(w))
					}
				}
				if c := categories[t.low]; c != "" {
					v.concepts[c] = true
				}
			}
		}
		for _, value := range s.typed {
			switch value.Kind {
			case KindAmount, KindNumber, KindPercent:
				v.amounts = true
			}
		}
	}
	kin := false
	for _, f := range frames { // implied terms: "joined Globex" is about an employer
		for _, t := range f.topic {
			note(t)
		}
		kin = kin || f.kin
	}
	if kin { // "my sister lives in Porto" is not about the speaker
		v.spoke = speakerKey(who)
		return v
	}
	for name := range strings.FieldsSeq(strings.ToLower(who)) {
		v.stems[stemOf(name)], v.stems[name] = true, true
	}
	return v
}

// covers returns how well the words of a text cover a term of a question, in [0,1].
func (v vocabulary) covers(t Term) float64 {
	if v.stems[t.Stem] {
		return 1
	}
	if t.Stem == SelfTerm && v.stems[TeamTerm] || t.Stem == TeamTerm && v.stems[SelfTerm] {
		return 1
	}
	switch {
	case t.Stem == v.spoke && t.Stem != "":
		return namedSelf
	case t.Stem == SelfTerm && v.self:
		return namedSelf
	case t.Stem == TeamTerm && !v.self:
		return ownerless // a statement without an owner may be about us
	case t.Stem == SelfTerm:
		return ownerless / 2
	}
	for _, c := range concepts[t.Stem] {
		if v.concepts[c] {
			return conceptCover
		}
	}
	return 0
}

// ownerless is the coverage of "we" by a text that names no owner.
const ownerless = 0.7

// namedSelf is the coverage of the asker, who has no name, by "I" of a named speaker: they may be the same person.
const namedSelf = 0.5

// conceptCover is the coverage of a term by another word of the same concept.
const conceptCover = 0.85
