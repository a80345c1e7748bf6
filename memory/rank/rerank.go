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
	DefaultRerankDeadline = 2 * time.Second // after it, the order does not change

	RerankBlendEmbedding = 0.3  // share of an embedding reranker's score in the result
	RerankBlendModel     = 0.35 // share of a language model's score in the result
)

// Rerank blends a reranker's scores into the evidence, (1−blend)·own + blend·reranker's, and sorts it again (document
// 002 Phase 4). Evidence for which the reranker gives no score or NaN keeps its own score. Scores are limited to [0,1].
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
