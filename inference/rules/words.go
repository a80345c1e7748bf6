package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/normalize"
)

// word is one space-separated token of a sentence.
type word struct {
	pre, core, post string // punctuation before, the word, punctuation after
	low             string // core in lower case, apostrophes straight
	quoted          bool   // inside double quotes or back quotes
}

const (
	opening = "\"'“”‘’«([{*`„"
	closing = "\"'“”‘’»)]}*`.,!?;:…。！？"
)

// splitWords cuts a sentence at spaces.
func splitWords(s string) []word {
	fields := strings.Fields(s)
	out := make([]word, len(fields))
	marks := 0
	for i, f := range fields {
		start := 0
		for start < len(f) {
			r, n := utf8.DecodeRuneInString(f[start:])
			if !strings.ContainsRune(opening, r) {
				break
			}
			start += n
		}
		end := len(f)
		for end > start {
			r, n := utf8.DecodeLastRuneInString(f[start:end])
			if !strings.ContainsRune(closing, r) {
				break
			}
			end -= n
		}
		w := word{pre: f[:start], core: f[start:end], post: f[end:]}
		w.low = fold(w.core)
		before := quoteMarks(w.pre)
		marks += before
		w.quoted = marks%2 == 1
		marks += quoteMarks(f) - before
		out[i] = w
	}
	if marks%2 == 1 { // unbalanced: the quoted part is not known
		for i := range out {
			out[i].quoted = false
		}
	}
	quoteSingle(out)
	return out
}

// quoteSingle marks the text in single quotes. They look like apostrophes, so an opening quote must be before a word
// and a closing one after a word.
func quoteSingle(ws []word) {
	open := -1
	for i, w := range ws {
		if open < 0 && (strings.HasSuffix(w.pre, "'") || strings.HasSuffix(w.pre, "‘")) {
			open = i
		}
		if open >= 0 && strings.ContainsAny(w.post, "'’") {
			for k := open; k <= i; k++ {
				ws[k].quoted = true
			}
			open = -1
		}
	}
}

func quoteMarks(s string) int {
	n := 0
	for _, r := range s {
		if r == '"' || r == '“' || r == '”' || r == '`' || r == '«' || r == '»' {
			n++
		}
	}
	return n
}

// fold returns s in lower case, with straight apostrophes.
func fold(s string) string { return strings.ToLower(normalize.Apostrophes.Replace(s)) }

// joinWords returns the sentence made of ws.
func joinWords(ws []word) string {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.pre)
		b.WriteString(w.core)
		b.WriteString(w.post)
	}
	return b.String()
}

// coreText joins the words without the punctuation before the first word and after the last.
func coreText(ws []word) string {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(' ')
			b.WriteString(w.pre)
		}
		b.WriteString(w.core)
		if i < len(ws)-1 {
			b.WriteString(w.post)
		}
	}
	return b.String()
}

// ends reports whether a clause ends after w.
func (w word) ends() bool { return strings.ContainsAny(w.post, ",;:.!?…)]") }

// capital reports whether s starts with an upper-case letter.
func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// capitalize converts the first letter of s to upper case.
func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if !unicode.IsLower(r) {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// stripPossessive removes a final 's, and reports whether s had one.
func stripPossessive(s string) (string, bool) {
	for _, suffix := range [...]string{"'s", "’s"} {
		if rest, ok := strings.CutSuffix(s, suffix); ok && rest != "" {
			return rest, true
		}
	}
	return s, false
}

// ownerForm returns the possessive form of a name or noun: Ana's, James's, the tests'.
func ownerForm(s string) string {
	if low := fold(s); plural(low) && strings.HasPrefix(low, "the ") {
		return s + "'"
	}
	return s + "'s"
}

// hasPrefixWords reports whether the words of ws start with the given ones.
func hasPrefixWords(ws []word, prefix []string) bool {
	if len(ws) < len(prefix) {
		return false
	}
	for i, p := range prefix {
		if ws[i].low != p {
			return false
		}
	}
	return true
}

// phrases is a list of word sequences, found by their first word.
type phrases map[string][][]string

func phraseList(lists ...string) phrases {
	p := phrases{}
	for _, list := range lists {
		for _, line := range strings.Split(list, "|") {
			if f := strings.Fields(line); len(f) > 0 {
				p[f[0]] = append(p[f[0]], f)
			}
		}
	}
	return p
}

// at returns the length in words of the longest phrase that starts ws, or 0 if none does.
func (p phrases) at(ws []word) int {
	if len(ws) == 0 {
		return 0
	}
	best := 0
	for _, f := range p[ws[0].low] {
		if len(f) > best && hasPrefixWords(ws, f) {
			best = len(f)
		}
	}
	return best
}

// in reports whether any phrase occurs in ws.
func (p phrases) in(ws []word) bool {
	for i := range ws {
		if p.at(ws[i:]) > 0 {
			return true
		}
	}
	return false
}

// wordSet is a closed list of lower-case words, read only after the package is initialised.
type wordSet map[string]struct{}

func set(lists ...string) wordSet {
	s := wordSet{}
	for _, list := range lists {
		for _, w := range strings.Fields(list) {
			s[w] = struct{}{}
		}
	}
	return s
}

// has reports whether the list contains w.
func (s wordSet) has(w string) bool {
	_, ok := s[w]
	return ok
}

// hasBytes is like has, for bytes. It does not allocate.
func (s wordSet) hasBytes(w []byte) bool {
	_, ok := s[string(w)]
	return ok
}

// stopWords are the function words of English, including contractions without their apostrophe.
var stopWords = set(`
	a an the and or but nor so if then else than that this these those there here
	i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
	we us our ours ourselves they them their theirs themselves one ones someone something anyone anything
	am is are was were be been being do does did done doing have has had having
	can could will would shall should may might must ought
	of in on at by for from to with without into onto about as over under up down out off through between
	after before during while until again further once against above below because
	what which who whom whose when where why how
	all any both each few more most other some such only own same too very just also even ever still yet
	no not nor never cannot s t d ll m re ve
	im ive ill id youre youve youll youd hes shes theyre theyve theyll weve well were its thats theres whats
	dont doesnt didnt isnt arent wasnt werent wont wouldnt cant couldnt shouldnt hasnt havent hadnt aint lets
	really quite rather much many lot lots`)

// commonWords have little meaning alone: the most frequent English verbs, nouns and adjectives of
// conversation. The list is general knowledge, not taken from any data set.
var commonWords = set(`
	get gets got getting go goes went gone going make makes made making know knows knew known think thinks
	thought see sees saw seen look looks looked looking come comes came coming want wants wanted take takes
	took taken taking use find found give gives gave given tell told say says said ask asked try tried trying
	feel feels felt feeling leave call called need needs needed keep kept let put mean means meant seem seems
	help helps helped helping talk talked talking start started happen happened turn show like likes liked love
	good great nice cool awesome amazing wonderful fun happy glad sure okay ok new old big little long short
	best better bad important different right wrong hard easy able interesting exciting excited
	time times day days week weeks month months year years today yesterday tomorrow now recently lately soon
	ago last next first always usually often sometimes
	thing things stuff way ways people person man woman guy life world part place kind type sort bit point
	idea work works working experience moment plan plans
	hey hi hello wow yeah yes oh thanks thank please maybe actually definitely probably totally anyway
	back well around away together every everyone everything nothing lot another many much photo picture image
	two`)
