package question

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// places describes where, when and for which of several things a statement is true.
type places struct {
	days       []int    // weekdays (Monday is 1) that are not part of a value
	names      []string // stems of names in phrases such as "for the Delta team"
	valueDays  []int    // weekdays that are part of a value, or may be
	within     []modified
	qualifiers []string // "old", "second", "eldest"
	recurs     bool     // a weekday has a plural: "on Sundays"
	also       bool     // it adds to earlier statements: "also", "too"
	instance   bool     // it is about a single case: "for example", "last time"
	imagined   bool     // it is hypothetical: "if I moved"
	ways       []way
}

// modified is a noun in a phrase such as "in the sandbox account" with the word before it.
type modified struct{ modifier, head string }

// additive has words that mark a statement as an addition to earlier ones.
var additive = english.Words("also too additionally another besides moreover")

// qualifiers has words that distinguish one of several things from another.
var qualifiers = english.Words(`
	old new first second third fourth last left right upper lower top bottom front rear inner
	outer big small large little main spare northern southern eastern western north south east west elder younger
	older eldest youngest oldest twin half son daughter brother sister mother father aunt uncle grandmother
	grandfather niece nephew stepson stepdaughter stepbrother stepsister summer winter spring autumn morning evening
	afternoon night weekday weekdays weekend weekends workday workdays upstairs downstairs indoor outdoor domestic
	foreign personal private public internal external business premium basic test staging production live sandbox demo
	development dev prod local remote`)

// within has the prepositions of phrases that limit a statement, such as "in the sandbox account".
var within = english.Words("for of in at on during")

// dayRanges has words for several weekdays.
var dayRanges = map[string][]int{
	"weekend": {6, 7}, "weekends": {6, 7}, "weekday": {1, 2, 3, 4, 5}, "weekdays": {1, 2, 3, 4, 5},
	"workday": {1, 2, 3, 4, 5}, "workdays": {1, 2, 3, 4, 5},
}

// instances has the last word of phrases that introduce a single case, with the word before it: "for example", "last
// time".
var instances = map[string]string{"one": "for", "example": "for", "instance": "for", "time": "last"}

// readPlaces adds the places that a sentence names. Values are the stems and words of the sentence's values.
func (p *places) readPlaces(s frame.Sentence, values map[string]bool) {
	ts, dated, typed := s.Tokens, make([]bool, len(s.Tokens)), make([]bool, len(s.Tokens))
	for _, v := range s.Values {
		for i := v.From; i < v.To; i++ {
			dated[i], typed[i] = v.Kind == frame.KindDate, true
		}
	}
	p.imagined = p.imagined || imagines(ts)
	for i, t := range ts {
		given := values[t.Stem] || values[t.Low]
		p.also = p.also || i > 0 && additive[t.Low] && t.End != ':'
		p.instance = p.instance || isInstance(ts, i)
		if !given {
			p.readModified(ts, i, values)
		}
		p.readDays(ts, i, dated[i])
		if t.Is("to", "from") && i+1 < len(ts) && ts[i+1].Cap && !slices.ContainsFunc(ts[:i], func(w english.Token) bool {
			return english.IsVerb(w) && w.Low != "back"
		}) {
			p.ways = append(p.ways, way{t.Low, ts[i+1].Stem})
		}
		p.days = append(p.days, dayRanges[t.Low]...)
		// "the first", but not "last week"
		ordinal := t.Is("last", "first")
		ofDay := i+1 < len(ts) && english.Weekdays[strings.TrimSuffix(ts[i+1].Low, "s")] > 0 // "the first Monday"
		if qualifiers[t.Low] && !ofDay && !given && !typed[i] && (!ordinal || i > 0 && english.Articles[ts[i-1].Low]) {
			p.qualifiers = append(p.qualifiers, t.Low)
		}
		p.readName(ts, i, given)
	}
}

// imagines reports whether a sentence is hypothetical: "if I moved".
func imagines(ts []english.Token) bool {
	if len(ts) < 3 || ts[0].End != 0 {
		return false
	}
	switch ts[0].Low {
	case "if", "should", "unless", "had", "were", "suppose", "imagine":
		return true
	}
	return false
}

// isInstance reports whether the word at i ends a phrase that introduces a single case.
func isInstance(ts []english.Token, i int) bool {
	before := instances[ts[i].Low]
	return before != "" && i > 0 && ts[i-1].Low == before && (ts[i].Low != "one" || ts[i].End != 0)
}

// readModified records the noun at i with the word before it, in a phrase that limits the statement.
func (p *places) readModified(ts []english.Token, i int, values map[string]bool) {
	if i < 2 {
		return
	}
	head, modifier := ts[i], ts[i-1]
	if !english.IsContent(head) || !english.IsContent(modifier) || modifier.End != 0 || head.Cap || modifier.Cap ||
		values[modifier.Stem] {
		return
	}
	k := i - 2
	if english.Articles[ts[k].Low] && k > 0 {
		k--
	}
	if within[ts[k].Low] {
		p.within = append(p.within, modified{modifier.Stem, head.Stem})
	}
}

// readDays records the weekday at i, or the range that ends there: "Mondays to Fridays". A weekday in a date may be a
// value.
func (p *places) readDays(ts []english.Token, i int, dated bool) {
	dayAt := func(i int) int { return english.Weekdays[strings.TrimSuffix(ts[i].Low, "s")] }
	day := dayAt(i)
	if day == 0 {
		return
	}
	p.recurs = p.recurs || strings.HasSuffix(ts[i].Low, "s")
	from := day
	if i > 1 && ts[i-1].Is("to", "till", "through") {
		if start := dayAt(i - 2); start > 0 && start < day {
			from = start
		}
	}
	to := &p.days
	if dated {
		to = &p.valueDays
	}
	for d := from; d <= day; d++ {
		*to = append(*to, d)
	}
}

