package question

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/lexicon"
)

// aspect is what the verbs of a text say about time and truth.
type aspect struct {
	present []string // stems of verbs for what is so, or is done as a habit
	done    []string // stems of verbs for what happened, in the past tense or the perfect
	result  float64  // how near a verb for what happened is to one that leaves things in another state, in [0,1]
	perfect bool     // "has become"
	once    bool     // it happens at one time: "yesterday", "this week", "on the trip"
	span    bool     // it is limited to one span of time: "this week"
	unreal  bool     // it is possible, wished, asked, dreamt or advised, not so
	told    bool     // it is what another person thinks, asks or advises
}

// determiner says which one of its kind a noun phrase means.
type determiner struct {
	definite, indefinite bool
	other                bool   // "the other team"
	fresh                bool   // "my new passport"
	of                   string // stem of the possessor; selfOwner for "my" and "our", otherOwner for "her"
	modifier             string // stem of the word right before a noun, if that is part of the phrase
}

const (
	selfOwner  = "@self"
	otherOwner = "@other"
)

var (
	onceWords  = english.Words(`trip holiday party fair journey occasion moment wedding`)
	onceBefore = english.Words("this next that")
	spans      = english.Words("week weekend month morning afternoon evening night time year season quarter sprint")
	modals     = english.Words("might may could would should shall")
	// opinions has verbs for what one thinks, and sayings those for what one tells.
	opinions   = english.Stems("think claim believe suggest recommend argue guess reckon assume joke")
	sayings    = english.Stems("say ask tell insist write advise warn mention")
	invariable = english.Words("put cut let set quit") // besides english.PastAsPresent
	otherOnes  = english.Words("other another second others former previous old ex")
)

// resultingVerbs leave things in another state: the kinds of verbs that WordNet calls change, possession, motion and
// social.
const resultingVerbs = `gave sold donated bought acquired received lost finished destroyed removed demolished
	died killed fixed repaired closed opened broke built married divorced hired fired elected appointed graduated
	moved left arrived returned signed cancelled replaced started stopped joined installed collected delivered`

var (
	resulting     = english.Words(resultingVerbs)
	nearResulting = resemblanceTo(resultingVerbs)
)

// aspectOf reads the verbs of the sentences of a text.
func aspectOf(sentences []frame.Sentence) aspect {
	var out aspect
	for _, s := range sentences {
		out.read(s.Tokens)
	}
	return out
}

func (a *aspect) read(ts []english.Token) {
	if n := len(ts); n == 0 || ts[n-1].End == '?' {
		a.unreal = a.unreal || n > 0
		return
	}
	for i, t := range ts {
		a.readOnce(ts, i)
		modal := modals[t.Low] && !t.Cap
		a.unreal = a.unreal || modal || t.Low == "whether" || english.Attitudes[t.Stem] && !t.Cap && i+1 < len(ts) &&
			(i == 0 || !english.Articles[ts[i-1].Low]) &&
			(ts[i+1].Is("to", "of", "that", "about") || english.EndsGerund(ts[i+1]))
		a.told = a.told || othersView(ts, i)
		switch done, verb := happened(ts, i); {
		case done:
			a.done = append(a.done, t.Stem)
			a.result = max(a.result, nearestVerb(t.Low))
			a.perfect = a.perfect || i > 0 && ts[i-1].Is("have", "has")
		case verb:
			a.present = append(a.present, t.Stem)
		}
	}
}

// othersView reports whether the verb at i says what another person thinks, asks or advises: "Karl says I should …",
// "he asked whether …". What another says that is so may be so.
func othersView(ts []english.Token, i int) bool {
	t := ts[i]
	if !opinions[t.Stem] && !sayings[t.Stem] || i == 0 || i+1 >= len(ts) || t.End != 0 || english.SelfWords[ts[i-1].Low] ||
		english.TeamWords[ts[i-1].Low] || english.Articles[ts[i-1].Low] || english.Prepositions[ts[i-1].Low] {
		return false
	}
	return slices.ContainsFunc(ts[i+1:], func(w english.Token) bool {
		return opinions[t.Stem] && (english.IsAux(w) || w.Low == "that") ||
			w.Is("should", "whether") || w.Low == "if" && t.Stem == english.StemOf("ask")
	})
}

// readOnce reads words for one time at i.
func (a *aspect) readOnce(ts []english.Token, i int) {
	t := ts[i]
	switch {
	case t.Is("today", "yesterday", "tonight", "tomorrow", "ago"), t.Low == "once" && i+1 == len(ts):
		a.once = true
	case i > 0 && spans[t.Low] && onceBefore[ts[i-1].Low]:
		a.once, a.span = true, true
	case i > 1 && onceWords[t.Low] && ts[i-2].Is("on", "at", "for", "during", "in"):
		a.once = true
	}
}

