package rank

import (
	"math"
	"slices"
	"time"
)

// Weights of a memory's importance and a claim's confidence in a channel's evidence (notes on recall constants). The
// store's searches sort by the same weights.
const (
	WorthBase       = 0.7 // factor for a memory with importance 0
	WorthImportance = 0.3 // addition for importance 1

	ClaimBase       = 0.55 // factor for a claim with importance 0 and confidence 0
	ClaimImportance = 0.3
	ClaimConfidence = 0.15
)

// Worth returns the factor for the evidence of a memory with this importance, in [0.7,1].
func Worth(importance float64) float64 { return WorthBase + WorthImportance*importance }

// ClaimScore returns the evidence for a memory with a claim that matches a share of the query's weight, in [0,1] (notes
// on recall constants, "structured claims"). The notes count matched words. Here words are weighted by their rarity, as
// in full text, so that the scores are comparable. When words were counted, the name of a person that occurs in every
// claim weighed as much as any other word, and multi-hop questions got worse answers (docs/recall.md).
func ClaimScore(share, importance, confidence float64) float64 {
	return min(1, share*(ClaimBase+ClaimImportance*importance+ClaimConfidence*confidence))
}

// GraphScore returns the evidence for a memory that names entities reached from those of the query. nodes is the sum of
// the entities' scores, which are shares of the query's weight and so comparable with full text. It is limited to 1.
// The notes on recall constants use the cosine instead, which a channel of ids does not have.
func GraphScore(nodes, importance float64) float64 { return min(1, nodes) * Worth(importance) }

// StageRehearse is the stage that raises memories that are recalled often.
const StageRehearse = "rehearse"

// Constants of rehearsal (notes on recall constants).
const (
	rehearseWeight       = 0.1
	rehearseHalfLifeDays = 30
)

// Rehearse raises memories that were recalled often and recently: s × (1 + 0.1·ln(n+1)·0.5^(days/30)) after n accesses,
// the last of them that many days ago (document 002 Phase 4). A memory that was never accessed keeps its score.
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
