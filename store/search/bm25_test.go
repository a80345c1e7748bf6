package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/rank"
)

func TestOccurrencesFollowTheRank(t *testing.T) {
	t.Parallel()
	// What ts_rank returns for a lexeme that occurs once, twice and three times.
	for n, ranked := range map[int]float32{1: 0.06079271, 2: 0.07599089, 3: 0.082745634} {
		require.Equal(t, n, occurrences(ranked))
	}
	for i, ranked := range occurrenceRanks() {
		require.Equal(t, i+1, occurrences(ranked))
	}
	require.Equal(t, 256, occurrences(1), "higher counts have the same rank")
}

func TestBM25(t *testing.T) {
	t.Parallel()
	terms := []rank.Term{{Lexeme: "sea", Weight: 0.5}, {Lexeme: "ship", Weight: 0.3}, {Lexeme: "harbour", Weight: 0.2}}
	once := occurrenceRanks()[0]
	score, bits := bm25(terms, []float32{once, 0, once}, 2, 1.72, 0, 100)
	require.InDelta(t, 0.7, score, 1e-9, "each once, in a text of average length")
	require.Equal(t, uint64(0b01), bits, "the third is not a term of the plan")
	twice, _ := bm25(terms, []float32{occurrenceRanks()[1], 0, once}, 2, 1.72, 0, 100)
	require.Greater(t, twice, score)
	longer, _ := bm25(terms, []float32{once, 0, once}, 2, 1.72, 0.002, 1000)
	require.Less(t, longer, score)
	all, bits := bm25(terms, []float32{1, 1, 1}, 3, 1.72, 0, 100)
	require.Equal(t, 1.0, all, "never above 1")
	require.Equal(t, uint64(0b111), bits)
	none, bits := bm25(terms, []float32{0, 0, 0}, 3, 1.72, 0, 100)
	require.Zero(t, none)
	require.Zero(t, bits)
}
