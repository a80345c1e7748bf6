package rank

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// StageDuplicates is the stage that drops near-identical results.
const StageDuplicates = "duplicates"

const (
	// duplicateOverlap is the least Jaccard index of the pairs of adjacent words of two texts that are near-identical.
	duplicateOverlap = 0.7
	// duplicateWindow is the longest time between two episodes about one event: "we shipped it today" is another fact
	// on another day.
	duplicateWindow = 24 * time.Hour
)

// CollapseDuplicates drops results that repeat a higher one in nearly the same words. Ranked evidence keeps its
// order. Unread evidence, which has no text in contents, is never dropped.
//
// A result is dropped only if no information is lost. Procedures, plans and conditional facts are never dropped, and
// neither is a result that repeats a conditional fact. The lower of two other results is dropped if all of these hold:
//
//   - all of its words, without fillers, are in the upper result
//   - the additional words of the upper result contain no number, name, negation or condition
//   - the words are in nearly the same order
//   - both have the same type, speaker and status and, unless they are semantic, less than duplicateWindow between them
//
// So "Ana has 3 cats" and "Ana has 4 cats" remain two results, and so do "Ana beat Bo" and "Bo beat Ana".
func CollapseDuplicates(ranked []Evidence, contents map[uuid.UUID]string) []Evidence {
	out := make([]Evidence, 0, len(ranked))
	var kept []*shingled
	for i, e := range ranked {
		content, read := contents[e.ID]
		if !read || content == "" {
			out = append(out, e)
			continue
		}
		s := shingle(&ranked[i], content)
		if slices.ContainsFunc(kept, s.repeats) {
			continue
		}
		kept = append(kept, s)
		out = append(out, e)
	}
	return out
}

// shingled is a text in the form in which duplicates are compared.
type shingled struct {
	of      *Evidence
	content string
	text    []string // its words, without fillers
	words   []string // the distinct words, sorted

	// Computed when first needed, because comparing words already rules out most pairs of texts.
	marked   func() map[string]bool
	shingles func() map[[2]string]bool
}

func shingle(e *Evidence, content string) *shingled {
	s := &shingled{of: e, content: content,
		text: slices.DeleteFunc(normalize.Words(content, "'"), func(word string) bool { return fillers[word] })}
	s.words = slices.Clone(s.text)
	slices.Sort(s.words)
	s.words = slices.Compact(s.words)
	s.marked, s.shingles = sync.OnceValue(s.mark), sync.OnceValue(s.pair)
	return s
}

// mark returns the words that change the meaning of a text: numbers, names, negations, conditions.
func (s *shingled) mark() map[string]bool {
	marked := map[string]bool{}
	for _, word := range s.words {
		if plain := strings.ReplaceAll(word, "'", ""); normalize.Negations[plain] || qualifiers[word] ||
			strings.ContainsFunc(word, unicode.IsNumber) {
			marked[word] = true
		}
	}
	// A capital letter marks a name. The first word of a sentence is often marked wrongly; then both results are kept.
	for field := range strings.FieldsFuncSeq(normalize.Apostrophes.Replace(s.content), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M) && r != '\''
	}) {
		if first, _ := utf8.DecodeRuneInString(field); unicode.IsUpper(first) {
			marked[normalize.Lower(strings.Trim(field, "'"))] = true
		}
	}
	return marked
}

// pair returns the pairs of adjacent words.
func (s *shingled) pair() map[[2]string]bool {
	pairs, previous := make(map[[2]string]bool, len(s.text)), ""
	for _, word := range s.text {
		pairs[[2]string{previous, word}] = true
		previous = word
	}
	return pairs
}

// repeats reports whether upper says everything that s says. s ranks lower.
func (s *shingled) repeats(upper *shingled) bool {
	a, b := s.of, upper.of
	// Procedures and conditional facts may differ only in their conditions, and several for one problem are wanted
	// (document 004 §8).
	if a.Type.IsProcedure() || a.Conditional || b.Conditional {
		return false
	}
	if a.Type != b.Type || a.Status != b.Status || !strings.EqualFold(a.Speaker, b.Speaker) ||
		a.Type != schema.TypeSemantic && a.OccurredAt.Sub(b.OccurredAt).Abs() >= duplicateWindow {
		return false
	}
	if !holdsAll(upper.words, s.words) {
		return false
	}
	for word := range upper.marked() {
		_, here := slices.BinarySearch(s.words, word)
		if _, above := slices.BinarySearch(upper.words, word); above && !here {
			return false
		}
	}
	return jaccard(s.shingles(), upper.shingles()) >= duplicateOverlap
}

// holdsAll reports whether all contains every element of some. Both are sorted.
func holdsAll(all, some []string) bool {
	if len(some) > len(all) {
		return false
	}
	found := 0
	for _, word := range all {
		if found < len(some) && some[found] == word {
			found++
		}
	}
	return found == len(some)
}

// jaccard returns the Jaccard index of two sets, in [0,1]. It is 1 for two empty sets.
func jaccard[T comparable](a, b map[T]bool) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	both := 0
	for x := range a {
		if b[x] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// fillers are words that can be left out of a text without changing its meaning. Verbs, pronouns and prepositions are
// not among them.
var fillers = normalize.Set(
	"a an the very really just also too well oh hey hi ok okay please quite actually basically simply",
)

// qualifiers are words, besides the negations, that limit a statement or say that it is no longer true.
var qualifiers = normalize.Set(
	"if unless only except may might will would could should until before after used formerly almost nearly",
)

// functionWords do not show the subject of a text.
var functionWords = normalize.Set(`
	a an the this that these those of to in on at by for from with as and or so but if then than
	i you he she it we they me him her us them my your his its our their mine yours is am are was were be been being
	do does did have has had will would can could shall should may might must not no
	very really just also too well oh hey hi ok okay please quite actually basically simply
	what who whom whose which when where why how there here about into over up down out
`)
