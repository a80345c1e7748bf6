package question

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// succession estimates the probability that the later of two texts replaced the earlier one as the answer to a
// question. It depends mostly on the results of Compare. The other measures are for texts that Compare cannot parse.
var succession = model{bias: -2.81, terms: []weighted{
	{"about different owners", -1.05},
	{"neither has an owner", -1.14},
	{"words in common", 0.01},
	{"only the earlier has a date, a number and the like", -0.83},
	{"only the later has", -0.92},
	{"the later says now", 0.68},
	{"the later says that something is over", 0.38},
	{"what the earlier gives is named by the later", 0.55},
	{"the earlier tells of the past or of an event", -2.04},
	{"the later tells of the past or of an event", -0.28},
	{"names in common", 0.65},
	{"the later tells of a change, by what the earlier covers of it", 1.72},
	{"each covers the other", -1.97},
	{"length of the later", 3.26},
	{"likely by the rules", 2.77},
	{"sure by the rules", 2.82},
	{"relevance of the earlier", 1.22},
	{"relevance of the later", 1.14},
	{"relevance of the first minus the lesser relevance", -1.51},
	{"the lesser relevance", -2.34},
	{"difference in the question's words covered", 1.32},
	{"the most of it in one word", -1.34},
	{"rank of the earlier", -0.84},
	{"rank of the later", -0.83},
	{"words of the earlier that are not in the question, named by the later", 1.52},
	{"the later has a word of change", 0.51},
	{"the later says what holds now or no longer", 0.23},
	{"the later has a word of change, by what it covers of the earlier", -0.46},
	{"on other days", -2.41},
	{"holding side by side for another reason", -0.67},
	{"of different ones of several", -2.17},
	{"things of the earlier that the later names as known", 1.72},
	{"things of the earlier that the later introduces", 1.08},
	{"a named owner in common", -0.08},
	{"the same subject", -0.67},
	{"the later is of another one", 0.52},
	{"of another possessor", -0.41},
	{"the later has a narrower thing", -0.21},
	{"the later has a new one", -0.13},
	{"what happened to what was so", 1.90},
	{"the same, if the question asks whether", 2.70},
	{"the same, with a verb that leaves things in another state", -1.57},
	{"a habit, and one case of it", -2.37},
	{"the later is not real", 0.10},
	{"the later is what another thinks", -0.53},
	{"different values of one kind", 0.50},
	{"the same, of a known thing", -0.73},
	{"the same value of one kind", 0.64},
	{"both give what the question asks for", 0.87},
	{"the same, for a known thing", -0.48},
	{"only the earlier gives it", 0.51},
	{"only the later gives it", 0.50},
	{"the question asks whether", -0.11},
	{"opposite words", 0.77},
	{"opposite words about a known thing", 0.05},
	{"what holds now of a known thing", 1.07},
	{"both give what is asked for one subject", 0.65},
	{"what holds now of one subject", 0.43},
	{"the later is in the perfect", -0.44},
	{"a verb of the later leaves things in another state", 1.09},
	{"what was so, and what is so", 0.51},
	{"probability of the earlier", 0.27},
	{"probability of the later", 0.00},
	{"both probabilities", 0.73},
	{"probability of the earlier, by the known things", -0.68},
	{"a change of a known thing", -1.84},
	{"the end of a known thing", 0.87},
}}

// MaxAnswers is the number of the texts nearest to a question that are compared with each other.
const MaxAnswers = 8

// Succession is a pair of texts, by index. The newer may have replaced the older.
type Succession struct {
	Older, Newer int
	Probability  float64
}

// Successions returns the successions with a probability of at least least among the texts nearest to a question.
// follows reports whether text j was said after text i and the two may be compared.
func (q Question) Successions(texts []Text, least float64, follows func(i, j int) bool) []Succession {
	answers := q.answers(texts)
	var out []Succession
	answers.pairs(follows, func(i, j int, r ruling) {
		p := probability(succession.logit(answers.measures(i, j, r)))
		if r.certainty == change.Sure {
			p = max(p, SureByRules)
		}
		if p >= least {
			out = append(out, Succession{answers.order[i], answers.order[j], p})
		}
	})
	return out
}

// strayLogit is the least relevance, as a logit, of a later text that has no word and no owner in common with the
// earlier.
const strayLogit = -4

