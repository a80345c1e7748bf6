package question

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/language"
	"github.com/mneme/mneme/memory/lexicon"
)

// Question is a parsed question.
type Question struct {
	Past     bool // it is about the past
	Original bool // it asks how it was at first

	Before []string // stems of the value whose predecessor it asks for: "before Oslo"
	Terms  []Term   // its content words
	Asks   bool     // it has the form of a question; otherwise it is a list of words or a request
	Amount bool     // it asks how much or how many
	Value  bool     // it asks for a current value: see asksValue

	owners  owners
	who     bool
	kind    asked
	words   []content // its content words other than owners and Before
	total   float64   // weight of words
	meaning lexicon.Vector
	dates   []string // keys of the days that it asks about
}

// Term is a content word of a question.
type Term struct {
	Stem  string
	Owner bool // it names an owner: a name, "my", the thing asked about
}

// askFillers has words that occur in questions about any subject.
var askFillers = english.Stems(`
	tell know describe explain list give remind summarize summarise discuss mention talk say said
	said want ask show think like_to help find detail information info example kind type sort name anything exactly
	again please current currently recent recently now latest about many much any ever used previously originally
	before former formerly previous initial initially`)

// pastCues has words of questions about the past.
var pastCues = english.Words(
	"previously previous formerly former originally original initially usedto inthepast prior earlier")

// originalCues are the past cues of questions about the first value.
var originalCues = english.Words("original originally initial initially")

// Read parses a question.
func Read(text string) Question {
	text = norm.NFC.String(text) // as in ReadText
	ts := english.Tokenize(strings.TrimSpace(text))
	asOccupation(ts)
	q := Question{Value: asksValue(text), kind: askedKind(ts)}
	did := slices.ContainsFunc(ts, func(t english.Token) bool {
		return t.Is("did", "was", "were", "had", "usedto") || english.PastTense(t)
	})
	q.Asks = strings.HasSuffix(strings.TrimRight(text, "\"')] "), "?") || len(ts) > 2 && asks(ts)
	for i, t := range ts {
		switch {
		case pastCues[t.Low]:
			q.Past, q.Original = true, q.Original || originalCues[t.Low]
		case did && i > 0 && (t.Low == "recently" && ts[i-1].Low == "until" ||
			t.Low == "one" && ts[i-1].Low == "last" ||
			t.Low == "last" && i > 1 && ts[i-2].Low == "until"):
			q.Past = true
		case did && i > 1 && t.Is("beginning", "start", "outset") && ts[i-2].Is("at", "in"):
			q.Past, q.Original = true, true
		case t.Low == "before" && i+1 == len(ts):
			q.Past = true
		case t.Low == "use" && did && i+1 < len(ts) && ts[i+1].Low == "to":
			q.Past = true
		case t.Low == "first" && i > 0 && ts[i-1].Low == "at":
			q.Past, q.Original = did, did
		case t.Low == "old" && i > 0 && ts[i-1].Low != "how" && i+1 < len(ts) && !english.Articles[ts[i-1].Low]:
			q.Past = true
		case t.Low == "before" && did && (i+1 == len(ts) || !english.EndsGerund(ts[i+1]) || i+2 < len(ts)):
			q.Past = true
			for _, w := range ts[i+1:] {
				if (english.IsContent(w) || w.Cap) && !english.EndsGerund(w) {
					q.Before = append(q.Before, strings.Fields(w.Stem)...)
				}
				if w.End != 0 {
					break
				}
			}
		case t.Low == "how" && i+1 < len(ts) && ts[i+1].Is("much", "many"):
			q.Amount = true
		}
	}
	dated := make([]bool, len(ts)) // the time channel searches for times and dates
	values := frame.TypedValues(ts)
	for _, v := range values {
		for i := v.From; i < v.To && (v.Kind == frame.KindDate || v.Kind == frame.KindTime); i++ {
			dated[i] = true
		}
	}
	q.terms(ts, dated)
	q.owners = ownersOf(ts, q.Terms)
	q.readWords(ts, dated)
	q.readDates(values)
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

// NamesValueOf reports whether a text has one of the words of the value whose predecessor the question asks for.
func (q Question) NamesValueOf(t Text) bool {
	return slices.ContainsFunc(q.Before, func(stem string) bool { return t.vocabulary.covers(Term{Stem: stem}) == 1 })
}

// asks reports whether a sentence begins like a question: "which", "is", "for whom".
func asks(ts []english.Token) bool {
	return english.QuestionWords[ts[0].Low] || english.IsAux(ts[0]) ||
		len(ts) > 3 && english.Prepositions[ts[0].Low] && english.QuestionWords[ts[1].Low]
}

// Readable reports whether a text may be English, the only language that this package reads: it has only Latin letters,
// and its frequent words are not those of another language.
func Readable(text string) bool {
	other := func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }
	return !strings.ContainsFunc(text, other) && !language.IsForeign(text)
}

