package recall_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
)

// interrupting does something between the two looks at the candidates: reranking comes after authorisation and
// before rows are read.
type interrupting struct{ between func() }

func (r interrupting) Rerank(_ context.Context, _ string, texts []string) (map[int]float64, inference.Usage, error) {
	r.between()
	scores := map[int]float64{}
	for i := range texts {
		scores[i] = 1 - float64(i)/float64(len(texts)+1)
	}
	return scores, inference.Usage{}, nil
}

// What is forgotten while a recall is at work is not shown, and what comes next takes its place.
func TestThePageIsFilledWhenRowsFallOut(t *testing.T) {
	t.Parallel()
	for _, layered := range []bool{false, true} {
		w := newWorld(t)
		var all []uuid.UUID
		for i := range 40 {
			all = append(all, w.remember(fmt.Sprintf("needle number %d in the hay", i)))
		}
		w.Index = hitting(all...)
		req := schema.RecallRequest{Query: "needle", Limit: 10, Layers: layered}
		before := ids(w.answer(req))
		require.Len(t, before, 10)
		w.Reranking = inference.Reranking{Blend: 0.01, Reranker: interrupting{func() {
			w.exec(`UPDATE memories SET deleted_at = now() WHERE id::text = ANY($1)`, before)
		}}}
		after := w.answer(req)
		require.Empty(t, after.Meta.Degraded)
		require.Len(t, after.Results, 10, "layered %v", layered)
		for _, r := range after.Results {
			require.NotContains(t, before, r.ID)
		}
		for i := 1; i < len(after.Results); i++ {
			require.GreaterOrEqual(t, after.Results[i-1].Score, after.Results[i].Score)
		}
	}
}
