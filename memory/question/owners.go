package question

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/english"
)

// owners says whose things a question is about.
type owners struct {
	named  []string // stems of names, and of things and people with a possessive: "Dana", "my sister"
	my     bool     // "my", "our", "the user's", except "my sister"
	self   bool     // "I", "we", "the user", except if impersonal
	anyone bool     // an impersonal "I" or "we": "how do I …", "can we …", "what happens if I …"
}

func (o owners) none() bool { return len(o.named) == 0 && !o.my && !o.self }

var (
	possessives = english.Words("my mine our ours")
	tells       = english.Stems("tell show remind give list send let help")
	clauseWords = english.Words("if when after before that while")
	// lookups has verbs of questions about where something is or who does it: "where do I find …"
	lookups = english.Stems("find get see read look reach ask send report contact call submit put need use turn go do")
)

// ownersOf reads whose things a question is about. named are its owners other than the asker.
func ownersOf(ts []english.Token, terms []Term) owners {
	var o owners
	for i, t := range ts {
		user := t.Low == "user" && i > 0 && ts[i-1].Is("the", "this")
		switch {
		case !user && !english.SelfWords[t.Low] && !english.TeamWords[t.Low], relation(ts, i):
		case t.Is("me", "us") && i > 0 && tells[ts[i-1].Stem]: // "tell me"
		case possessives[t.Low], user && t.Poss:
			o.my = true
		case impersonal(ts, i):
			o.anyone = true
		default:
			o.self = true
		}
	}
	for _, t := range terms {
		if t.Owner && t.Stem != english.SelfTerm && t.Stem != english.TeamTerm && !hasDigit(t.Stem) {
			o.named = append(o.named, t.Stem)
		}
	}
	return o
}

// impersonal reports whether the asker at i stands for anyone: the question is about how things are done.
func impersonal(ts []english.Token, i int) bool {
	if i == 0 {
		return false
	}
	before := ts[i-1]
	switch {
	case modals[before.Low], before.Is("can", "must"), clauseWords[before.Low] && i > 1:
		return true
	case before.Is("do") && i > 1 && ts[0].Is("how", "what", "where", "who", "whom", "which", "when"):
		return ts[0].Low == "how" || i+1 < len(ts) && lookups[ts[i+1].Stem]
	}
	return before.Is("do") && i+1 < len(ts) && ts[i+1].Is("need", "have")
}

// subjects has words after whose auxiliary and themselves a verb follows: "did she order".
var subjects = english.Words("i we you he she it they one user")

// verbAt reports whether the word at i of a question is probably its verb. An answer often has another verb.
func verbAt(ts []english.Token, i int) bool {
	return i > 1 && subjects[ts[i-1].Low] && english.IsAux(ts[i-2])
}

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

// specific reports whether a word is an identifier or so rare that a text with it is probably about the same thing.
func (c content) specific() bool { return hasDigit(c.stem) || c.weight >= 1 }

// coveredBy returns how well a text covers the named owners of a question: on average, and the least.
func (o owners) coveredBy(v vocabulary) (share, least float64) {
	if len(o.named) == 0 {
		return 0, 0
	}
	least = 1
	for _, stem := range o.named {
		c := v.covers(Term{Stem: stem})
		share, least = share+c, min(least, c)
	}
	return share / float64(len(o.named)), least
}

// asker returns how well a text covers the asker.
func (v vocabulary) asker() float64 {
	if v.kin {
		return namedSelf
	}
	return v.covers(Term{Stem: english.SelfTerm})
}

// sameOwner reports whether a text is about an owner that the question names.
func (q Question) sameOwner(t Text) bool {
	return q.owners.anyone && (slices.Contains(t.owner, english.SelfTerm) || slices.Contains(t.owner, english.TeamTerm)) ||
		slices.ContainsFunc(q.Terms, func(term Term) bool { return slices.Contains(t.owner, term.Stem) })
}

// identifierParts returns the words of an identifier, in lower case: of "test_invoice_rounding", "services/ledger",
// "LedgerReconciler".
func identifierParts(text string) []string {
	var parts []string
	start, previous := 0, rune(0)
	end := func(at int) {
		if n := at - start; n > 2 && n < len(text) {
			parts = append(parts, strings.ToLower(text[start:at]))
		}
	}
	for i, r := range text {
		switch {
		case unicode.IsSpace(r):
			return nil // a phrase
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
			start = i + len(string(r))
		case unicode.IsUpper(r) && unicode.IsLower(previous):
			end(i)
			start = i
		}
		previous = r
	}
	end(len(text))
	return parts
}
