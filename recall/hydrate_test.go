package recall_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
)

// interrupting runs a function between the two reads of the candidates: reranking comes after authorisation and before
// the rows are read.
type interrupting struct{ between func(texts []string) }

func (r interrupting) Rerank(_ context.Context, _ string, texts []string) (map[int]float64, inference.Usage, error) {
	r.between(texts)
	scores := map[int]float64{}
	for i := range texts {
		scores[i] = 1 - float64(i)/1000 // reranked candidates stay ahead of the others
	}
	return scores, inference.Usage{}, nil
}

// A memory that is forgotten during a recall is not returned; the next one takes its place.
func TestPageIsFilledWhenRowsAreForgotten(t *testing.T) {
	t.Parallel()
	for _, layered := range []bool{false, true} {
		w := newWorld(t)
		var all []uuid.UUID
		for i := range 40 {
			all = append(all, w.remember(fmt.Sprintf("needle number %d in the hay", i)))
		}
		w.Index = hitting(all...)
		req := schema.RecallRequest{Query: "needle", Limit: 10, Layers: layered,
			// no other stage may add or move rows
			Without: append(slices.DeleteFunc(slices.Clone(recall.Stages()), func(stage string) bool {
				return stage == "rerank"
			}), "rescue")}
		require.Len(t, w.answer(req).Results, 10)
		var gone []string // the best 24, so that three pages of ten do not suffice
		w.Reranking = inference.Reranking{Top: 24, Blend: 0.01, Reranker: interrupting{func(texts []string) {
			gone = texts
			w.exec(`UPDATE memories SET deleted_at = now() WHERE content = ANY($1)`, texts)
		}}}
		after := w.answer(req)
		require.Empty(t, after.Meta.Degraded)
		require.Len(t, gone, 24)
		require.Len(t, after.Results, 10, "layered %v", layered)
		for _, r := range after.Results {
			require.NotContains(t, gone, r.Content)
		}
		for i := 1; i < len(after.Results); i++ {
			require.GreaterOrEqual(t, after.Results[i-1].Score, after.Results[i].Score)
		}
	}
}

// The decay rate of importance is configured per deployment, for the filter as well as for the shown value.
func TestImportanceDecaysAtTheConfiguredRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.remember("The kettle is loud.")
	w.exec(`UPDATE memories SET importance = 0.8, created_at = now() - interval '2 days',
		recorded_at = now() - interval '2 days' WHERE id = $1`, id)
	for rate, left := range map[float64]float64{0: 0.722, 0.5: 0.2, 1: 0.8} {
		w.DailyDecay = rate
		out := w.answer(schema.RecallRequest{Query: "kettle", ImportanceMin: left - 0.01})
		require.Equal(t, []string{id.String()}, ids(out), "rate %v", rate)
		require.InDelta(t, left, out.Results[0].ImportanceNow, 1e-3)
		w.exec(`DELETE FROM memory_access`) // returned memories count as accessed
		require.Empty(t, ids(w.answer(schema.RecallRequest{Query: "kettle", ImportanceMin: left + 0.01})), "rate %v",
			rate)
	}
}
