package inference_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
)

// fixed embeds only known texts.
type fixed struct {
	vectors map[string][]float32
	err     error
	short   bool
}

func (f fixed) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: "fixed", Dimensions: 2}
}

func (f fixed) Embed(_ context.Context, texts []string) ([][]float32, inference.Usage, error) {
	var out [][]float32
	for _, t := range texts {
		out = append(out, f.vectors[t])
	}
	if f.short && len(texts) > 1 {
		out = out[1:]
	}
	return out, inference.Usage{Calls: 1}, f.err
}

func TestEmbeddingReranker(t *testing.T) {
	t.Parallel()
	vectors := map[string][]float32{"q": {1, 0}, "same": {1, 0}, "near": {0.6, 0.8}, "opposed": {-1, 0},
		"odd": {1, 0, 0}}
	scores, usage, err := inference.EmbeddingReranker{Embedder: fixed{vectors: vectors}}.Rerank(t.Context(), "q",
		[]string{"near", "same", "opposed"})
	require.NoError(t, err)
	require.InDeltaMapValues(t, map[int]float64{0: 0.6, 1: 1, 2: 0}, scores, 1e-6)
	require.Equal(t, 2, usage.Calls)

	scores, usage, err = inference.EmbeddingReranker{Embedder: fixed{vectors: vectors}}.Rerank(t.Context(), "q", nil)
	require.NoError(t, err)
	require.Empty(t, scores)
	require.Zero(t, usage)

	for name, r := range map[string]struct {
		fixed
		texts []string
	}{
		"an embedder that fails":      {fixed{vectors: vectors, err: errors.New("down")}, []string{"near"}},
		"too few vectors":             {fixed{vectors: vectors, short: true}, []string{"near", "same"}},
		"vectors of another space":    {fixed{vectors: vectors}, []string{"odd"}},
		"a text that has no vector":   {fixed{vectors: vectors}, []string{"unknown"}},
		"a question without a vector": {fixed{vectors: map[string][]float32{"near": {1, 0}}}, []string{"near"}},
	} {
		_, _, err := inference.EmbeddingReranker{Embedder: r.fixed}.Rerank(t.Context(), "q", r.texts)
		require.Error(t, err, name)
	}
}
