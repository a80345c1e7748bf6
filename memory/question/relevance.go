package question

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/lexicon"
)

// relevance estimates the probability that a text answers a question.
var relevance = model{bias: -8.77, terms: []weighted{
	{"the question names no owner", 1.71},
	{"the asker stands for anyone", 0.93},
	{"the question names an owner", -2.41},
	{"owners of the question that the text names", 6.56},
	{"the least of these", -1.05},
	{"the question is about the asker's", -2.96},
	{"and the text about the asker", 5.82},
	{"the question is about the asker", 0.03},
	{"and so is the text", 3.10},
	{"the text is about another owner", -1.77},
	{"the text has an owner, the question none", -1.51},
	{"the question has no content words", 4.61},
	{"the best word covered, by weight", 1.62},
	{"words of the question that the text covers", 6.11},
	{"nearness of meaning", 2.93},
	{"words of the text that the question covers", -1.20},
	{"the question asks for an amount, the text has none", -0.71},
	{"the question asks who, the text has a name", 0.61},
	{"the text gives the kind of value asked for", 0.74},
	{"it does not", -0.96},
	{"an identifier or a rare word covered", 0.73},
	{"number of words covered", 1.19},
	{"length of the text", -2.99},
}}

// answer estimates the probability that the best of many texts is an answer, if half of the questions have one. It
// depends on the logit of relevance and on the length of the text: a long text shares words with a question by chance,
// and an answer in it is less similar to its question. The bias and the weight of the length were then set so that the
// floor suits both conversations and notes: see docs/reference/benchmarks.md, "Questions of agents".
var answer = model{bias: 0.00, terms: []weighted{
	{"logit", 0.90},
	{"length of the text", 1.50},
	{"both", -0.48},
}}

// longText is the number of words above which the length of a text makes no difference.
const longText = 12

// RelevanceMeasures returns the measures of relevance, for programs that fit the weights.
func RelevanceMeasures(q Question, t Text) []float64 {
	named, least := q.owners.coveredBy(t.vocabulary)
	self := t.vocabulary.asker()
	none, other := q.owners.none(), len(t.owner) > 0 && !q.sameOwner(t)
	best, sum, weights, found, specific := 0.0, 0.0, 0.0, 0, false
	for i, c := range q.cover(t) {
		w := q.words[i].weight
		if q.words[i].verb {
			w /= 2
		}
		weights += w
		sum += w * c.related
		best = max(best, w*c.near)
		if c.related >= conceptCover {
			found++
		}
		specific = specific || c.near == 1 && q.words[i].specific()
	}
	if weights > 0 {
		sum /= weights
	}
	back, total := 0.0, 0.0
	for _, c := range t.words {
		if !c.typed {
			back += c.weight * nearest(q.words, c)
			total += c.weight
		}
	}
	typed := q.kind != askedThing && q.kind != askedWhether
	gives := typed && q.gives(&t)
	name := slices.ContainsFunc(t.words, func(c content) bool { return c.name })
	return []float64{
		when(none),
		when(q.owners.anyone),
		when(len(q.owners.named) > 0),
		named,
		least,
		when(q.owners.my),
		when(q.owners.my) * self,
		when(q.owners.self),
		when(q.owners.self) * self,
		when(other && !none),
		when(other && none),
		when(q.total == 0),
		best,
		sum,
		q.meaning.Cosine(&t.meaning),
		back / max(total, 0.5),
		when(q.Amount && !t.vocabulary.amounts),
		when(q.who && name),
		when(gives),
		when(typed && !gives),
		when(specific),
		float64(min(found, 3)) / 3,
		t.Length(),
	}
}

// RelevanceNames returns the names of the measures.
func RelevanceNames() []string { return relevance.names() }

// Relevance returns the probability that the best text for a question answers it. If the query is not a question, but a
// list of words or a task, the result is at least the share of its words that the text covers.
func (q Question) Relevance(t Text) float64 {
	share := 0.0
	if !q.Asks {
		share = q.share(t)
	}
	if q.sameDay(t) {
		share = max(share, onDay)
	}
	return max(share, q.answeredBy(t))
}

