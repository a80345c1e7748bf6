package duplicates

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/question"
	"github.com/mneme/mneme/schema"
)

// Limits of the search for records that restate others.
const (
	maxNear    = 400 // bytes of a text; a longer one has several statements
	maxReplace = 1   // words that may differ between compared records: "lives" and "home"
	maxCommon  = 200 // records with one word; more common words are not used for the search
	candidates = 12  // records that one record is compared with: those that share the most words
)

var (
	// limiting has words that change the meaning of a statement in any position: both records must have the same.
	limiting = normalize.Set(`only just except unless until if when while whenever before after since because although
		but all every each most many some few any both either neither must may might can could should would shall will
		was were had did used never always often sometimes usually rarely first last at least more less than over under
		above below without within versus instead new old former current next per between against at to for from with
		in on this these those here there`)

	// numerals has the words of small numbers. "One" is missing because it is often an article.
	numerals = map[string]string{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
		"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}

	// hollow has words without a meaning of their own, which depend on the form of the sentence.
	hollow = normalize.Set(`a an the is are am be been being of and as it its that what which who whom whose where
		do does has have please really actually indeed simply basically s`)

	lives = normalize.Set("live lives reside resides")
)

// Restates reports whether two facts are the same statement in another form: "Ana lives in Lisbon" and "Ana's home is
// Lisbon", "In staging, we use Postgres" and "We use Postgres in staging", "owned by Ana" and "Ana owns". Both are
// parsed into frames, and each must certainly restate the other. As for Compare, numbers, negations, names, dates,
// conditions, limiting words, speakers, and the content words and their order must be equal. The synonyms of frames do
// not count, because they are only words for one attribute, like car and van. Facts with several numbers are not
// compared, because the numbers may have changed places.
func Restates(a, b Record) bool {
	if !mayRestate(a) || !mayRestate(b) || a.Ground != b.Ground ||
		memory.ConditionsHash(a.Validity) != memory.ConditionsHash(b.Validity) {
		return false
	}
	return restates(gistOf(a), gistOf(b))
}

func restates(a, b gist) bool {
	if a.guards != b.guards || a.numbers > 1 || !slices.Equal(a.limits, b.limits) || !sameOrder(a, b) {
		return false
	}
	if len(a.frames) != 1 || len(b.frames) != 1 {
		return false
	}
	there, back := change.Compare(a.frames[0], b.frames[0]), change.Compare(b.frames[0], a.frames[0])
	return there.Change == change.Restates && there.Certainty == change.Sure &&
		back.Change == change.Restates && back.Certainty == change.Sure
}

func mayRestate(r Record) bool {
	return r.Type == schema.TypeSemantic && len(r.Content) <= maxNear && question.Readable(r.Content)
}

// gist has the parts of a fact that are compared.
type gist struct {
	frames  []frame.Frame
	guards  string   // numbers, negations, who and when
	limits  []string // sorted
	numbers int
	content []string // the other words, stemmed
	active  []string // content with the words around "by" exchanged: "Ana owns" for "owned by Ana"
}

// sameOrder reports whether the content words are equal and in the same order, except that a part may move from one end
// to the other, like "in staging". "The cache of the database" is not "the database of the cache".
func sameOrder(a, b gist) bool {
	return rotated(a.content, b.content) || rotated(a.active, b.content) || rotated(a.content, b.active)
}

func rotated(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range max(1, len(a)) {
		if slices.Equal(a[i:], b[:len(b)-i]) && slices.Equal(a[:i], b[len(b)-i:]) {
			return true
		}
	}
	return false
}

func gistOf(r Record) gist {
	out := gist{frames: frame.Read(r.Content, r.Who)}
	text := contractions.Replace(normalize.Apostrophes.Replace(normalize.Lower(r.Content)))
	text = strings.ReplaceAll(text, "'s ", " 's ")
	var guards []string
	for _, g := range strings.Split(wordsOf(r).guards, "\x01") {
		// Plain numbers may be in another place or be words, so they are added below. Numbers with signs, as in <5, -5,
		// 5% and C++, are kept.
		if g != "" && !plainNumber(g) {
			guards = append(guards, g)
		}
	}
	all := normalize.Words(text, "'.:-/%€$£@+_")
	by := 0 // the number of words before the last "by"
	next := func(i int, word string) bool { return i+1 < len(all) && all[i+1] == word }
	for i := 0; i < len(all); i++ {
		w := all[i]
		if n, ok := numerals[w]; ok {
			w = n
		}
		switch {
		case strings.ContainsFunc(w, func(c rune) bool { return !unicode.IsLetter(c) && c != '\'' && c != '-' }):
			guards = append(guards, "n:"+w)
			out.numbers++
		case lives[w] && next(i, "in"):
			out.content = append(out.content, "home")
			i++
		case w == "home" && next(i, "is"):
			out.content = append(out.content, "home")
			if i++; next(i, "in") {
				i++
			}
		case limiting[w]:
			out.limits = append(out.limits, w)
		case w == "by":
			by = len(out.content)
		case hollow[w]:
		default:
			out.content = append(out.content, english.Stem(w, false))
		}
	}
	slices.Sort(guards)
	out.guards = strings.Join(guards, "\x01")
	slices.Sort(out.limits)
	if out.active = out.content; by > 0 {
		c := out.content
		out.active = slices.Concat(c[by:], c[by-1:by], c[:by-1])
	}
	return out
}

// plainNumber reports whether a guard is a number without a sign.
func plainNumber(guard string) bool {
	w, ok := strings.CutPrefix(guard, "n:")
	return ok && strings.ContainsFunc(w, unicode.IsDigit) && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, ".") &&
		!strings.ContainsFunc(w, func(c rune) bool { return strings.ContainsRune("%#&*\\", c) || unicode.IsSymbol(c) })
}

