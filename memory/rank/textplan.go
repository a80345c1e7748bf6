package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Constants of BM25 for texts of few words: claims, hints, facts that may be repeated. Their length says little about
// their relevance, so it counts less than with BM25's usual b of 0.75.
const (
	bm25K1 = 1.2
	bm25B  = 0.4
)

// Constants for the length of a memory in full-text ranking. The length is compared with a fixed one, typicalBytes, and
// not with the average of the corpus: if short turns of a person alternate with long answers of an assistant, the
// average fits neither. Measured on both sets of evaluation conversations (docs/reference/benchmarks.md), one of short
// turns and one of long exchanges: shares from 0.25 to 0.75 and lengths from 150 to 400 bytes are about equally good.
// With the average, the results for long exchanges are much worse.
const (
	lengthShare  = 0.4
	typicalBytes = 250
)

// ByteNorm returns the constants of length normalization in full-text ranking. A memory's score is
//
//	sum over terms of weight × frequency × base / (frequency + base - 1 + slope × bytes)
func ByteNorm() (base, slope float64) {
	return 1 + bm25K1*(1-lengthShare), bm25K1 * lengthShare / typicalBytes
}

// AsText returns the plan with scores comparable to those of full text, for texts whose length is only known in
// lexemes.
func (p TextPlan) AsText() TextPlan {
	base, slope := ByteNorm()
	p.LengthBase, p.LengthSlope = base, slope*bytesPerLexeme
	return p
}

// bytesPerLexeme is the approximate length of a text per lexeme.
const bytesPerLexeme = 9

// SearchWidth limits the work of one text search.
type SearchWidth struct {
	Terms int // number of terms that score a memory; the rarest are kept

	// Matches is the approximate number of memories that are ranked. Terms select memories, the rarest first, until the
	// sum of their document frequencies reaches Matches. More common terms only add to the scores of the selected
	// memories. If a query has only one word, it selects all memories with it.
	Matches int64

	// Enough is the number of memories that the rare terms must select. If they select fewer, memories with most of the
	// weight of the other terms are ranked too.
	Enough int64

	// Pairs is for texts of few words, such as claims and facts, which rarely contain most of a query. If all words of
	// the query are common, memories are selected that contain the rarest word and any other.
	Pairs bool

	// Rare is for words that are not in the text, such as other words for its attribute. Only rare words select
	// memories, at most Matches. If all words are common, the search finds nothing.
	Rare bool
}

// Wider returns the width of a second search, for when the first one found too few results: the asker may see only a
// small part of the memories that document frequencies count.
func (w SearchWidth) Wider() SearchWidth {
	w.Matches *= 10
	w.Enough *= 10
	return w
}

var (
	// BroadSearch is for recall, which needs every memory that may help.
	BroadSearch = SearchWidth{Terms: 24, Matches: 1_000, Enough: 200}
	// FocusedSearch is for a decision, which needs the memories that a fact may repeat or contradict. They share its
	// rare words.
	FocusedSearch = SearchWidth{Terms: 8, Matches: 200, Pairs: true}
	// AttributeSearch is for a decision too: other words for the attribute of a fact. Most are in no memory.
	AttributeSearch = SearchWidth{Terms: 24, Matches: 400, Rare: true}
	// ShortSearch is for short texts about memories: claims, hints, summaries, names.
	ShortSearch = SearchWidth{Terms: 24, Matches: 3_000, Pairs: true}
)

// Lexeme is a stem of the query with the number of the tenant's live memories that contain it.
type Lexeme struct {
	Text string
	Docs int64
}

// Corpus has the number of live memories and the sum of their distinct lexemes.
type Corpus struct {
	Docs, Lexemes int64
}

// Term is a lexeme with its share of the query's weight. Weights sum to 1.
type Term struct {
	Lexeme string
	Weight float64
}

// TextPlan describes how a query is matched and ranked. A memory's score uses ByteNorm. The score of a short text is
//
//	sum over terms of weight × saturated term frequency × LengthBase / (LengthBase + LengthSlope × distinct lexemes)
//
// A short text that has every term once scores almost 1, one of average length 0.78.
type TextPlan struct {
	Terms                   []Term
	LengthBase, LengthSlope float64

	// Also has terms that were added to the words of the query (ExpandQuery). Their weights are not part of the sum of
	// 1 and add to a score.
	Also []Term

	mass float64 // sum of the weights before they were scaled to 1

	// The selection: memories with one of the lexemes in any, or with common terms whose weights sum to least. If pairs
	// is set, memories with the first common term and any other.
	any    []string
	common []Term
	least  float64
	pairs  bool

	selected float64 // estimated number of the tenant's memories that the plan selects, at most
}

