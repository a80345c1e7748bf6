package english

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	snowball "github.com/kljensen/snowball/english"

	"github.com/mneme/mneme/memory/normalize"
)

// Token is one word of a statement.
type Token struct {
	Text string // as written, without the punctuation around it
	Low  string // lower case, with straight apostrophes; a phrase of the lexicon is one token
	Stem string // base form of irregular verbs, otherwise the Snowball stem
	End  rune   // punctuation mark after it that ends a clause: one of , ; : . ! ? ) – or 0
	Poss bool   // it had a possessive 's
	Cap  bool   // it starts with a capital

	noun bool // it is a noun, although it has the form of a verb that says nothing of its own: "the book"
}

// Is reports whether the word is one of the given words.
func (t Token) Is(words ...string) bool { return slices.Contains(words, t.Low) }

// IsChangeOfMind reports whether the word is the phrase "I changed my mind".
func (t Token) IsChangeOfMind() bool { return t.Low == "changemind" }

const (
	openers = "\"'“”‘’«([{*`„!&|<>~=:"
	closers = "\"'“”‘’»)]}*`.,!?;:…&|<>~="
)

// Tokenize splits one sentence into tokens. Contractions become two: "don't" is do and not.
func Tokenize(s string) []Token {
	s = apartFromIdeographs(normalize.Apostrophes.Replace(dashes.Replace(s)))
	out := make([]Token, 0, 16)
	for field := range strings.FieldsSeq(s) {
		core := strings.TrimLeft(field, openers)
		trimmed := strings.TrimRight(core, closers)
		end := clauseEnd(core[len(trimmed):])
		if titles[trimmed] && core[len(trimmed):] == "." {
			end = 0
		}
		if trimmed == "" {
			if end != 0 && len(out) > 0 {
				out[len(out)-1].End = end
			}
			continue
		}
		if trimmed == "—" || trimmed == "-" || trimmed == "->" {
			if len(out) > 0 {
				out[len(out)-1].End = '–'
			}
			continue
		}
		out = appendWord(out, trimmed, end)
	}
	return joinPhrases(out)
}

// titles has abbreviations that stand before a name, so that their full stop ends nothing.
var titles = Words("Mr Mrs Ms Dr Prof St Sr Jr")

var dashes = strings.NewReplacer("—", " — ", "–", " — ", "→", " -> ", "=>", " -> ", "->", " -> ")

// clauseEnd returns the strongest mark in a run of closing punctuation, or 0 if the run does not end a clause.
func clauseEnd(marks string) rune {
	var end rune
	for _, r := range marks {
		switch r {
		case '.', '!', '?', ';', ':':
			return r
		case ',', ')', '…':
			end = ','
		}
	}
	return end
}

func appendWord(out []Token, text string, end rune) []Token {
	low := strings.ToLower(text)
	first, _ := utf8.DecodeRuneInString(text)
	if text == "IT" || text == "US" {
		// the department or the country, not a pronoun
		low = strings.ToLower(text[:1]) + "." + strings.ToLower(text[1:])
	}
	t := Token{Text: text, Low: low, End: end, Cap: unicode.IsUpper(first)}
	base, rest, found := strings.Cut(low, "'")
	if !found || base == "" {
		return append(out, withStem(t))
	}
	split := func(head, tail string) []Token {
		a := t
		a.Text, a.Low, a.End = text[:min(len(text), len(head))], head, 0
		return append(out, withStem(a), withStem(Token{Text: tail, Low: tail, End: end}))
	}
	switch rest {
	case "m", "re":
		return split(base, "be")
	case "ve":
		return split(base, "have")
	case "ll":
		return split(base, "will")
	case "d":
		return split(base, "would")
	case "t":
		head := strings.TrimSuffix(base, "n")
		switch head {
		case "ca":
			head = "can"
		case "wo":
			head = "will"
		}
		return split(head, "not")
	case "s":
		if beContractions[base] {
			return split(base, "be")
		}
		t.Text, t.Low, t.Poss = text[:len(base)], base, true
	case "":
		t.Text, t.Low, t.Poss = text[:len(base)], base, strings.HasSuffix(base, "s")
	}
	return append(out, withStem(t))
}

