package inference_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
)

// tallying is a slow model that counts its concurrent calls.
type tallying struct{ now, most, calls atomic.Int32 }

func (c *tallying) call() {
	n := c.now.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	time.Sleep(7 * time.Second)
	c.now.Add(-1)
	c.calls.Add(1)
}

func (c *tallying) Extract(context.Context, inference.Source) (memory.Extraction, inference.Usage, error) {
	c.call()
	return memory.Extraction{}, inference.Usage{}, nil
}

func (c *tallying) Decide(context.Context, memory.Fact, []memory.Neighbor) (memory.Proposal, inference.Usage, error) {
	c.call()
	return memory.Proposal{}, inference.Usage{}, nil
}

func (c *tallying) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: "tallying"}
}

func (c *tallying) Embed(_ context.Context, texts []string) ([][]float32, inference.Usage, error) {
	c.call()
	return make([][]float32, len(texts)), inference.Usage{}, nil
}

func TestGateBoundsCallsOfEveryKindTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := &tallying{}
		gate := inference.NewGate(2)
		extractor, decider, embedder := gate.Extractor(model), gate.Decider(model), gate.Embedder(model)
		var waited atomic.Int32
		ctx := inference.WithWaiting(t.Context(), func() { waited.Add(1) })
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _, _, err := extractor.Extract(ctx, inference.Source{}); require.NoError(t, err) })
			all.Go(func() { _, _, err := decider.Decide(ctx, memory.Fact{}, nil); require.NoError(t, err) })
			all.Go(func() { _, _, err := embedder.Embed(ctx, []string{"a"}); require.NoError(t, err) })
		}
		time.Sleep(time.Second)
		began := time.Now()
		_, _, err := inference.EmbedQuery(ctx, embedder, "a question")
		require.NoError(t, err)
		require.Equal(t, 7*time.Second, time.Since(began), "a question does not wait for a pipeline")
		brief, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _, err = extractor.Extract(brief, inference.Source{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		all.Wait()
		require.EqualValues(t, 13, model.calls.Load())
		require.EqualValues(t, 3, model.most.Load(), "two calls of the pipeline and the question")
		require.NotZero(t, waited.Load(), "a waiting call is reported")
	})
}

func TestNilGateHasNoLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := &tallying{}
		extractor := inference.NewGate(0).Extractor(model)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { _, _, err := extractor.Extract(t.Context(), inference.Source{}); require.NoError(t, err) })
		}
		all.Wait()
		require.EqualValues(t, 5, model.most.Load())
	})
}
