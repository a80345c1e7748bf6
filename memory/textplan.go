package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Constants of text ranking. Memories are short, a sentence or a turn, and their length says little
// about how much of it is on topic; so length counts for less than BM25's usual 0.75. Measured on
// the evaluation conversations: 0.75 gives recall@10 0.606, 0.4 gives 0.616 (docs/benchmarks.md).
const (
	bm25K1 = 1.2
	bm25B  = 0.4
)

// SearchWidth bounds the work of one text search.
type SearchWidth struct {
	Terms int // that a memory is scored by; the rarest are kept

	// Matches is how many memories may be ranked. Terms select from the rarest on until the sum of
	// their document frequencies reaches it; commoner ones still count towards the score of what the
	// rare ones found.
	Matches int64
}

var (
	// BroadSearch is for recall, which wants every memory that may help.
	BroadSearch = SearchWidth{Terms: 24, Matches: 3_000}
	// FocusedSearch is for a decision, which wants what a fact may repeat or contradict: that shares
	// its rare words.
	FocusedSearch = SearchWidth{Terms: 8, Matches: 200}
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

// TextPlan says how a query is matched and ranked. A memory's score is
//
//	sum over terms of weight × saturated term frequency × LengthBase / (LengthBase + LengthSlope × distinct lexemes)
//
// A short memory that holds every term once comes near 1; one of average length to 0.78.
type TextPlan struct {
	Terms                   []Term
	LengthBase, LengthSlope float64

	// Also are terms that nobody asked for by these words (ExpandQuery). They add to a score by their weight,
	// over what the Terms' weights sum to.
	Also []Term

	any  []string // lexemes of which a memory must hold at least one
	mass float64  // the sum of the weights before they are shares
	all  string   // a lexeme that it must hold besides, when all of them are common; else empty
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
	for i, l := range known {
		p.Terms = append(p.Terms, Term{Lexeme: l.Text, Weight: idf(l.Docs, corpus.Docs) / total})
		if i == 0 || l.Docs <= budget {
			p.any = append(p.any, l.Text)
			budget -= l.Docs
		}
	}
	if len(p.any) == 1 && len(known) > 1 && known[0].Docs > width.Matches {
		// Nothing is rare: ask for the rarest together with any other.
		p.all, p.any = known[0].Text, nil
		for _, l := range known[1:] {
			p.any = append(p.any, l.Text)
		}
	}
	average := max(1, float64(corpus.Lexemes)/float64(corpus.Docs))
	p.LengthBase = 1 + bm25K1*(1-bm25B)
	p.LengthSlope = bm25K1 * bm25B / average
	return p
}

// Expand adds lexemes that may stand in a memory for those of the query, the rarest first, as long as the
// width has room for what they select. They count by expansionShare of their weight.
func (p *TextPlan) Expand(lexemes []Lexeme, corpus Corpus, width SearchWidth) {
	if p.IsEmpty() || p.all != "" {
		return
	}
	budget := width.Matches / 2
	lexemes = slices.Clone(lexemes)
	slices.SortFunc(lexemes, func(a, b Lexeme) int { return cmp.Or(cmp.Compare(a.Docs, b.Docs), strings.Compare(a.Text, b.Text)) })
	for _, l := range lexemes {
		if l.Docs <= 0 || l.Docs > budget || len(p.Terms)+len(p.Also) >= width.Terms || slices.ContainsFunc(p.Terms, func(t Term) bool { return t.Lexeme == l.Text }) {
			continue
		}
		budget -= l.Docs
		p.Also = append(p.Also, Term{Lexeme: l.Text, Weight: min(1, expansionShare*idf(l.Docs, corpus.Docs)/p.mass)})
		p.any = append(p.any, l.Text)
	}
}

// Match renders the condition as a tsquery, with quote turning a lexeme into an operand.
func (p TextPlan) Match(quote func(string) string) string {
	operands := make([]string, len(p.any))
	for i, l := range p.any {
		operands[i] = quote(l)
	}
	any := strings.Join(operands, " | ")
	if p.all == "" {
		return any
	}
	return quote(p.all) + " & (" + any + ")"
}

// idf is BM25's inverse document frequency in the form that is never negative.
func idf(docs, total int64) float64 {
	d, n := float64(docs), float64(max(total, docs))
	return math.Log(1 + (n-d+0.5)/(d+0.5))
}