// without returns the elements of list a that are not in list b, as multisets.
func without(a, b []string) []string {
	left := slices.Clone(b)
	var out []string
	for _, w := range a {
		if i := slices.Index(left, w); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		out = append(out, w)
	}
	return out
}

// Pool finds facts of one scope that restate each other. It compares a fact only with the few that share the most words
// with it, so that the search is fast for thousands of facts. The zero Pool is empty.
type Pool struct {
	records []Record
	gists   map[int]gist
	words   [][]string
	byWord  map[string][]int
	at      map[string]int // index by id
}

// Add adds a record. It ignores records that are not facts or cannot be compared.
func (p *Pool) Add(r Record) {
	if !mayRestate(r) {
		return
	}
	if p.byWord == nil {
		p.byWord, p.gists, p.at = map[string][]int{}, map[int]gist{}, map[string]int{}
	}
	i := len(p.records)
	var words []string
	for _, w := range normalize.Words(r.Content, "'.:-/%€$£@+_") {
		if n, ok := numerals[w]; ok {
			w = n
		}
		if !hollow[w] && !limiting[w] && w != "by" {
			words = append(words, english.Stem(w, false))
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	p.at[r.ID] = i
	p.records, p.words = append(p.records, r), append(p.words, words)
	for _, w := range words {
		p.byWord[w] = append(p.byWord[w], i)
	}
}

// Restated returns the ids of the facts that a fact of the pool restates, in order.
func (p *Pool) Restated(id string) []string {
	self, ok := p.at[id]
	if !ok {
		return nil
	}
	shared := map[int]int{} // of those that have a rare word in common
	var near []int
	for _, w := range p.words[self] {
		places := p.byWord[w]
		if len(places) > maxCommon {
			continue
		}
		for _, i := range places {
			if _, looked := shared[i]; looked || i == self || p.records[i].Ground != p.records[self].Ground {
				continue
			}
			longer := max(len(p.words[self]), len(p.words[i]))
			shared[i] = longer - len(without(p.words[i], p.words[self]))
			if len(p.words[self]) == len(p.words[i]) && shared[i] >= longer-maxReplace {
				near = append(near, i)
			}
		}
	}
	slices.SortFunc(near, func(i, j int) int {
		return cmp.Or(shared[j]-shared[i], strings.Compare(p.records[i].ID, p.records[j].ID))
	})
	var out []string
	for _, i := range near[:min(len(near), candidates)] {
		a, b := p.records[self], p.records[i]
		if memory.ConditionsHash(a.Validity) == memory.ConditionsHash(b.Validity) && restates(p.gist(self), p.gist(i)) {
			out = append(out, b.ID)
		}
	}
	slices.Sort(out)
	return out
}

func (p *Pool) gist(i int) gist {
	g, ok := p.gists[i]
	if !ok {
		g = gistOf(p.records[i])
		p.gists[i] = g
	}
	return g
}
