package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Constants of ranking texts of few words: claims, hints, facts that may be repeated. Their length says little about
// how much of it is on topic, so it counts for less than BM25's usual 0.75.
const (
	bm25K1 = 1.2
	bm25B  = 0.4
)

// Constants of the length of a memory in full-text ranking. It is compared with a fixed length, not with the average
// of the corpus: if short turns of a person alternate with long answers of an assistant, the average fits neither. A
// memory of typicalBytes counts as one of average length does in BM25. Measured on both sets of evaluation
// conversations (docs/reference/benchmarks.md): on the short turns of one, any share from 0.25 to 0.75 and any length
// from 150 to 400 bytes is about as good; on the long exchanges of the other too, and the average is much worse.
const (
	lengthShare  = 0.4
	typicalBytes = 250
)

// ByteNorm returns the constants by which full text ranks memories of different lengths. A memory's score is
//
//	sum over terms of weight × frequency × base / (frequency + base - 1 + slope × bytes)
func ByteNorm() (base, slope float64) {
	return 1 + bm25K1*(1-lengthShare), bm25K1 * lengthShare / typicalBytes
}

// AsText returns the plan with scores that compare with those of full text, for texts whose length is known in lexemes
// only.
func (p TextPlan) AsText() TextPlan {
	base, slope := ByteNorm()
	p.LengthBase, p.LengthSlope = base, slope*bytesPerLexeme
	return p
}

// bytesPerLexeme is about how many bytes of a text there are for each of its lexemes.
const bytesPerLexeme = 9

// SearchWidth bounds the work of one text search.
type SearchWidth struct {
	Terms int // that a memory is scored by; the rarest are kept

	// Matches is about how many memories are ranked. Terms select memories from the rarest term on, until the sum of
	// their document frequencies reaches Matches. Commoner terms still add to the score of memories that rare terms
	// found. If a query has only one word, it selects all memories with it.
	Matches int64

	// Enough is how many memories the rare terms must select. If they select fewer, memories with most of the weight
	// of the other terms are ranked too.
	Enough int64

	// Pairs is for texts of few words, such as claims and facts, which seldom hold most of a query: where
	// every word of it is common, the rarest selects together with any other.
	Pairs bool
}

// Wider is the width of a second search, after a first one returned too few results: the asker may see only a small
// part of the memories that the document frequencies count.
func (w SearchWidth) Wider() SearchWidth {
	w.Matches *= 10
	w.Enough *= 10
	return w
}

var (
	// BroadSearch is for recall, which wants every memory that may help.
	BroadSearch = SearchWidth{Terms: 24, Matches: 1_000, Enough: 200}
	// FocusedSearch is for a decision, which wants what a fact may repeat or contradict: that shares
	// its rare words.
	FocusedSearch = SearchWidth{Terms: 8, Matches: 200, Pairs: true}
	// ShortSearch is for short texts about memories: claims, hints, summaries, names.
	ShortSearch = SearchWidth{Terms: 24, Matches: 3_000, Pairs: true}
)

// Lexeme is a stem of the query with the number of the tenant's live memories that hold it.
type Lexeme struct {
	Text string
	Docs int64
}

// Corpus is the size of what is searched: live memories, and the sum of their distinct lexemes.
type Corpus struct {
	Docs, Lexemes int64
}

// Term is a lexeme with its share of the query's weight. Weights sum to 1.
type Term struct {
	Lexeme string
	Weight float64
}

// TextPlan says how a query is matched and ranked. A memory's score uses ByteNorm, and the score of a short text is
//
//	sum over terms of weight × saturated term frequency × LengthBase / (LengthBase + LengthSlope × distinct lexemes)
//
// A short memory that has every term once comes near 1; one of average length to 0.78.
type TextPlan struct {
	Terms                   []Term
	LengthBase, LengthSlope float64

	// Also are terms that were added to the words of the query (ExpandQuery). They add to a score by their weight,
	// over what the Terms' weights sum to.
	Also []Term

	mass float64 // the sum of the weights before they are shares

	// The selection: any of these lexemes alone, or several common terms of a memory whose weights sum to `least`;
	// with pairs, the first lexeme and any other.
	any    []string
	common []Term
	least  float64
	pairs  bool

	selected float64 // about how many of the tenant's memories that is, at most
}

// IsEmpty reports whether there is nothing to search for: every word was a stop word, or occurs in
// no memory.
func (p TextPlan) IsEmpty() bool { return len(p.Terms) == 0 }

// PlanText weighs the lexemes of a query by BM25's inverse document frequency and chooses those that
// select what is ranked. Lexemes that no memory holds weigh as the rarest, so that a query whose key
// word is unknown does not look fully answered.
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
		if l.Docs <= budget || len(known) == 1 {
			p.any = append(p.any, l.Text)
			budget -= l.Docs
			p.selected += float64(l.Docs)
		}
	}
	switch rest := len(p.any); { // the rarest come first
	case rest == len(known):
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

// FoundLittle reports whether a search found so few of the memories that the plan selects, and fewer than were
// asked for, that a wider one is worth its time: most are hidden from the asker, or the words of the query
// seldom meet.
func (p TextPlan) FoundLittle(found, limit int) bool {
	return found < limit && float64(found*littleOf) < p.selected
}

// littleOf is one in how many of the selected memories is little.
const littleOf = 10

// Bounds of what common words select.
const (
	togetherTerms = 8  // the rarest, whose weight counts; what they can weigh has 2^8 values at most
	togetherSteps = 64 // in which the least weight is sought
	leastSlack    = 1e-9
)

// together sets the least weight that a memory's common words must have for it to be ranked, so low that no more
// than so many memories have it, were words independent of each other. Where even all words together are too
// common, all of them select, if nothing else does.
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

// likelihood is the probability that the weights of the terms that a memory has sum to at least least, if each term
// occurs with its own share.
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

// Expand adds lexemes that a memory may have instead of those of the query, the rarest first, as long as the width
// has room for the memories that they select. They count with expansionShare of their weight.
func (p *TextPlan) Expand(lexemes []Lexeme, corpus Corpus, width SearchWidth) {
	if p.IsEmpty() || len(p.any) == 0 {
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

// Match renders the condition as a tsquery, with quote turning a lexeme into an operand.
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

// weighing renders the condition that some of these terms occur with a total weight of at least least; empty if that
// is always true. It reports whether it can be true.
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
		return without, possible // the term decides nothing
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

// idf is BM25's inverse document frequency in the form that is never negative.
func idf(docs, total int64) float64 {
	d, n := float64(docs), float64(max(total, docs))
	return math.Log(1 + (n-d+0.5)/(d+0.5))
}

// PlanHints plans the search of a query among hints. Hints have no statistics: words are assumed to be as rare as in
// the memories' texts, and as rare as possible if no text has them, except for the question words of rules, which
// many hints have. So the name of the subject selects, and the other words rank.
//
// The expansion adds words as it does for full text (document 002 Phase 1), because a hint may use another word, too.
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

// hintCap is the highest score of a hint alone: a generated text may rescue a memory, but does not rank above the
// memory's own text (document 002 Phase 2; notes on recall constants).
const hintCap = 0.75

// vocabularyShare is the share of a corpus that is taken to have a hint with a given word of the rules.
const vocabularyShare = 0.05
