package rank

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Constants of supplements (document 002 Phase 5; notes on recall constants, "hydrate").
const (
	// MaxSupplementChars is the greatest length of a supplement.
	MaxSupplementChars = 900
	// ExcerptRadius is the number of turns that an excerpt shows before and after a result.
	ExcerptRadius = 2

	supplementShare = 0.3 // supplements, as a share of the limit
	minCards        = 3
	belowResults    = 0.9 // the best supplement's score, as a share of the lowest result's

	maxRescueWords  = 16
	rescuePrefix    = 5   // characters that must agree, because endings differ between a question and its answer
	minRescueWord   = 3   // bytes; shorter words have no meaning, but a single ideograph may
	minRescueShare  = 0.5 // share of the words that must occur
	rescueCertainty = 0.3 // score of a text with all of the words, below that of a good result of a channel
)

// MaxCards returns the number of cards that an answer may have for a limit.
func MaxCards(limit int) int { return max(minCards, int(supplementShare*float64(limit))) }

// ReservedPlaces returns the number of places that a full answer yields to supplements, if there are enough of them:
// three in ten, but none if the limit is 1.
func ReservedPlaces(limit int) int {
	if limit < 2 {
		return 0
	}
	return max(1, int(supplementShare*float64(limit)))
}

// Utterance is a turn of an excerpt.
type Utterance struct {
	ID       uuid.UUID
	Speaker  string
	Text     string
	Distance int // from the main turn of the excerpt, in turns
}

// Excerpt joins turns in their order, one line each, to at most MaxSupplementChars. If they are too long, the turns
// farthest from the main turn are omitted, later ones first, and CutMark marks this. Only the main turn may be cut.
// Excerpt returns the ids of the turns shown.
func Excerpt(turns []Utterance) (text string, shown []uuid.UUID, cut bool) {
	kept := slices.Clone(turns)
	slices.SortStableFunc(kept, func(a, b Utterance) int {
		return cmp.Or(
			cmp.Compare(max(a.Distance, -a.Distance), max(b.Distance, -b.Distance)),
			cmp.Compare(a.Distance, b.Distance),
		)
	})
	const marks = 8 // room for a CutMark on both sides
	used := 0
	for i, t := range kept {
		n := utf8.RuneCountInString(line(t)) + 1
		if used+n > MaxSupplementChars-marks && i > 0 {
			kept = kept[:i]
			break
		}
		used += n
	}
	slices.SortStableFunc(kept, func(a, b Utterance) int { return cmp.Compare(a.Distance, b.Distance) })
	lines := make([]string, 0, len(kept)+2)
	for _, t := range kept {
		one, short := normalize.CutChars(line(t), MaxSupplementChars-marks)
		cut = cut || short
		lines = append(lines, one)
		shown = append(shown, t.ID)
	}
	if len(kept) > 0 && len(kept) < len(turns) {
		mark := strings.TrimSpace(normalize.CutMark)
		if slices.ContainsFunc(turns, func(t Utterance) bool { return t.Distance < kept[0].Distance }) {
			lines = slices.Insert(lines, 0, mark)
		}
		if slices.ContainsFunc(turns, func(t Utterance) bool { return t.Distance > kept[len(kept)-1].Distance }) {
			lines = append(lines, mark)
		}
	}
	return strings.Join(lines, "\n"), shown, cut
}

func line(t Utterance) string {
	if t.Speaker == "" {
		return t.Text
	}
	return t.Speaker + ": " + t.Text
}

// CardClaim is a claim that a card shows.
type CardClaim struct {
	Memory                     uuid.UUID
	Subject, Predicate, Object string
}

// Card lists the facts about one entity in at most MaxSupplementChars, best claims first: "Dana: lives in Turin; works
// at Acme". Claims that do not fit are omitted as a whole, and CutMark marks this. Card returns the ids of the memories
// shown.
func Card(claims []CardClaim) (text string, shown []uuid.UUID) {
	said := map[string]bool{}
	var b strings.Builder
	room := MaxSupplementChars - utf8.RuneCountInString(normalize.CutMark)
	for _, c := range claims {
		part := c.Object
		if c.Predicate != schema.PredicateStates {
			part = memory.AsWords(c.Predicate) + " " + c.Object
		}
		if said[part] {
			continue
		}
		said[part] = true
		if b.Len() == 0 {
			part = c.Subject + ": " + part
		} else {
			part = "; " + part
		}
		if utf8.RuneCountInString(b.String())+utf8.RuneCountInString(part) > room {
			if b.Len() == 0 {
				part, _ = normalize.CutChars(part, MaxSupplementChars)
				return part, []uuid.UUID{c.Memory}
			}
			return b.String() + normalize.CutMark, shown
		}
		b.WriteString(part)
		if !slices.Contains(shown, c.Memory) {
			shown = append(shown, c.Memory)
		}
	}
	return b.String(), shown
}