// readName records the name at i if it limits the statement to one thing, as in "for the Delta team".
func (p *places) readName(ts []english.Token, i int, given bool) {
	t := ts[i]
	ofSystem := i+1 < len(ts) && t.End == 0 && english.SystemHeads[ts[i+1].Stem] || // "for the Delta team"
		i > 0 && ts[i-1].End == 0 && english.SystemHeads[ts[i-1].Stem] // "on project Tulip"
	if !t.Cap || i == 0 || given && !ofSystem || frame.Month(t) > 0 ||
		english.Weekdays[strings.TrimSuffix(t.Low, "s")] > 0 {
		return
	}
	k := i - 1
	for k > 0 && (ts[k].Cap || english.Articles[ts[k].Low] || english.Possessives[ts[k].Low]) && ts[k].End == 0 {
		k--
	}
	if k > 0 && english.SystemHeads[ts[k].Stem] && ts[k].End == 0 && within[ts[k-1].Low] {
		k-- // "on project Tulip"
	}
	if within[ts[k].Low] || t.Poss || k == 0 && english.Articles[ts[0].Low] {
		p.names = append(p.names, t.Stem)
	}
}

// conflict reports whether each of two lists has an element that the other lacks.
func conflict[T comparable](a, b []T) bool {
	lacks := func(a, b []T) bool {
		return slices.ContainsFunc(a, func(x T) bool { return !slices.Contains(b, x) })
	}
	return len(a) > 0 && len(b) > 0 && lacks(a, b) && lacks(b, a)
}

// disjoint reports whether two lists are not empty and have no element in common.
func disjoint(a, b []int) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}

// onDays returns the weekdays on which a text is true. If the text has a value of another kind, such as a time or a
// number, its weekdays are not the value.
func (t *Text) onDays() []int {
	if len(t.typed[frame.KindTime])+len(t.typed[frame.KindDuration])+len(t.typed[frame.KindAmount])+
		len(t.typed[frame.KindNumber])+
		len(t.typed[frame.KindOften]) > 0 {
		return slices.Concat(t.places.days, t.places.valueDays)
	}
	return t.places.days
}

// otherDays reports whether two texts are true on different days. A single day that the later text changes is its
// value: "on Wednesday at four", "they moved me to Thursday at two".
func otherDays(earlier, later *Text) bool {
	a, b := earlier.places, later.places
	if later.cue == frame.CueChange && !a.recurs && !b.recurs && len(a.days)+len(b.days) == 0 {
		return false
	}
	return disjoint(earlier.onDays(), later.onDays())
}

// unlike reports whether the later text is certainly no later answer to what the earlier one answers: it is not a fact,
// an exception, or about another thing of the same kind.
func unlike(earlier, later *Text) bool {
	return later.cue < frame.CueChange && (later.aspect.unreal && !earlier.aspect.unreal ||
		later.aspect.told && !earlier.aspect.told) || disjointWays(earlier.places.ways, later.places.ways) ||
		exception(earlier, later) || anotherOne(earlier, later)
}

// exception reports whether the later text is about one time at which someone else did, or something else was done,
// than usual: "Marek runs the standup", "Olga ran the standup today".
func exception(earlier, later *Text) bool {
	if !later.aspect.once || earlier.aspect.once || len(earlier.aspect.done) > 0 {
		return false
	}
	return slices.ContainsFunc(earlier.aspect.present, func(v string) bool {
		return v != "be" && v != "have" && (slices.Contains(later.aspect.done, v) ||
			later.aspect.span && slices.Contains(later.aspect.present, v))
	})
}

// anotherOne reports whether the later text is about another thing of the same kind: "the team", "the other team".
func anotherOne(earlier, later *Text) bool {
	return slices.ContainsFunc(later.words, func(d content) bool {
		return d.det.other && slices.ContainsFunc(earlier.words, func(c content) bool {
			return c.stem == d.stem && !c.det.other
		})
	})
}

// way is a direction in front of the verb: "the flight to Oslo leaves …", "the flight from Oslo leaves …".
type way struct{ preposition, place string }

// disjointWays reports whether one list has a direction to a place and the other one from it.
func disjointWays(a, b []way) bool {
	against := func(x, y way) bool {
		return x.place == y.place && (x.preposition == "to" && y.preposition == "from" ||
			x.preposition == "from" && y.preposition == "to")
	}
	return slices.ContainsFunc(a, func(x way) bool {
		return slices.ContainsFunc(b, func(y way) bool { return against(x, y) }) && !slices.Contains(b, x)
	})
}

// Apart reports whether two texts can both be true: they are about different days or things, or the later one is an
// addition, a single case, hypothetical, or what another person thinks.
func Apart(earlier, later Text) bool { return unlike(&earlier, &later) || apart(&earlier, &later) }

// apart is Apart without what unlike excludes.
func apart(earlier, later *Text) bool {
	a, b := earlier.places, later.places
	return b.also && later.cue < frame.CueChange || a.also && later.cue < frame.CueNow ||
		b.instance && !a.instance || b.imagined && !a.imagined ||
		otherDays(earlier, later) || conflict(a.qualifiers, b.qualifiers) ||
		conflict(a.names, b.names) ||
		slices.ContainsFunc(a.within, func(x modified) bool {
			return slices.ContainsFunc(b.within, func(y modified) bool {
				return x.head == y.head &&
					x.modifier != y.modifier
			})
		})
}
