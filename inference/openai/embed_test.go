package openai_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/openai"
)

// embeddings answers with one vector per text, in reverse order: [len, i, 0] of the text.
func embeddings(w http.ResponseWriter, r request) {
	var data []string
	for i := len(r.Input) - 1; i >= 0; i-- {
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,0,4]}`, i, len(r.Input[i])))
	}
	status(200,
		fmt.Sprintf(`{"object":"list","model":"embed-1","data":[%s],"usage":{"prompt_tokens":%d,"total_tokens":1}}`,
			strings.Join(data, ","), len(r.Input)))(w, r)
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	s := serve(t, embeddings)
	e := s.brain(t).Embedder
	require.Equal(t, inference.EmbeddingModel{Name: "embed-1", Dimensions: 3}, e.Model())

	var texts []string
	for i := range 300 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	answered := 0
	vectors, usage, err := e.Embed(inference.WithWaiting(ctx, func() { answered++ }), texts)
	require.NoError(t, err)
	require.Equal(t, 3, answered, "each batch is progress")
	require.Equal(t, inference.Usage{Model: "embed-1", Calls: 3, PromptTokens: 300}, usage)
	require.Len(t, vectors, 300)
	for i, v := range vectors {
		n := math.Hypot(float64(i+1), 4)
		require.InDeltaSlice(t, []float64{float64(i+1) / n, 0, 4 / n},
			[]float64{float64(v[0]), float64(v[1]), float64(v[2])}, 1e-6, "in the order of the texts")
	}
	var sizes []int
	for _, r := range s.requests() {
		sizes = append(sizes, len(r.Input))
		require.Equal(t, "/v1/embeddings", r.Path)
		require.Zero(t, r.Dimensions)
	}
	require.Equal(t, []int{128, 128, 44}, sizes)

	vectors, usage, err = e.Embed(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, vectors)
	require.Zero(t, usage.Calls)

	_, _, err = e.Embed(ctx, []string{"one", " \n"})
	require.True(t, inference.IsPermanent(err))
	require.ErrorContains(t, err, "text 1 of 2")

	_, _, err = s.brain(t, func(c *openai.Config) {
		c.ShortenEmbeddings, c.EmbeddingChars = true, 5
	}).Embedder.Embed(ctx, []string{"éééééééé"})
	require.NoError(t, err)
	last := s.requests()[3]
	require.Equal(t, 3, last.Dimensions)
	require.Equal(t, []string{"ééééé"}, last.Input)
}

func TestEmbedRefusesBadVectors(t *testing.T) {
	t.Parallel()
	raw := func(values ...float32) string {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`
	}
	vector := func(index int, v string) string {
		return fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, index, v)
	}
	const good = "[3,0,4]"
	for name, c := range map[string]struct {
		data      []string
		err       string
		permanent bool
	}{
		"good":        {[]string{vector(1, good), vector(0, good)}, "", false},
		"good base64": {[]string{vector(1, raw(3, 0, 4)), vector(0, raw(3, 0, 4))}, "", false},
		"huge":        {[]string{vector(0, "[3e300,0,4e300]"), vector(1, good)}, "", false},
		"tiny":        {[]string{vector(0, "[3e-300,0,4e-300]"), vector(1, good)}, "", false},
		"too few":     {[]string{vector(0, good)}, "1 vectors for 2 texts", false},
		"too many": {[]string{vector(0, good), vector(1, good), vector(2, good)}, "3 vectors for 2 texts",
			false},
		"same index":         {[]string{vector(0, good), vector(0, good)}, "which vector", false},
		"index out of range": {[]string{vector(1, good), vector(2, good)}, "which vector", false},
		"negative index":     {[]string{vector(0, good), vector(-1, good)}, "which vector", false},
		"other dimension": {[]string{vector(0, good), vector(1, "[1,2,3,4]")},
			"its vectors have 4 dimensions, configured are 3", true},
		"empty vector": {[]string{vector(0, "[]"), vector(1, good)},
			"its vectors have 0 dimensions, configured are 3", true},
		"null vector": {[]string{vector(0, "null"), vector(1, good)},
			"its vectors have 0 dimensions, configured are 3", true},
		"NaN": {[]string{vector(0, good), vector(1, raw(1, float32(math.NaN()), 1))},
			"vector 1 of 2 is zero or not finite", false},
		"infinity": {[]string{vector(0, raw(1, float32(math.Inf(1)), 1)), vector(1, good)},
			"vector 0 of 2 is zero or not finite", false},
		"null number": {[]string{vector(0, "[1,null,1]"), vector(1, good)},
			"vector 0 of 2 is zero or not finite", false},
		"NaN literal": {[]string{vector(0, "[1,NaN,1]"), vector(1, good)}, "not the JSON asked for", false},
		"zero": {[]string{vector(0, "[0,0,0]"), vector(1, good)}, "vector 0 of 2 is zero or not finite",
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, status(200, `{"object":"list","model":"m","data":[`+strings.Join(c.data,
				",")+`],"usage":{"prompt_tokens":5,"total_tokens":5}}`))
			vectors, usage, err := s.brain(t).Embedder.Embed(ctx, []string{"one " + canary, "two"})
			require.Equal(t, 1, usage.Calls)
			if c.err == "" {
				require.NoError(t, err)
				for _, v := range vectors {
					require.InDeltaSlice(t, []float64{0.6, 0, 0.8},
						[]float64{float64(v[0]), float64(v[1]), float64(v[2])}, 1e-6)
				}
				return
			}
			require.Nil(t, vectors)
			require.ErrorContains(t, err, c.err)
			require.Equal(t, c.permanent, inference.IsPermanent(err))
			noLeak(t, err)
		})
	}
}
