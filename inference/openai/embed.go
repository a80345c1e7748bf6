package openai

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/mneme/mneme/inference"
)

// embedder embeds texts.
type embedder struct {
	endpoint
	model   inference.EmbeddingModel
	shorten bool
	batch   int
	chars   int
}

// Model implements inference.Embedder.
func (e *embedder) Model() inference.EmbeddingModel { return e.model }

// Embed implements inference.Embedder. It is all or nothing; blank texts are refused, as endpoints do.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	usage := inference.Usage{Model: e.model.Name}
	input := make([]string, len(texts))
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			return nil, usage, &inference.PermanentError{Reason: fmt.Sprintf("text %d of %d to embed is blank", i,
				len(texts))}
		}
		input[i] = firstChars(t, e.chars)
	}
	vectors := make([][]float32, 0, len(texts))
	for len(input) > 0 {
		n := min(len(input), e.batch)
		got, err := e.embedBatch(ctx, input[:n], &usage)
		if err != nil {
			return nil, usage, err
		}
		vectors, input = append(vectors, got...), input[n:]
		inference.Moved(ctx)
	}
	return vectors, usage, nil
}

func (e *embedder) embedBatch(ctx context.Context, texts []string, usage *inference.Usage) ([][]float32, error) {
	req := embeddingRequest{Model: e.model.Name, Input: texts, EncodingFormat: "float"}
	if e.shorten {
		req.Dimensions = e.model.Dimensions
	}
	var res embeddings
	usage.Calls++
	if _, err := e.call(ctx, "/embeddings", req, maxEmbeddingResponse, &res); err != nil {
		return nil, err
	}
	usage.PromptTokens += max(0, res.Usage.PromptTokens)
	if failure, broken := embeddedError(string(res.Error), len(res.Data)); broken {
		return nil, e.errorOf(failure)
	}
	if len(res.Data) != len(texts) {
		return nil, temporaryError(fmt.Sprintf("%d vectors for %d texts", len(res.Data), len(texts)))
	}
	vectors := make([][]float32, len(texts))
	for _, d := range res.Data {
		if d.Index < 0 || d.Index >= len(texts) || vectors[d.Index] != nil {
			return nil, temporaryError("the answer does not say which vector belongs to which text")
		}
		if len(d.Embedding) != e.model.Dimensions {
			return nil, &inference.PermanentError{Reason: fmt.Sprintf(
				"its vectors have %d dimensions, configured are %d", len(d.Embedding), e.model.Dimensions)}
		}
		v, ok := unit(d.Embedding)
		if !ok {
			return nil, temporaryError(fmt.Sprintf("vector %d of %d is zero or not finite", d.Index, len(texts)))
		}
		vectors[d.Index] = v
	}
	return vectors, nil
}

// unit scales v to length one. It returns false for a vector without a direction.
func unit(v []float64) ([]float32, bool) {
	var largest, sum float64
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return nil, false
	}
	for _, x := range v { // divide by the largest first, so that squares neither overflow nor underflow
		sum += (x / largest) * (x / largest)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / largest / math.Sqrt(sum))
	}
	return out, true
}

// firstChars returns at most n characters of s.
func firstChars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