// TakeTurns returns the lists interleaved, so that no list takes all places.
func TakeTurns[T any](lists ...[]T) []T {
	var out []T
	for i := 0; ; i++ {
		took := false
		for _, list := range lists {
			if i < len(list) {
				out = append(out, list[i])
				took = true
			}
		}
		if !took {
			return out
		}
	}
}

// SupplementScores returns decreasing scores for n supplements, not negative and below the lowest result's.
func SupplementScores(lowest float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = memory.ClampUnit(lowest) * belowResults * (1 - float64(i)/float64(n+1))
	}
	return out
}

// RescueWords returns the prefixes of a query's content words, for the fallback search. It returns none if the query
// has no content words.
func RescueWords(query string) []string {
	var out []string
	for _, word := range normalize.Words(query, "'") {
		word, _, _ = strings.Cut(word, "'")
		if normalize.SignalFillers[word] || rescueFillers[word] || len(word) < minRescueWord {
			continue
		}
		if word = normalize.FirstChars(word, rescuePrefix); !slices.Contains(out, word) {
			out = append(out, word)
		}
		if len(out) == maxRescueWords {
			break
		}
	}
	return out
}

var rescueFillers = normalize.Set(
	"what who whom whose which when where why how there here do does did has have had can " +
		"could will would shall should may might must about not he she they him her them his their",
)

// RescueScore returns the score of a text that contains found of the wanted words, or 0 if these are less than half.
func RescueScore(found, wanted int) float64 {
	if wanted == 0 || float64(found) < minRescueShare*float64(wanted) {
		return 0
	}
	return rescueCertainty * float64(found) / float64(wanted)
}

// RescueFind returns how many of the wanted prefixes occur in a text, and its Passage.
func RescueFind(text string, wanted []string) (found int, passage string, cut bool) {
	hits := beginnings(text, wanted)
	if len(hits) == 0 {
		return 0, "", false
	}
	has := map[int]bool{}
	for _, h := range hits {
		has[h.word] = true
	}
	passage, cut = passageAt(text, densest(hits))
	return len(has), passage, cut
}

// Passage returns at most MaxSupplementChars of a text, around the first stretch with the most wanted prefixes. If
// there are none, it returns the beginning of the text. CutMark marks each side where text is missing.
func Passage(text string, wanted []string) (passage string, cut bool) {
	hits := beginnings(text, wanted)
	if len(hits) == 0 {
		return normalize.CutChars(text, MaxSupplementChars)
	}
	return passageAt(text, densest(hits))
}

// hit is a word of a text that begins with a wanted prefix.
type hit struct{ at, word int } // byte offset in the text, index of the prefix

func beginnings(text string, wanted []string) []hit {
	var out []hit
	word := func(from, to int) {
		said := normalize.Lower(text[from:to])
		for i, w := range wanted {
			if strings.HasPrefix(said, w) {
				out = append(out, hit{from, i})
			}
		}
	}
	start := -1
	for i, r := range text {
		switch inWord := unicode.In(r, unicode.L, unicode.N, unicode.M); {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			word(start, i)
			start = -1
		}
	}
	if start >= 0 {
		word(start, len(text))
	}
	return out
}

// densest returns the offset of the first hit from which a passage shows the most different prefixes.
func densest(hits []hit) int {
	const reach = MaxSupplementChars - passageBefore - 50 // 50: marks, and the loss by cutting at the end of a word
	best, most := 0, 0
	has, end := map[int]int{}, 0
	for i := range hits {
		for end < len(hits) && hits[end].at < hits[i].at+reach {
			has[hits[end].word]++
			end++
		}
		if len(has) > most {
			best, most = hits[i].at, len(has)
		}
		if has[hits[i].word]--; has[hits[i].word] == 0 {
			delete(has, hits[i].word)
		}
	}
	return best
}

// passageBefore is the number of bytes of a passage before the first hit.
const passageBefore = 200

func passageAt(text string, at int) (passage string, cut bool) {
	from := 0
	if at > passageBefore && utf8.RuneCountInString(text) > MaxSupplementChars {
		from = at - passageBefore
		for from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		if space := strings.IndexAny(text[from:at], " \n\t"); space >= 0 {
			from += space + 1
		}
	}
	if from == 0 {
		return normalize.CutChars(text, MaxSupplementChars)
	}
	mark := strings.TrimSpace(normalize.CutMark)
	passage, _ = normalize.CutChars(text[from:], MaxSupplementChars-utf8.RuneCountInString(mark)-1)
	return mark + " " + passage, true
}