// IsEmpty reports whether there is nothing to search for: each word, added ones included, is a stop word or occurs in
// no memory.
func (p TextPlan) IsEmpty() bool { return len(p.Terms) == 0 && len(p.Also) == 0 }

// PlanText weights the lexemes of a query by BM25's inverse document frequency and chooses those that select memories.
// Lexemes that no memory contains have the weight of the rarest, so that no memory fully matches a query with an
// unknown main word.
func PlanText(lexemes []Lexeme, corpus Corpus, width SearchWidth) TextPlan {
	if corpus.Docs <= 0 {
		return TextPlan{}
	}
	var known []Lexeme
	total := 0.0
	for _, l := range lexemes {
		total += idf(l.Docs, corpus.Docs)
		if l.Docs > 0 {
			known = append(known, l)
		}
	}
	slices.SortFunc(known, func(a, b Lexeme) int {
		if a.Docs != b.Docs {
			return int(min(1, max(-1, a.Docs-b.Docs)))
		}
		return strings.Compare(a.Text, b.Text)
	})
	if len(known) > width.Terms {
		known = known[:width.Terms]
	}
	p := TextPlan{mass: total}
	budget := width.Matches
	for _, l := range known {
		p.Terms = append(p.Terms, Term{Lexeme: l.Text, Weight: idf(l.Docs, corpus.Docs) / total})
		if l.Docs <= budget || len(known) == 1 && !width.Rare {
			p.any = append(p.any, l.Text)
			budget -= l.Docs
			p.selected += float64(l.Docs)
		}
	}
	switch rest := len(p.any); { // known is sorted, the rarest first
	case width.Rare && rest == 0:
		return TextPlan{}
	case width.Rare, rest == len(known):
	case width.Pairs && rest == 0:
		p.common, p.pairs = p.Terms, true
	case !width.Pairs && (rest == 0 || p.selected < float64(width.Enough)):
		p.together(p.Terms[rest:], known[rest:], corpus, float64(budget))
	}
	average := max(1, float64(corpus.Lexemes)/float64(corpus.Docs))
	p.LengthBase = 1 + bm25K1*(1-bm25B)
	p.LengthSlope = bm25K1 * bm25B / average
	return p
}

// FoundLittle reports whether a wider search is worthwhile: the search found fewer memories than the limit and fewer
// than a tenth of those that the plan selects. Then most are hidden from the asker, or the words of the query rarely
// occur together.
func (p TextPlan) FoundLittle(found, limit int) bool {
	return found < limit && float64(found*littleOf) < p.selected
}

// littleOf is the divisor of FoundLittle: less than one in littleOf of the selected memories is little.
const littleOf = 10

// Limits of the selection by common words.
const (
	togetherTerms = 8  // number of terms, the rarest; their sums have at most 2^8 values
	togetherSteps = 64 // steps in the search for the least weight
	leastSlack    = 1e-9
)

// together sets the least weight that the common words of a selected memory must have. It is the lowest weight that at
// most the given number of memories reach, if words are independent of each other. If even all words together select
// more memories, all of them are required, provided that no rarer word selects.
func (p *TextPlan) together(terms []Term, known []Lexeme, corpus Corpus, matches float64) {
	terms = terms[:min(togetherTerms, len(terms))]
	share, sum := make([]float64, len(terms)), 0.0
	for i, t := range terms {
		share[i] = min(1, float64(known[i].Docs)/float64(corpus.Docs))
		sum += t.Weight
	}
	selected := 0.0
	for step := togetherSteps; step > 0; step-- {
		least := sum*float64(step)/togetherSteps - leastSlack
		likely := likelihood(terms, share, least) * float64(corpus.Docs)
		if likely > matches && (step < togetherSteps || len(p.any) > 0) {
			break
		}
		p.common, p.least, selected = terms, least, likely
	}
	p.selected += selected
}

// likelihood returns the probability that the terms of a memory have a total weight of at least least, if each term
// occurs independently with its share.
func likelihood(terms []Term, share []float64, least float64) float64 {
	if least <= 0 {
		return 1
	}
	if len(terms) == 0 {
		return 0
	}
	return share[0]*likelihood(
		terms[1:],
		share[1:],
		least-terms[0].Weight,
	) + (1-share[0])*likelihood(
		terms[1:],
		share[1:],
		least,
	)
}