// joined reports whether two texts have a content word or an owner in common.
func joined(x, y *Text) bool {
	return slices.ContainsFunc(x.words, func(c content) bool { return y.has(c.stem) }) ||
		slices.ContainsFunc(x.owner, func(o string) bool { return slices.Contains(y.owner, o) })
}

// SureByRules is the minimum probability of a succession that the rules of Compare are certain of.
const SureByRules = 0.9

// ruling is the judgement of the rules on an earlier and a later text.
type ruling struct {
	certainty change.Certainty // certainty that the later changes the earlier
	restates  bool             // the later restates the earlier, perhaps with more details
	strangers bool             // they are about different owners
	apart     bool             // both can be true: see Apart
}

func rule(earlier, later *Text) ruling {
	out := ruling{restates: sameWords(earlier, later), apart: apart(earlier, later),
		strangers: len(earlier.Frames) > 0 && len(later.Frames) > 0}
	for _, f := range earlier.Frames {
		for _, g := range later.Frames {
			out.strangers = out.strangers && frame.Strangers(f, g)
			out.restates = out.restates || sameForm(f, g)
			if r := change.Compare(f, g); r.Change != change.Restates {
				out.certainty = max(out.certainty, r.Certainty)
			} else if r.Certainty == change.Sure {
				out.restates = true
			}
		}
	}
	if out.certainty < change.Likely {
		out.certainty = max(out.certainty, change.Together(earlier.Frames, later.Frames).Certainty)
	}
	if out.apart {
		out.certainty = min(out.certainty, change.Doubt)
	}
	return out
}

// sameWords reports whether two texts have the same words and the later one mentions no change.
func sameWords(earlier, later *Text) bool {
	lacks := func(c content) bool { return !later.has(c.stem) }
	return len(earlier.words) == len(later.words) && !slices.ContainsFunc(earlier.words, lacks) &&
		earlier.ended == later.ended && earlier.past == later.past && later.cue < frame.CueChange
}

// sameForm reports whether two statements about one owner give the same date, number or the like and no other value:
// "moved to 10:00" and then "is at 10:00 every day".
func sameForm(f, g frame.Frame) bool {
	if len(f.Values) == 0 || len(f.Values) != len(g.Values) || f.Ended || g.Ended || f.Negated != g.Negated ||
		frame.Strangers(f, g) {
		return false
	}
	return !slices.ContainsFunc(f.Values, func(v frame.Value) bool {
		return !frame.SingleKind(v.Kind) || !slices.ContainsFunc(g.Values, v.Same)
	})
}

// answers has the texts nearest to a question. order has their indexes, nearest first.
type answers struct {
	q      Question
	texts  []Text
	order  []int
	logits []float64 // of relevance, by position in order
	covers [][]cover
}