// maxClauses is the number of clauses into which a text is split. A text with more is not a question of a person, and
// each clause is compared with every candidate.
const maxClauses = 8

// Clauses splits a text with several questions: "which seat does she want, and which trips need approval?" The last of
// maxClauses clauses has the rest of the text.
func Clauses(text string) []string {
	ts := strings.Fields(text)
	var out []string
	start := 0
	for i := 3; i < len(ts)-2 && len(out) < maxClauses-1; i++ {
		joins := strings.EqualFold(ts[i], "and") || strings.HasSuffix(ts[i-1], "?")
		next := ts[i]
		if strings.EqualFold(ts[i], "and") {
			next = ts[i+1]
		}
		if joins && english.QuestionWords[strings.ToLower(next)] {
			out = append(out, strings.Join(ts[start:i], " ")+"?")
			start = i
		}
	}
	return append(out, strings.Join(ts[start:], " "))
}

// terms collects the content words. Possessives and names give the owners.
func (q *Question) terms(ts []english.Token, dated []bool) {
	add := func(stem string, owner bool) {
		if stem == "" || slices.ContainsFunc(q.Terms, func(t Term) bool { return t.Stem == stem }) {
			return
		}
		q.Terms = append(q.Terms, Term{stem, owner})
	}
	start := 0
	for i, t := range ts {
		if english.Articles[t.Low] || english.Prepositions[t.Low] || english.IsAux(t) || english.QuestionWords[t.Low] {
			start = i + 1
		}
		switch {
		case dated[i], relation(ts, i):
			continue
		case english.SelfWords[t.Low]:
			add(english.SelfTerm, true)
			continue
		case english.TeamWords[t.Low]:
			add(english.TeamTerm, true)
			continue
		case t.Poss:
			for k := start; k < i; k++ {
				for j := range q.Terms {
					if q.Terms[j].Stem == ts[k].Stem {
						q.Terms[j].Owner = true
					}
				}
			}
			if english.IsContent(t) && !english.SoftTerms[t.Stem] {
				add(t.Stem, true)
			}
			start = i + 1
			continue
		}
		asks := askFillers[t.Stem] || askFillers[t.Low]
		if !english.IsContent(t) && !(english.Concepts[t.Stem] != nil && !english.Auxiliaries[t.Low] &&
			!english.Prepositions[t.Low] &&
			!english.Fillers[t.Low] && !english.QuestionWords[t.Low]) || asks && english.Concepts[t.Stem] == nil ||
			slices.Contains(q.Before, t.Stem) {
			continue
		}
		for w := range strings.FieldsSeq(t.Stem) {
			add(w, i > 0 && (relation(ts, i-1) || t.Cap && english.Categories[t.Low] == "" &&
				english.Concepts[t.Stem] == nil))
		}
	}
}

