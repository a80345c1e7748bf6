package search

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/mneme/mneme/memory/rank"
)

// bm25 returns the sum of BM25's term scores of a memory, in [0,1], and a bit for each of the first terms that the
// memory has. A short memory that has every term once scores near 1. held has the ts_rank of each term.
func bm25(terms []rank.Term, held []float32, first int, base, slope, length float64) (score float64, bits uint64) {
	var room [32]int
	order := room[:0]
	for i, r := range held {
		if r > 0 {
			order = append(order, i)
		}
	}
	// The order of lexemes in a tsvector, because floating-point sums depend on the order.
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(strings.Compare(terms[a].Lexeme, terms[b].Lexeme), cmp.Compare(a, b))
	})
	norm := float64(slope * length)
	for _, i := range order {
		n := float64(occurrences(held[i]))
		score += float64(float64(terms[i].Weight*n*base) / (float64(n+float64(base-1)) + norm))
		if i < first {
			bits |= 1 << i
		}
	}
	return min(1, score), bits
}

// occurrences computes from ts_rank how often a memory has a lexeme. The ts_rank of one lexeme is the sum of 1/j²
// over its occurrences, and a tsvector keeps at most 256 of them, so each rank belongs to one number.
func occurrences(ranked float32) int {
	ranks := occurrenceRanks()
	n := sort.Search(len(ranks), func(i int) bool { return ranks[i] >= ranked })
	if n == len(ranks) || n > 0 && ranked-ranks[n-1] < ranks[n]-ranked {
		n-- // the nearest
	}
	return n + 1
}

// occurrenceRanks holds the ranks of 1, 2, 3 … occurrences, as ts_rank computes them.
var occurrenceRanks = sync.OnceValue(func() []float32 {
	const weight, unit = float32(0.1), 1.64493406685
	out := make([]float32, 256)
	sum := float32(0)
	for j := range out {
		sum += weight / float32((j+1)*(j+1))
		out[j] = float32(float64(sum) / unit)
	}
	return out
})

// sortHits sorts hits by score, best first, and by id.
func sortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.ID[:], b.ID[:]))
	})
}