// resolvePossessives turns 's into "is" if the next word cannot be owned: "the standup's at 10".
func resolvePossessives(ts []Token) []Token {
	for i := 0; i < len(ts); i++ {
		if !ts[i].Poss {
			continue
		}
		if ts[i].End == 0 && i+1 < len(ts) && (!isAfterBe(ts[i+1]) || gerundOfNoun(ts[i+1:])) {
			continue
		}
		if i+1 == len(ts) || ts[i].End != 0 {
			continue // "it is Maya's"
		}
		ts[i].Poss = false
		be := withStem(Token{Text: "is", Low: "be"})
		ts = append(ts[:i+1], append([]Token{be}, ts[i+1:]...)...)
	}
	return ts
}

// isAfterBe reports whether a word seldom follows a possessive, so that 's means "is".
func isAfterBe(t Token) bool {
	return Prepositions[t.Low] || Articles[t.Low] || t.Is("not", "now", "been", "going", "moving", "always") ||
		strings.HasSuffix(t.Low, "ing") && t.Low != "meeting" &&
			t.Low != "parking" && t.Low != "training" && t.Low != "building" && t.Low != "wedding" || HasDigit(t.Low)
}

// gerundOfNoun reports whether the first word describes a noun that has a verb of its own: "swimming lesson is", after
// "Tilda's".
func gerundOfNoun(ts []Token) bool {
	return len(ts) > 2 && EndsGerund(ts[0]) && ts[0].End == 0 && ts[1].End == 0 && !ts[1].Cap && IsContent(ts[1]) &&
		!IsAdverb(ts[1]) && (IsAux(ts[2]) || IsBe(ts[2]) || ts[2].Low == "got")
}

func withStem(t Token) Token {
	t.Stem = StemOf(t.Low)
	return t
}

// StemOf returns the stem that the forms of a word share. A version has the same stem with and without its v.
func StemOf(low string) string {
	if len(low) > 3 && low[0] == 'v' && low[1] <= '9' && low[1] >= '0' && strings.Contains(low, ".") {
		return low[1:]
	}
	if base, ok := irregular[low]; ok {
		low = base
	}
	if len(low) < 3 || strings.ContainsAny(low, "0123456789_@/.") {
		return low
	}
	return Snowball(low)
}

// Snowball returns the stem of a word in lower case by the Snowball algorithm, also of stop words. Unlike StemOf it
// knows no irregular verbs.
func Snowball(low string) string {
	if stem, ok := knownStems.get(low); ok {
		return stem
	}
	stem := snowball.Stem(low, true)
	knownStems.add(low, stem)
	return stem
}

// knownStems has the stems of parsed words. Most texts consist of a few thousand words, and stemming is most of the
// cost of parsing.
var knownStems stemCache

// stemCache keeps the last words that were added, and as many that were added before them. The zero value is ready.
type stemCache struct {
	mu            sync.RWMutex
	young, before map[string]string
}

// maxStems is the size of each of the two maps of a stemCache.
const maxStems = 20_000

func (c *stemCache) get(low string) (stem string, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if stem, ok = c.young[low]; !ok {
		stem, ok = c.before[low]
	}
	return stem, ok
}

func (c *stemCache) add(low, stem string) {
	low = strings.Clone(low) // it may be a part of a long text
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || len(c.young) >= maxStems {
		c.young, c.before = make(map[string]string, 1024), c.young
	}
	c.young[low] = stem
}

// HasDigit reports whether a word has a digit.
func HasDigit(s string) bool {
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			return true
		}
	}
	return false
}

// maxAbbreviation is the length of the longest word of abbreviations, in bytes.
const maxAbbreviation = 6

// Sentences splits a text into sentences. A full stop in a word, after a digit or after an abbreviation does not end a
// sentence.
func Sentences(text string) []string {
	var out []string
	start := 0
	closed := 0 // where the closers after the current character end; a run of them is read once
	for i, r := range text {
		switch r {
		case '.', '!', '?', '\n':
		default:
			continue
		}
		if i+1 > closed {
			closed = len(text) - len(strings.TrimLeft(text[i+1:], closers))
		}
		next := text[closed:]
		if r != '\n' && next != "" && !strings.HasPrefix(next, " ") && !strings.HasPrefix(next, "\n") {
			continue
		}
		if r == '.' {
			following := strings.TrimLeft(next, " ")
			word := text[max(start, i-maxAbbreviation-1):i]
			word = strings.ToLower(word[strings.LastIndexByte(word, ' ')+1:])
			if abbreviations[word] || following != "" && startsLower(following) {
				continue
			}
		}
		if s := strings.TrimSpace(text[start : i+1]); s != "" {
			out = append(out, s)
		}
		start = i + 1
	}
	if s := strings.TrimSpace(text[start:]); s != "" {
		out = append(out, s)
	}
	return out
}

func startsLower(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}
