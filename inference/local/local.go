//go:build !nolocal

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/tokenizer"
)

// Limits of one run of the graph. Batches are small because a run cannot be interrupted: a caller whose context ends,
// and the next question, must wait until the run ends.
const (
	maxBatch       = 8
	maxBatchTokens = 512 // with padding
	maxQueries     = 2   // questions at once
)

// Embedder embeds with a local model. It is safe for concurrent use. Questions have separate lanes, so that recall does
// not wait for a long ingest.
type Embedder struct {
	engine    *engine
	tokenizer *tokenizer.WordPiece
	model     inference.EmbeddingModel
	desc      description
	passages  chan struct{}
	queries   chan struct{}

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

var _ interface {
	inference.Embedder
	inference.QueryEmbedder
} = (*Embedder)(nil)

// New loads the model, and downloads it first if only its name is given. It embeds one word to check the model and to
// find the length of its vectors. Errors name the file or setting at fault.
func New(ctx context.Context, c Config) (*Embedder, error) {
	if c.Dir == "" {
		if c.Model == "" {
			return nil, errors.New("embedding model: neither a directory nor a name is set")
		}
		dir, err := download(ctx, c)
		if err != nil {
			return nil, err
		}
		c.Dir = dir
	}
	d, err := describe(c)
	if err != nil {
		return nil, err
	}
	e := &Embedder{passages: make(chan struct{}, 1), queries: make(chan struct{}, maxQueries)}
	if e.tokenizer, err = tokenizer.NewWordPiece(d.tokenizer, d.lower); err != nil {
		return nil, fmt.Errorf("embedding model: %s/tokenizer.json %w", c.Dir, err)
	}
	if e.engine, err = newEngine(d); err != nil {
		return nil, err
	}
	d.pooling = e.engine.pooling
	version, err := d.version()
	if err != nil {
		return nil, err
	}
	d.onnxBytes, d.tokenizer = nil, nil
	e.desc = d
	probe, err := e.engine.run([][]int32{e.tokenizer.Framed("memory", d.maxTokens)})
	if err != nil {
		return nil, fmt.Errorf("embedding model: %s does not run: %w", d.onnx, err)
	}
	e.model = inference.EmbeddingModel{
		Name:       fmt.Sprintf("%s:%s:%s", d.name, d.pooling, version),
		Dimensions: len(probe[0]),
	}
	if d.dimensions > 0 && d.dimensions != e.model.Dimensions {
		return nil, fmt.Errorf(
			"embedding model: 1_Pooling/config.json says %d dimensions, the graph gives %d",
			d.dimensions,
			e.model.Dimensions,
		)
	}
	return e, nil
}

// Model implements inference.Embedder. The name is the model's with its pooling and a fingerprint of graph,
// vocabulary, length limit and passage prefix: whatever changes vectors changes the name.
func (e *Embedder) Model() inference.EmbeddingModel { return e.model }

// Embed implements inference.Embedder. Text beyond the model's length is not read. Texts are processed in order of
// length, a few at a time; ctx is checked in between.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	return e.embed(ctx, e.passages, e.desc.passage, texts)
}

// EmbedQuery implements inference.QueryEmbedder.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, inference.Usage, error) {
	vectors, usage, err := e.embed(ctx, e.queries, e.desc.query, []string{text})
	if err != nil {
		return nil, usage, err
	}
	return vectors[0], usage, nil
}

// Close waits for what is running and frees the model. Later calls fail.
func (e *Embedder) Close() error {
	e.mu.Lock()
	closed := e.closed
	e.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	e.running.Wait()
	return e.engine.destroy()
}

func (e *Embedder) embed(
	ctx context.Context,
	lane chan struct{},
	prefix string,
	texts []string,
) ([][]float32, inference.Usage, error) {
	usage := inference.Usage{Model: e.model.Name}
	lists, order := make([][]int32, len(texts)), make([]int, len(texts))
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, usage, err
		}
		lists[i], order[i] = e.tokenizer.Framed(prefix+t, e.desc.maxTokens), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(lists[a]), len(lists[b])) })
	out := make([][]float32, len(texts))
	for len(order) > 0 {
		n := batchSize(lists, order)
		batch := make([][]int32, n)
		for i, at := range order[:n] {
			batch[i] = lists[at]
			usage.PromptTokens += int64(len(lists[at]))
		}
		usage.Calls++
		vectors, err := e.run(ctx, lane, batch)
		if err != nil {
			return nil, usage, err
		}
		for i, at := range order[:n] {
			out[at] = vectors[i]
		}
		order = order[n:]
		inference.Moved(ctx)
	}
	return out, usage, nil
}

// batchSize returns how many of the next texts, the shortest first, are run together: a number that the graph is
// compiled for, so that nothing is padded.
func batchSize(lists [][]int32, order []int) int {
	for n := maxBatch; n > 1; n /= 2 {
		if n <= len(order) && n*len(lists[order[n-1]]) <= maxBatchTokens {
			return n
		}
	}
	return 1
}

// run runs one batch in its lane. The graph cannot be interrupted: if ctx ends first, run returns, and the batch keeps
// its place in the lane until it has finished.
func (e *Embedder) run(ctx context.Context, lane chan struct{}, batch [][]int32) ([][]float32, error) {
	select {
	case lane <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !e.start() {
		<-lane
		return nil, &inference.PermanentError{Reason: "the local embedding model is closed"}
	}
	type result struct {
		vectors [][]float32
		err     error
	}
	done := make(chan result, 1)
	go func() { // Close waits for it
		defer e.running.Done()
		defer func() { <-lane }()
		vectors, err := e.engine.run(batch)
		done <- result{vectors, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("local embedding model: batch of %d texts: %w", len(batch), r.err)
		}
		return r.vectors, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *Embedder) start() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.running.Add(1)
	return true
}
