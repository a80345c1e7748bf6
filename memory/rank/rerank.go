package rank

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// StageRerank is reranking.
const StageRerank = "rerank"

// Defaults of reranking (notes on recall constants).
const (
	DefaultRerankTop      = 20              // candidates that a reranker reads
	DefaultRerankDeadline = 2 * time.Second // after which the order is left unchanged

	RerankBlendEmbedding = 0.3  // the share of an embedding reranker's score in the result
	RerankBlendModel     = 0.35 // the share of a language model's
)

// Rerank blends a reranker's scores into the evidence, (1−blend)·score + blend·theirs, and sorts it again (document
// 002 Phase 4). Evidence without a score, or with the score NaN, keeps its own; scores outside of [0,1] count as its
// bounds.
func Rerank(evidence []Evidence, scores map[uuid.UUID]float64, blend float64) []Evidence {
	out := slices.Clone(evidence)
	blend = share(blend)
	for i := range out {
		e := &out[i]
		if score, ok := scores[e.ID]; ok && !math.IsNaN(score) {
			e.Set(StageRerank, (1-blend)*e.Score+blend*share(score), "")
		}
	}
	Rank(out)
	return out
}