// relation reports whether a person follows the possessive at i, as in "my sister". A question about her is not about
// the asker, unless it asks who she is: "who is our landlord".
func relation(ts []english.Token, i int) bool {
	asksWho := i > 1 && ts[i-2].Is("who", "whom") && english.IsBe(ts[i-1]) &&
		!slices.ContainsFunc(ts[min(len(ts), i+2):], func(t english.Token) bool { return !english.NowCues[t.Low] })
	return ts[i].Is("my", "our") && i+1 < len(ts) && !asksWho && (english.People[ts[i+1].Stem] ||
		strings.HasSuffix(ts[i+1].Low, "-in-law"))
}

// vocabulary has the stems and concepts of a text, which can cover the terms of a question.
type vocabulary struct {
	stems    map[string]bool
	concepts map[string]bool
	amounts  bool
	spoke    string // the speaker, if the text is about someone else
	self     bool   // a speaker with a name says "I"
	kin      bool   // its only words for the speaker are those of "my sister" and the like
}

// vocabularyOf returns the vocabulary of a text and its parsed statements.
func vocabularyOf(text []frame.Sentence, who string, frames []frame.Frame) vocabulary {
	v := vocabulary{stems: map[string]bool{}, concepts: map[string]bool{}}
	note := func(stem string) {
		for w := range strings.FieldsSeq(stem) {
			v.stems[w] = true
		}
		for _, c := range english.Concepts[stem] {
			v.concepts[c] = true
		}
	}
	asker, relations := 0, 0
	for _, s := range text {
		for i, t := range s.Tokens {
			if english.SelfWords[t.Low] || english.TeamWords[t.Low] || t.Low == "user" {
				asker++
				if relation(s.Tokens, i) {
					relations++
				}
			}
			switch {
			case english.SelfWords[t.Low] && frame.SpeakerKey(who) == "":
				v.stems[english.SelfTerm] = true
			case english.SelfWords[t.Low]:
				v.self = true
			case t.Low == "user":
				v.stems[english.SelfTerm], v.stems["user"] = true, true
			case english.TeamWords[t.Low]:
				v.stems[english.TeamTerm] = true
			default:
				note(t.Stem)
				for _, part := range identifierParts(t.Text) {
					note(english.StemOf(part))
				}
				if strings.Contains(t.Text, " ") { // a phrase: a question may have only one of its words
					for w := range strings.FieldsSeq(strings.ToLower(t.Text)) {
						note(english.StemOf(w))
					}
				}
				if c := english.Categories[t.Low]; c != "" {
					v.concepts[c] = true
				}
			}
		}
		for _, value := range s.Values {
			switch value.Kind {
			case frame.KindAmount, frame.KindNumber, frame.KindPercent:
				v.amounts = true
			}
		}
	}
	v.kin = asker > 0 && asker == relations
	kin := false
	for _, f := range frames { // implied terms: "joined Globex" is about an employer
		for _, t := range f.Topic {
			note(t)
			if english.People[t] && f.Copular && len(f.Values) == 1 && f.Values[0].Kind == frame.KindName {
				v.concepts[english.ConceptName] = true // "Clara is my wife"
			}
		}
		kin = kin || f.Kin
	}
	if kin { // "my sister lives in Porto" is not about the speaker
		v.spoke = frame.SpeakerKey(who)
		return v
	}
	for name := range strings.FieldsSeq(strings.ToLower(who)) {
		v.stems[english.StemOf(name)], v.stems[name] = true, true
	}
	return v
}

// covers returns how well the words of a text cover a term of a question, in [0,1].
func (v vocabulary) covers(t Term) float64 {
	if v.stems[t.Stem] {
		return 1
	}
	if t.Stem == english.SelfTerm && v.stems[english.TeamTerm] || t.Stem == english.TeamTerm &&
		v.stems[english.SelfTerm] {
		return 1
	}
	switch {
	case t.Stem == v.spoke && t.Stem != "":
		return namedSelf
	case t.Stem == english.SelfTerm && v.self:
		return namedSelf
	case t.Stem == english.TeamTerm && !v.self:
		return ownerless // a statement without an owner may be about us
	case t.Stem == english.SelfTerm:
		return ownerless / 2
	}
	for _, c := range english.Concepts[t.Stem] {
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