// Expand adds lexemes that a memory may have instead of those of the query, the rarest first, as long as the memories
// that they select fit the width. Their weight is multiplied by expansionShare. They also select if no memory has a
// word of the query, but not if all words of the query are too common to select by themselves.
func (p *TextPlan) Expand(lexemes []Lexeme, corpus Corpus, width SearchWidth) {
	if p.mass == 0 || len(p.Terms) > 0 && len(p.any) == 0 {
		return
	}
	budget := width.Matches / 2
	lexemes = slices.Clone(lexemes)
	slices.SortFunc(
		lexemes,
		func(a, b Lexeme) int { return cmp.Or(cmp.Compare(a.Docs, b.Docs), strings.Compare(a.Text, b.Text)) },
	)
	for _, l := range lexemes {
		if l.Docs <= 0 || l.Docs > budget || len(p.Terms)+len(p.Also) >= width.Terms ||
			slices.ContainsFunc(p.Terms, func(t Term) bool { return t.Lexeme == l.Text }) {
			continue
		}
		budget -= l.Docs
		p.selected += float64(l.Docs)
		p.Also = append(p.Also, Term{Lexeme: l.Text, Weight: min(1, expansionShare*idf(l.Docs, corpus.Docs)/p.mass)})
		p.any = append(p.any, l.Text)
	}
}

// Match returns the selection as a tsquery. quote turns a lexeme into an operand.
func (p TextPlan) Match(quote func(string) string) string {
	match := anyOf(p.any, quote)
	switch {
	case p.pairs:
		rest := make([]string, 0, len(p.common)-1)
		for _, t := range p.common[1:] {
			rest = append(rest, t.Lexeme)
		}
		return quote(p.common[0].Lexeme) + " & (" + anyOf(rest, quote) + ")"
	case len(p.common) > 0:
		together, _ := weighing(p.common, p.least, quote)
		if match != "" {
			match += " | "
		}
		match += together
	}
	return match
}

func anyOf(lexemes []string, quote func(string) string) string {
	operands := make([]string, len(lexemes))
	for i, l := range lexemes {
		operands[i] = quote(l)
	}
	return strings.Join(operands, " | ")
}

// weighing returns the condition that terms with a total weight of at least least occur, or "" if that is always true.
// possible reports whether it can be true.
func weighing(terms []Term, least float64, quote func(string) string) (match string, possible bool) {
	if least <= 0 {
		return "", true
	}
	if len(terms) == 0 {
		return "", false
	}
	without, possible := weighing(terms[1:], least, quote)
	with, reached := weighing(terms[1:], least-terms[0].Weight, quote)
	if !reached || with == without && possible {
		return without, possible // the term makes no difference
	}
	match = quote(terms[0].Lexeme)
	switch {
	case strings.Contains(with, " | "):
		match += " & (" + with + ")"
	case with != "":
		match += " & " + with
	}
	if possible {
		match += " | " + without
	}
	return match, true
}

// idf returns BM25's inverse document frequency in its non-negative form.
func idf(docs, total int64) float64 {
	d, n := float64(docs), float64(max(total, docs))
	return math.Log(1 + (n-d+0.5)/(d+0.5))
}

// PlanHints plans the search of a query among hints. Hints have no statistics, so the document frequencies of the
// memories are used, and a word in no memory counts as the rarest. The question words of rules, which many hints have,
// count as common. So the name of the subject selects hints, and the other words rank them.
//
// The expansion adds words as for full text (document 002 Phase 1), because a hint may also use other words.
func PlanHints(query, expansion, vocabulary []Lexeme, corpus Corpus) TextPlan {
	common := map[string]bool{}
	for _, l := range vocabulary {
		common[l.Text] = true
	}
	counted := func(lexemes []Lexeme) []Lexeme {
		out := slices.Clone(lexemes)
		for i := range out {
			out[i].Docs = max(1, out[i].Docs)
			if common[out[i].Text] {
				out[i].Docs = max(out[i].Docs, int64(vocabularyShare*float64(corpus.Docs)))
			}
		}
		return out
	}
	plan := PlanText(counted(query), corpus, ShortSearch)
	plan.Expand(counted(expansion), corpus, ShortSearch)
	return plan
}

// hintCap is the highest score of a hint without direct evidence: a generated text may find a memory, but must not rank
// above a match in a memory's own text (document 002 Phase 2; notes on recall constants).
const hintCap = 0.75

// vocabularyShare is the assumed share of a corpus that has a hint with a given question word of the rules.
const vocabularyShare = 0.05
