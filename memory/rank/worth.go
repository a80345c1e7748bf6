package rank

import (
	"math"
	"slices"
	"time"
)

// The weights by which a channel's evidence grows with a memory's importance and a claim's confidence
// (notes on recall constants). The searches of the store order by the same weights.
const (
	WorthBase       = 0.7 // of a memory without importance
	WorthImportance = 0.3 // what full importance adds

	ClaimBase       = 0.55 // of a claim of a memory without importance, and without confidence
	ClaimImportance = 0.3
	ClaimConfidence = 0.15
)

// Worth is the factor by which the importance of a memory weighs evidence, in [0.7,1].
func Worth(importance float64) float64 { return WorthBase + WorthImportance*importance }

// ClaimScore is the evidence of a memory with a claim that matches a share of the query's weight, in [0,1]
// (notes on recall constants, "structured claims"). The notes count matched words. Here words are weighed
// by their rarity, as in full text, so that the scores can be compared. With counts, the name of a person in
// every claim had the weight of any other word, and multi-hop questions got worse answers
// (docs/recall.md).
func ClaimScore(share, importance, confidence float64) float64 {
	return min(1, share*(ClaimBase+ClaimImportance*importance+ClaimConfidence*confidence))
}

// GraphScore is the evidence of a memory that names entities which are reached from those of the query.
// The nodes' scores are shares of the query's weight, so that they can be compared with full text; their
// sum is bounded. Document 002's notes use the cosine. A channel of ids has none, so this uses the
// share.
func GraphScore(nodes, importance float64) float64 { return min(1, nodes) * Worth(importance) }

// StageRehearse is the rehearsal boost.
const StageRehearse = "rehearse"

// Constants of rehearsal (notes on recall constants).
const (
	rehearseWeight       = 0.1
	rehearseHalfLifeDays = 30
)

// Rehearse raises what was recalled often and lately: s × (1 + 0.1·ln(n+1)·0.5^(days/30)) after n accesses,
// the last of them so many days ago (document 002 Phase 4). What was never accessed keeps its score.
func Rehearse(evidence []Evidence, now time.Time) []Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		e := &out[i]
		if e.Accesses <= 0 || e.LastAccessed.IsZero() {
			continue
		}
		days := max(0, now.Sub(e.LastAccessed).Hours()/24)
		e.Set(
			StageRehearse,
			e.Score*(1+rehearseWeight*math.Log(float64(e.Accesses)+1)*math.Pow(0.5, days/rehearseHalfLifeDays)),
			"recalled before",
		)
	}
	Rank(out)
	return out
}
