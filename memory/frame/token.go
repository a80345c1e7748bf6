package frame

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/mneme/mneme/memory/normalize"
)

// token is one word of a statement.
type token struct {
	text string // as written, without the punctuation around it
	low  string // lower case, with straight apostrophes; a phrase of the lexicon is one token
	stem string // base form of irregular verbs, otherwise the Snowball stem
	end  rune   // punctuation mark after it that ends a clause: one of , ; : . ! ? ) – or 0
	poss bool   // it had a possessive 's
	cap  bool   // it starts with a capital
}

// is reports whether the word is one of the given words.
func (t token) is(words ...string) bool { return slices.Contains(words, t.low) }

func (t token) isChangeOfMind() bool { return t.low == "changemind" }

const (
	openers = "\"'“”‘’«([{*`„!&|<>~=:"
	closers = "\"'“”‘’»)]}*`.,!?;:…&|<>~="
)

// tokenize splits one sentence into tokens. Contractions become two: "don't" is do and not.
func tokenize(s string) []token {
	s = normalize.Apostrophes.Replace(dashes.Replace(s))
	out := make([]token, 0, 16)
	for field := range strings.FieldsSeq(s) {
		core := strings.TrimLeft(field, openers)
		trimmed := strings.TrimRight(core, closers)
		end := clauseEnd(core[len(trimmed):])
		if titles[trimmed] && core[len(trimmed):] == "." {
			end = 0
		}
		if trimmed == "" {
			if end != 0 && len(out) > 0 {
				out[len(out)-1].end = end
			}
			continue
		}
		if trimmed == "—" || trimmed == "-" || trimmed == "->" {
			if len(out) > 0 {
				out[len(out)-1].end = '–'
			}
			continue
		}
		out = appendWord(out, trimmed, end)
	}
	return joinPhrases(out)
}

// titles has abbreviations that stand before a name, so that their full stop ends nothing.
var titles = words("Mr Mrs Ms Dr Prof St Sr Jr")

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

func appendWord(out []token, text string, end rune) []token {
	low := strings.ToLower(text)
	first, _ := utf8.DecodeRuneInString(text)
	t := token{text: text, low: low, end: end, cap: unicode.IsUpper(first)}
	base, rest, found := strings.Cut(low, "'")
	if !found || base == "" {
		return append(out, withStem(t))
	}
	split := func(head, tail string) []token {
		a := t
		a.text, a.low, a.end = text[:min(len(text), len(head))], head, 0
		return append(out, withStem(a), withStem(token{text: tail, low: tail, end: end}))
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
		t.text, t.low, t.poss = text[:len(base)], base, true
	case "":
		t.text, t.low, t.poss = text[:len(base)], base, strings.HasSuffix(base, "s")
	}
	return append(out, withStem(t))
}

// resolvePossessives turns 's into "is" if the next word cannot be owned: "the standup's at 10".
func resolvePossessives(ts []token) []token {
	for i := 0; i < len(ts); i++ {
		if !ts[i].poss {
			continue
		}
		if ts[i].end == 0 && i+1 < len(ts) && !isAfterBe(ts[i+1]) {
			continue
		}
		if i+1 == len(ts) || ts[i].end != 0 {
			continue // "it is Maya's"
		}
		ts[i].poss = false
		be := withStem(token{text: "is", low: "be"})
		ts = append(ts[:i+1], append([]token{be}, ts[i+1:]...)...)
	}
	return ts
}

// isAfterBe reports whether a word seldom follows a possessive, so that 's means "is".
func isAfterBe(t token) bool {
	return prepositions[t.low] || articles[t.low] || t.is("not", "now", "been", "going", "moving", "always") ||
		strings.HasSuffix(t.low, "ing") && t.low != "meeting" &&
			t.low != "parking" && t.low != "training" && t.low != "building" && t.low != "wedding" || hasDigit(t.low)
}

func withStem(t token) token {
	t.stem = stemOf(t.low)
	return t
}

// stemOf returns the stem that the forms of a word share.
func stemOf(low string) string {
	if base, ok := irregular[low]; ok {
		low = base
	}
	if len(low) < 3 || strings.ContainsAny(low, "0123456789_@/.") {
		return low
	}
	if stem, ok := knownStems.get(low); ok {
		return stem
	}
	stem := english.Stem(low, true)
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

// joinPhrases makes one token of the phrases of the lexicon: "no longer", "on call".
func joinPhrases(ts []token) []token {
	ts = resolvePossessives(ts)
	out := ts[:0]
	for i := 0; i < len(ts); {
		n, name := phraseAt(ts[i:])
		if name == "calloff" && isBe(ts[i]) && i+n < len(ts) && ts[i+n-1].end == 0 && isContent(ts[i+n]) {
			n = 0 // "Nils is off sick"
		}
		if n == 0 {
			out = append(out, ts[i])
			i++
			continue
		}
		t := ts[i]
		last := ts[i+n-1]
		words := make([]string, n)
		for k := range n {
			words[k] = ts[i+k].text
		}
		t.text, t.low, t.stem, t.end, t.poss = strings.Join(words, " "), name, stemOf(name), last.end, last.poss
		out = append(out, t)
		i += n
	}
	return out
}

// phraseAt returns the length and the name of the longest phrase that starts ts.
func phraseAt(ts []token) (n int, name string) {
	for _, p := range phraseTable[ts[0].stem] {
		if len(p.stems) <= n || len(p.stems) > len(ts) {
			continue
		}
		match := true
		for k, stem := range p.stems {
			if ts[k].stem != stem || k < len(p.stems)-1 && ts[k].end != 0 {
				match = false
				break
			}
		}
		if match {
			n, name = len(p.stems), p.name
		}
	}
	return n, name
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// sentences splits a text into sentences. A full stop in a word, after a digit or after an abbreviation does not end a
// sentence.
func sentences(text string) []string {
	var out []string
	start := 0
	for i, r := range text {
		switch r {
		case '.', '!', '?', '\n':
		default:
			continue
		}
		next := strings.TrimLeft(text[i+1:], closers)
		if r != '\n' && next != "" && !strings.HasPrefix(next, " ") && !strings.HasPrefix(next, "\n") {
			continue
		}
		if r == '.' {
			following := strings.TrimLeft(next, " ")
			word := text[start:i]
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