// share returns the share of the question's words, including owners, that a text covers.
func (q Question) share(t Text) float64 {
	covered, total := 0.0, q.total
	for i, c := range q.cover(t) {
		covered += q.words[i].weight * c.related
	}
	for _, term := range q.Terms {
		if term.Owner {
			covered, total = covered+t.vocabulary.covers(term), total+1
		}
	}
	if total == 0 {
		return 1
	}
	return covered / total
}

func (q Question) answeredBy(t Text) float64 {
	logit, length := q.logit(t), t.Length()
	return probability(answer.logit([]float64{logit, length, logit * length}))
}

// Length returns the number of content words of a text, scaled to [0,1]: 1 for twelve or more.
func (t *Text) Length() float64 { return min(float64(len(t.words)), longText) / longText }

func (q Question) logit(t Text) float64 { return relevance.logit(RelevanceMeasures(q, t)) }

// cover is how well a text covers a word of a question: near by the most similar word, related also by a word of the
// same concept, or of the kind that the question names ("which instrument", "the cello").
type cover struct{ near, related float64 }

func (q Question) cover(t Text) []cover {
	out := make([]cover, len(q.words))
	for i, c := range q.words {
		near := nearest(t.words, c)
		if near < 1 && t.vocabulary.stems[c.stem] {
			near = 1
		}
		out[i] = cover{near, near}
		if near < conceptCover && (t.vocabulary.covers(Term{Stem: c.stem}) > 0 || t.givesContact(c.stem) ||
			c.kind && slices.ContainsFunc(t.words, func(w content) bool { return w.place.IsA(c.place) })) {
			out[i].related = conceptCover
		}
	}
	return out
}

// readWords collects the content words of a question, except owners and the value whose predecessor it asks for.
func (q *Question) readWords(ts []english.Token, dated []bool) {
	owner := func(stem string) bool {
		return slices.ContainsFunc(q.Terms, func(t Term) bool { return t.Owner && t.Stem == stem && !hasDigit(stem) })
	}
	alone := false // its only word says what a name is
	for i, t := range ts {
		q.who = q.who || t.Is("who", "whom", "whose")
		if t.Is("many", "much") || english.SelfWords[t.Low] ||
			t.Low == "user" && i > 0 && ts[i-1].Is("the", "this") || pastCues[t.Low] || askFillers[t.Stem] && i < 2 ||
			dated[i] ||
			!english.IsContent(t) && !(t.Cap && i > 0) && !nounOfVerb(ts, i) {
			continue
		}
		c, parts := wordOf(ts, i)
		if len(parts) > 1 || !owner(c.stem) && !slices.Contains(q.Before, c.stem) {
			c.verb = verbAt(ts, i)
			q.add(c, parts)
			alone = len(q.words) == 1 && classifies(ts, i)
		}
	}
	if alone { // "what is the Kestrel project?" asks for Kestrel
		q.words, q.total, q.meaning = nil, 0, lexicon.Vector{}
	}
}

// AsksKind reports whether the words of a question, in lower case, are followed by the kind of the answer: "which",
// "what kind of". The kind may be a compound, whose last word names it: "what board game".
func AsksKind(before []string) bool {
	n := len(before)
	if n > 1 && before[n-1] == "of" {
		return kindWords[before[n-2]]
	}
	return n > 0 && (before[n-1] == "what" || before[n-1] == "which")
}

var kindWords = english.Words("kind kinds type types sort sorts")

// namesKind reports whether the word at i of a question is the kind of the answer, as in AsksKind or in "what is my
// brother's job". Other words have members too, which say little: "time", "plan".
func namesKind(ts []english.Token, i int) bool {
	before := make([]string, 0, 3) // AsksKind needs two words, and the compound one
	for _, t := range ts[max(0, i-3):i] {
		before = append(before, t.Low)
	}
	if AsksKind(before) || i > 0 && english.IsContent(ts[i-1]) && AsksKind(before[:len(before)-1]) {
		return true
	}
	return i > 2 && ts[0].Is("what", "which") && english.IsBe(ts[1]) && i+1 == len(ts) &&
		(ts[i-1].Poss || ts[i-1].Is("my", "our", "your"))
}

// add adds a content word, which may be a phrase of several parts.
func (q *Question) add(c content, parts []string) {
	q.words = append(q.words, c)
	q.total += c.weight
	for _, low := range parts {
		q.meaning.Add(low, c.weight)
	}
}
