package facts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
)

// Limits of a model's answer.
const (
	MaxProposed = 20  // facts in one answer
	maxText     = 300 // characters of a fact
	boundBy     = 3   // words after a preposition that belong to it
	maxKinds    = 1   // general words, such as "database", that only some of the statements contain
)

// Statement is a statement in the form in which a model sees it.
type Statement struct {
	Number  int    `json:"number"` // from 1
	Speaker string `json:"speaker,omitempty"`
	Text    string `json:"text"`
}

// Proposed is a model's claim that several statements say one thing in different words.
type Proposed struct {
	Text       string
	Statements []int // numbers of the statements
}

// Alone is a statement that was made too rarely to be a fact by the rules, or a fact that such a statement may restate.
type Alone struct {
	Text string
	Who  string
	Held bool // it is a fact
	seen []Observation
}

// Cited returns the statements that a proposal cites. It returns an error if the proposal cites fewer than two, or one
// that was not given.
func (p Proposed) Cited(given []Alone) ([]Alone, error) {
	var out []Alone
	numbers := slices.Compact(slices.Sorted(slices.Values(p.Statements)))
	for _, n := range numbers {
		if n < 1 || n > len(given) {
			return nil, errors.New("it cites a statement that was not given")
		}
		out = append(out, given[n-1])
	}
	if len(out) < 2 {
		return nil, errors.New("it cites fewer than two statements")
	}
	return out, nil
}

// Again adds the cited statements to the learner once more, in the words of the proposal or of a cited fact. The rules
// then decide as if the statements had been made in these words: sessions, sources, weights and rivals count as usual.
// It adds nothing and returns an error if a statement does not say the same as the proposal. The error quotes nothing.
func (l *Learner) Again(p Proposed, given []Alone) error {
	cited, err := p.Cited(given)
	if err != nil {
		return err
	}
	text := p.Text
	if i := slices.IndexFunc(cited, func(s Alone) bool { return s.Held }); i >= 0 {
		text = cited[i].Text
	}
	if text, err = Check(text, cited); err != nil {
		return err
	}
	for _, s := range cited {
		if s.Held {
			continue // its observations already have these words
		}
		for _, o := range s.seen {
			o.Text = text
			l.Add(o)
		}
	}
	return nil
}

// Check returns a text on one line if all cited statements say the same as the text, and an error otherwise. Text and
// statements must have the same names, numbers, negations, limiting words and content words, in the same order. Only
// general words such as "database", and verbs such as "use" and "choose", may be missing in some of them. The error
// quotes nothing.
func Check(text string, cited []Alone) (string, error) {
	line := normalize.CleanLine(text, 8*maxText)
	switch masked, _ := sensitive.Mask(line); {
	case !strings.ContainsFunc(line, unicode.IsLetter):
		return "", errors.New("it is empty")
	case len(text) > 8*maxText || len([]rune(line)) > maxText:
		return "", errors.New("it is too long")
	case masked != line:
		return "", errors.New("it has a secret")
	case strings.HasSuffix(line, "?"):
		return "", errors.New("it asks")
	}
	said := sayingOf(line)
	if said.vague {
		return "", errors.New("it does not say what it is about")
	}
	frames := frame.Read(line, "")
	if len(frames) != 1 {
		return "", errors.New("it is not one statement")
	}
	var kinds []string
	for i, s := range cited {
		other := sayingOf(s.Text)
		more, err := said.sameAs(other)
		if err != nil {
			return "", fmt.Errorf("statement %d %w", i+1, err)
		}
		kinds = append(kinds, more...)
		read := frame.Read(s.Text, s.Who)
		mine := frame.Read(line, s.Who)
		there, moreOf := change.Best(read, mine)
		back, _ := change.Best(mine, read)
		if len(read) != 1 || moreOf || rivals(there) || rivals(back) || otherValue(read, mine) {
			return "", fmt.Errorf("statement %d says something else", i+1)
		}
	}
	slices.Sort(kinds)
	if len(slices.Compact(kinds)) > maxKinds {
		return "", errors.New("the statements are about different things")
	}
	return line, nil
}