// happened reports whether the word at i is a verb for what happened, and whether it is another verb.
func happened(ts []english.Token, i int) (done, verb bool) {
	t := ts[i]
	var before english.Token
	if i > 0 {
		before = ts[i-1]
	}
	if t.Cap && i > 0 || t.Poss || english.Articles[before.Low] || english.Possessives[before.Low] || english.IsBe(t) ||
		t.Low == "used" {
		return false, false
	}
	past := english.PastTense(t) || (invariable[t.Low] || english.PastAsPresent(t)) && i > 0 &&
		!before.Is("to", "i", "we", "you", "they", "not") &&
		!english.IsAux(before)
	if english.IsAux(t) && !(t.Low == "had" && i+1 < len(ts) && begins(ts[i+1])) {
		return false, false
	}
	switch {
	case past && english.IsBe(before) && before.Is("be", "is", "are", "am"):
		return false, true // "is kept"
	case past:
		return true, true
	}
	return false, english.IsVerb(t) && !english.Prepositions[before.Low]
}

// begins reports whether a noun phrase may begin with a word.
func begins(t english.Token) bool {
	return english.IsContent(t) || english.Articles[t.Low] || english.Possessives[t.Low]
}

// nearestVerb returns the similarity of a verb to the nearest that leaves things in another state.
func nearestVerb(low string) float64 {
	if resulting[low] {
		return 1
	}
	return nearResulting().of(lexicon.PlaceOf(low))
}

// determiners returns the determiner of each word.
func determiners(ts []english.Token) []determiner {
	out := make([]determiner, len(ts))
	var d determiner
	last := ""
	for i, t := range ts {
		switch {
		case t.Is("the", "this", "that", "these", "those"):
			d = determiner{definite: true}
		case t.Is("a", "an", "another", "some", "any", "every", "each", "no"):
			d = determiner{indefinite: true, other: t.Low == "another"}
		case t.Is("my", "our"):
			d = determiner{definite: true, of: selfOwner}
		case english.Possessives[t.Low]:
			d = determiner{definite: true, of: otherOwner}
		case t.Poss:
			out[i] = d
			d = determiner{definite: true, of: t.Stem}
			last = ""
			continue
		case english.Prepositions[t.Low], english.Conjunctions[t.Low], english.Pronouns[t.Low], english.IsAux(t),
			english.PastTense(t) && !d.definite && !d.indefinite:
			d = determiner{}
		default:
			d.other = d.other || otherOnes[t.Low]
			d.fresh = d.fresh || t.Is("new", "latest")
			out[i] = d
			out[i].modifier = last
			out[i].definite = out[i].definite || t.Cap && i > 0
			if last = ""; english.IsContent(t) {
				last = t.Stem
			}
			if t.End != 0 {
				d, last = determiner{}, ""
			}
			continue
		}
		last = ""
		if t.End != 0 {
			d = determiner{}
		}
	}
	return out
}

// asked is the kind of value that a question asks for.
type asked int

const (
	askedThing asked = iota
	askedWhether
	askedPlace
	askedPerson
	askedWhen
	askedAmount
	askedOften
	askedLength
)

// askedKind returns the kind of value that a question asks for.
func askedKind(ts []english.Token) asked {
	for i, t := range ts {
		next := english.Token{}
		if i+1 < len(ts) {
			next = ts[i+1]
		}
		switch {
		case t.Is("who", "whom", "whose"):
			return askedPerson
		case t.Low == "where":
			return askedPlace
		case t.Low == "when", t.Is("what", "which") && next.Is("time", "day", "date", "month", "year"):
			return askedWhen
		case t.Low == "how" && next.Is("much", "many", "old", "big", "large", "high", "tall", "far"):
			return askedAmount
		case t.Low == "how" && next.Low == "often":
			return askedOften
		case t.Low == "how" && next.Low == "long":
			return askedLength
		case english.QuestionWords[t.Low]:
			return askedThing
		}
	}
	if len(ts) > 0 && english.IsAux(ts[0]) {
		return askedWhether
	}
	return askedThing
}

// gives reports whether a text has a value of the kind that the question asks for, other than those in the question.
func (q *Question) gives(t *Text) bool {
	has := func(kinds ...frame.Kind) bool {
		return slices.ContainsFunc(kinds, func(k frame.Kind) bool { return len(t.typed[k]) > 0 })
	}
	switch q.kind {
	case askedAmount:
		return has(frame.KindAmount, frame.KindNumber, frame.KindPercent)
	case askedWhen:
		return has(frame.KindDate, frame.KindTime)
	case askedOften:
		return has(frame.KindOften)
	case askedLength:
		return has(frame.KindDuration, frame.KindNumber)
	case askedPerson:
		return slices.ContainsFunc(t.words, func(c content) bool { return c.name && nearest(q.words, c) < 1 }) ||
			slices.ContainsFunc(t.owner, func(o string) bool { return !strings.HasPrefix(o, "@") })
	case askedPlace:
		return t.placed
	}
	return slices.ContainsFunc(t.words, func(c content) bool { return c.value && nearest(q.words, c) < 1 })
}