func (q Question) answers(texts []Text) answers {
	out := answers{q: q, texts: texts}
	logits := make([]float64, len(texts))
	for i, t := range texts {
		logits[i] = q.logit(t)
		out.order = append(out.order, i)
	}
	slices.SortStableFunc(out.order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	out.order = out.order[:min(len(out.order), MaxAnswers)]
	for _, i := range out.order {
		out.logits = append(out.logits, logits[i])
		out.covers = append(out.covers, q.cover(texts[i]))
	}
	return out
}

// pairs calls yield for each pair of answers in which the later follows the earlier and does not only repeat it. i and
// j are positions in order.
func (a answers) pairs(follows func(i, j int) bool, yield func(i, j int, r ruling)) {
	for i, x := range a.order {
		for j, y := range a.order {
			if i == j || !follows(x, y) {
				continue
			}
			earlier, later := &a.texts[x], &a.texts[y]
			if unlike(earlier, later) || a.logits[j] < strayLogit && !joined(earlier, later) {
				continue
			}
			if r := rule(earlier, later); !r.restates {
				yield(i, j, r)
			}
		}
	}
}

// measures compares an earlier and a later text, given by their positions in order.
func (a answers) measures(i, j int, r ruling) []float64 {
	x, y := &a.texts[a.order[i]], &a.texts[a.order[j]]
	qualified := conflict(x.places.qualifiers, y.places.qualifiers)
	common, names, value, kept := 0.0, 0.0, 0.0, 0.0
	for _, c := range x.words {
		in := y.has(c.stem)
		if c.value {
			value += c.weight
		}
		if !in {
			continue
		}
		common += c.weight
		if c.value {
			kept += c.weight
		}
		if c.name {
			names += c.weight
		}
	}
	later, earlier := y.coveredBy(x), x.coveredBy(y)
	gap, most := a.gap(i, j)
	least := min(a.logits[i], a.logits[j])
	return append([]float64{
		when(r.strangers),
		when(len(x.owner) == 0 && len(y.owner) == 0),
		common / max(min(x.total, y.total), 0.5),
		when(len(x.typed) > 0 && len(y.typed) == 0),
		when(len(x.typed) == 0 && len(y.typed) > 0),
		when(y.cue == frame.CueNow),
		when(y.ended),
		kept / max(value, 0.5),
		when(x.past || x.event || x.hedged),
		when(y.past || y.event),
		min(names, 2),
		when(y.cue == frame.CueChange) * later,
		later * earlier,
		y.Length(),
		when(r.certainty == change.Likely),
		when(r.certainty == change.Sure),
		a.logits[i],
		a.logits[j],
		a.logits[0] - least,
		least,
		gap,
		most,
		float64(i),
		float64(j),
		a.distinct(x, y),
		y.change,
		when(y.current),
		y.change * earlier,
		when(otherDays(x, y)),
		when(r.apart && !qualified),
		when(qualified),
	}, a.q.turns(x, y, a.logits[i], a.logits[j])...)
}

// distinct considers the words of the earlier text that are not in the question. It returns the share of them that the
// later text contains, because a text often names the value that it replaces.
func (a answers) distinct(x, y *Text) float64 {
	shared, total := 0.0, 0.0
	for _, c := range x.words {
		if nearest(a.q.words, c) > 0.5 {
			continue
		}
		total += c.weight
		if y.has(c.stem) {
			shared += c.weight
		}
	}
	return shared / max(total, 0.5)
}

// gap returns the difference between how two texts cover the words of the question: the weighted mean, and the greatest
// of one word.
func (a answers) gap(i, j int) (mean, most float64) {
	for k, c := range a.q.words {
		d := c.weight * math.Abs(a.covers[i][k].related-a.covers[j][k].related)
		mean += d
		most = max(most, d)
	}
	if a.q.total > 0 {
		mean /= a.q.total
	}
	return mean, most
}

// SuccessionNames returns the names of the measures of successions.
func SuccessionNames() []string { return succession.names() }

// Weights returns the weights of the models of relevance and of successions, each with its bias last.
func Weights() (ofRelevance, ofSuccession []float64) {
	return relevance.weights(), succession.weights()
}

// SuccessionMeasures calls yield for each pair of an earlier and a later answer to a question, with the measures of
// succession. It is for programs that fit the weights.
func SuccessionMeasures(
	q Question, texts []Text, follows func(i, j int) bool, yield func(i, j int, measures []float64),
) {
	a := q.answers(texts)
	a.pairs(follows, func(i, j int, r ruling) { yield(a.order[i], a.order[j], a.measures(i, j, r)) })
}

// updateWords has verbs that people use to report a changed amount, time or plan.
var updateWords = []string{"increased", "decreased", "raised", "lowered", "reduced", "extended", "shortened",
	"expanded",
	"adjusted", "changed", "updated", "revised", "moved", "rescheduled", "postponed", "delayed", "upgraded", "switched"}

var updateStems = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range updateWords {
		out[english.StemOf(w)] = true
	}
	return out
}()

// changedShare is the share of a question's words, by weight, that the sentence about the change has.
const changedShare = 0.3

// UpdatedBy reports whether a text tells of a change of the value that the question asks for: one sentence has a word
// of updateWords and words of the question. A question that has only an owner is about everything of that owner.
func (q Question) UpdatedBy(t Text) bool {
	return slices.ContainsFunc(t.changed, func(v vocabulary) bool {
		covered := 0.0
		for _, c := range q.words {
			covered += c.weight * v.covers(Term{Stem: c.stem})
		}
		return covered >= changedShare*q.total
	})
}

// asksValue reports whether a question asks for a current value, such as an amount, a time or a place: it begins with
// a question word, and is not about the past, for advice or about the assistant.
func asksValue(question string) bool {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) })
	return len(words) > 0 && valueQuestions[words[0]] &&
		!slices.ContainsFunc(words, func(w string) bool { return otherQuestions[w] })
}

var (
	valueQuestions = map[string]bool{"how": true, "what": true, "when": true, "where": true, "which": true, "who": true}
	otherQuestions = map[string]bool{"did": true, "was": true, "were": true, "had": true, "should": true, "would": true,
		"could": true, "might": true, "you": true, "your": true}
)