// saying has the words of a statement, by their role in comparisons.
type saying struct {
	words    []string          // all, in order, in lower case
	exact    []string          // names, numbers, paths: in order
	changing []string          // words that change what is said, sorted
	verbs    []string          // classes of verbs, sorted
	content  []string          // the other words, in order, without the endings of plurals
	bound    map[string]string // the preposition before a content word, if there is one
	me       bool              // it is about its speaker
	you      bool
	guards   string // numbers with their signs, negations, short words in capitals
	directed bool   // the order of its words counts
	vague    bool   // it has a word that points to something outside
}

var (
	// changing has words that change the meaning. They must be the same in all statements.
	changing = normalize.Set(`not no nor never none nobody nothing neither without except unless until if when while
		whenever before after since because although though but only just all every each most many some few any both
		either must may might can could should would shall was were had did used always often sometimes usually rarely
		seldom hardly barely nearly almost first last more less least than above below versus instead new old former
		next previous maybe perhaps probably likely again still yet already too soon ever at`)

	// idle has words without a meaning of their own.
	idle = normalize.Set(`a an the is are am be been being and as its which who whose where do does has have please
		really actually indeed simply basically s we us our ours that will now currently so very`)

	prepositions = normalize.Set(`in on at for from with during within under over via by to of near into against`)

	directing = normalize.Set(`of than to from into over under against by`)

	// vague has words that refer to an earlier statement.
	vague = normalize.Set(`he she they it this these those here there him her them his their theirs`)

	meWords  = normalize.Set(`i me my mine myself`)
	youWords = normalize.Set(`you your yours`)

	// kinds has general words: "the staging database is Postgres" says the same as "staging uses Postgres".
	kinds = normalize.Set(`database databases server service system tool tools project app application language editor
		framework library machine environment team thing place city town choice option default`)

	numerals = map[string]string{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
		"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}

	contractions = strings.NewReplacer("can't", "can not", "cannot", "can not", "won't", "will not", "n't", " not",
		"'re", " are", "'m", " am", "'ll", " will", "'ve", " have", "'d", " would")
)

// verbs maps verbs to their class. Verbs of a class have the same meaning.
var verbs = func() map[string]string {
	out := map[string]string{}
	for class, words := range map[string]string{
		usesSomething: "use uses using run runs choose chose chosen pick picked settled decided",
		"prefer":      "prefer prefers favorite favourite",
		"live":        "live lives reside resides",
		"own":         "owns owned",
	} {
		for _, w := range strings.Fields(words) {
			out[w] = class
		}
	}
	return out
}()

// usesSomething is the class of verbs that "is" may replace.
const usesSomething = "use"

// verbAt returns the class of the verb at an index, or "" if there is none. A word that may also be a noun or an
// adjective is a verb only after "we" or "I", and "live" only before "in".
func verbAt(words []string, i int) string {
	switch w := words[i]; w {
	case "use", "run", "choose", "pick", "prefer":
		if i == 0 || words[i-1] != "we" && words[i-1] != "i" {
			return ""
		}
	case "live", "lives", "reside", "resides":
		if i+1 == len(words) || words[i+1] != "in" {
			return ""
		}
	}
	return verbs[words[i]]
}

func sayingOf(text string) saying {
	out := saying{bound: map[string]string{}}
	names := map[string]bool{}
	for i, w := range normalize.Words(normalize.Apostrophes.Replace(text), "'.:-/\\%€$£@+_#=<>&*~^|") {
		low := normalize.Lower(w)
		if i > 0 && low != w && low != "i" && !strings.HasPrefix(low, "i'") {
			names[strings.TrimSuffix(low, "'s")] = true
		}
	}
	lower := contractions.Replace(normalize.Apostrophes.Replace(normalize.Lower(text)))
	lower = strings.ReplaceAll(lower, "'s ", " s ")
	last, since := "", 0 // the last preposition, and the number of words after it
	all := normalize.Words(lower, "'.:-/\\%€$£@+_#=<>&*~^|")
	for i, w := range all {
		verb := verbAt(all, i)
		if n, ok := numerals[w]; ok {
			w = n
		}
		if since++; prepositions[w] {
			last, since = w, 0
		} else if since > boundBy {
			last = ""
		}
		out.words = append(out.words, w)
		out.me, out.you = out.me || meWords[w], out.you || youWords[w]
		out.directed, out.vague = out.directed || directing[w], out.vague || vague[w]
		switch {
		case changing[w]:
			out.changing = append(out.changing, w)
		case idle[w] || prepositions[w] || meWords[w] || youWords[w]:
		case verb != "" && !names[w]:
			out.verbs = append(out.verbs, verb)
		case names[w] || strings.ContainsFunc(w, func(c rune) bool { return !unicode.IsLetter(c) && c != '\'' }):
			out.exact, out.content = append(out.exact, w), append(out.content, w)
			out.bound[w] = cmp.Or(out.bound[w], last)
		default:
			one := w
			if !kinds[w] {
				one = singular(w)
			}
			out.content = append(out.content, one)
			out.bound[one] = cmp.Or(out.bound[one], last)
		}
	}
	out.guards = duplicates.Guards(text)
	slices.Sort(out.changing)
	slices.Sort(out.verbs)
	out.verbs = slices.Compact(out.verbs)
	return out
}

// sameAs returns an error with the reason if a statement does not say the same as a text. Otherwise it returns the
// general words that only one of them contains.
func (t saying) sameAs(s saying) (kindsOfOne []string, err error) {
	tExact, sExact := t.exactIn(s), s.exactIn(t)
	switch {
	case !slices.Equal(t.changing, s.changing):
		return nil, errors.New("limits it in another way")
	case t.me != s.me || t.you != s.you:
		return nil, errors.New("is about another person")
	case len(tExact) > 0 || len(sExact) > 0 || t.guards != s.guards:
		return nil, errors.New("has another name or number")
	case !slices.Equal(lasting(t.verbs), lasting(s.verbs)):
		return nil, errors.New("says something else")
	}
	for w, p := range t.bound {
		if q := s.bound[w]; p != "" && q != "" && p != q && !(t.places(p) && s.places(q)) {
			return nil, errors.New("says it of another place")
		}
	}
	a, moreA, ok := t.shared(s)
	b, moreB, okB := s.shared(t)
	if !ok || !okB || len(a) == 0 {
		return nil, errors.New("says more or less than that")
	}
	strict := t.directed || s.directed || len(t.exact) > 1 || len(s.exact) > 1
	if !slices.Equal(a, b) && (strict || !rotated(a, b)) {
		return nil, errors.New("says it in another order")
	}
	return append(moreA, moreB...), nil
}

// places reports whether a preposition only says where something is used, as in "in staging" and "for staging".
func (t saying) places(p string) bool {
	return slices.Contains(t.verbs, usesSomething) && (p == "in" || p == "for")
}

// exactIn returns the names and numbers that are not words of another statement.
func (t saying) exactIn(s saying) (missing []string) {
	for _, w := range t.exact {
		if !slices.Contains(s.words, w) {
			missing = append(missing, w)
		}
	}
	return missing
}

// lasting returns the classes of verbs that "is" may not replace.
func lasting(classes []string) []string {
	return slices.DeleteFunc(slices.Clone(classes), func(c string) bool { return c == usesSomething })
}

// shared returns the content words that another statement contains too, and the general ones that it lacks. It returns
// false if the other statement lacks a content word that is not general.
func (t saying) shared(s saying) (both, more []string, ok bool) {
	have := map[string]bool{}
	for _, w := range s.words {
		have[w] = true
		if !kinds[w] {
			have[singular(w)] = true
		}
	}
	for _, w := range t.content {
		switch {
		case have[w]:
			both = append(both, singular(w))
		case kinds[w] && t.bound[w] == "":
			more = append(more, w)
		default:
			return nil, nil, false
		}
	}
	return both, more, true
}

// singular returns a word without the plural ending. A stemmer would join too much: "universal" and "university" have
// the same stem.
func singular(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// rotated reports whether b is a with some of its first words moved to the end.
func rotated(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if slices.Equal(a[i:], b[:len(b)-i]) && slices.Equal(a[:i], b[len(b)-i:]) {
			return true
		}
	}
	return false
}
