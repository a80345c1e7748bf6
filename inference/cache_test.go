package inference_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
)

// counting returns [length, 1] for a text and records its calls. If gate is set, a call waits until it is closed or
// the context ends.
type counting struct {
	mu    sync.Mutex
	calls [][]string
	gate  chan struct{}
	err   error
	short bool
}

func (*counting) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: "counting", Dimensions: 2}
}

func (c *counting) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	c.mu.Lock()
	c.calls = append(c.calls, slices.Clone(texts))
	gate, err := c.gate, c.err
	c.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, inference.Usage{}, ctx.Err()
		}
	}
	if err != nil {
		return nil, inference.Usage{}, err
	}
	var out [][]float32
	for _, t := range texts {
		out = append(out, []float32{float32(len(t)), 1})
	}
	if c.short {
		out = out[1:]
	}
	return out, inference.Usage{Model: "counting", Calls: 1}, nil
}

// asking embeds questions differently from passages.
type asking struct{ *counting }

func (a asking) EmbedQuery(ctx context.Context, text string) ([]float32, inference.Usage, error) {
	v, usage, err := a.Embed(ctx, []string{"?" + text})
	if err != nil {
		return nil, usage, err
	}
	return v[0], usage, nil
}

func cached(t *testing.T, e inference.Embedder, entries int) *inference.Cache {
	c, err := inference.NewCache(e, entries)
	require.NoError(t, err)
	return c
}

func TestCacheEmbedsEveryTextOnce(t *testing.T) {
	t.Parallel()
	inner := &counting{}
	c := cached(t, inner, 10)
	require.Equal(t, inner.Model(), c.Model())
	v, usage, err := c.Embed(t.Context(), []string{"a", "bb", "a"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 1}, {2, 1}, {1, 1}}, v)
	require.Equal(t, 1, usage.Calls)
	v[0][0] = 99 // the caller's own slice

	v, usage, err = c.Embed(t.Context(), []string{"bb", "ccc", "a"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{2, 1}, {3, 1}, {1, 1}}, v)
	require.Equal(t, 1, usage.Calls)
	_, usage, err = c.Embed(t.Context(), []string{"ccc"})
	require.NoError(t, err)
	require.Zero(t, usage)
	q, _, err := c.EmbedQuery(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1}, q)
	require.Equal(t, [][]string{{"a", "bb"}, {"ccc"}}, inner.calls,
		"without QueryEmbedder a question is a text like any other")
}

func TestCacheDistinguishesQuestionsFromPassages(t *testing.T) {
	t.Parallel()
	inner := asking{&counting{}}
	c := cached(t, inner, 10)
	for range 2 {
		v, _, err := c.Embed(t.Context(), []string{"a"})
		require.NoError(t, err)
		require.Equal(t, []float32{1, 1}, v[0])
		q, _, err := inference.EmbedQuery(t.Context(), c, "a")
		require.NoError(t, err)
		require.Equal(t, []float32{2, 1}, q)
	}
	require.Equal(t, [][]string{{"a"}, {"?a"}}, inner.calls)
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	inner := &counting{}
	c := cached(t, inner, 3)
	var texts []string
	for i := range 20 {
		texts = append(texts, strconv.Itoa(i))
	}
	v, _, err := c.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, v, 20)
	require.NotContains(t, v, []float32(nil), "more texts than it can store")
	_, usage, err := c.Embed(t.Context(), texts[17:])
	require.NoError(t, err)
	require.Zero(t, usage.Calls, "the last three stay")
	_, usage, err = c.Embed(t.Context(), texts[:1])
	require.NoError(t, err)
	require.Equal(t, 1, usage.Calls)
	_, err = inference.NewCache(inner, 0)
	require.Error(t, err)
}

func TestCacheDoesNotStoreFailures(t *testing.T) {
	t.Parallel()
	inner := &counting{err: errors.New("down")}
	c := cached(t, inner, 10)
	_, _, err := c.Embed(t.Context(), []string{"a"})
	require.ErrorContains(t, err, "down")
	inner.err, inner.short = nil, true
	_, _, err = c.Embed(t.Context(), []string{"a", "bb"})
	require.ErrorContains(t, err, "1 vectors for 2 texts")
	inner.short = false
	v, _, err := c.Embed(t.Context(), []string{"a", "bb"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 1}, {2, 1}}, v)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = c.Embed(ended, []string{"never seen"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestCallersOfOneTextShareOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &counting{gate: make(chan struct{})}
		c := cached(t, inner, 10)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				v, _, err := c.Embed(t.Context(), []string{"same"})
				require.NoError(t, err)
				require.Equal(t, []float32{4, 1}, v[0])
			})
		}
		synctest.Wait() // one caller is in the model, seven wait for it
		close(inner.gate)
		wg.Wait()
		require.Equal(t, [][]string{{"same"}}, inner.calls)
	})
}

func TestCancelledCallerDoesNotFailOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &counting{gate: make(chan struct{})}
		c := cached(t, inner, 10)
		first, giveUp := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _, err := c.Embed(first, []string{"same"})
			require.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		wg.Go(func() {
			v, _, err := c.Embed(t.Context(), []string{"other", "same"})
			require.NoError(t, err)
			require.Equal(t, [][]float32{{5, 1}, {4, 1}}, v)
		})
		waiting, leave := context.WithCancel(t.Context())
		wg.Go(func() {
			_, _, err := c.Embed(waiting, []string{"same"})
			require.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		giveUp()
		synctest.Wait()
		close(inner.gate)
		wg.Wait()
		require.Equal(t, [][]string{{"same"}, {"other"}, {"same"}}, inner.calls)
	})
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	inner := &counting{}
	require.Equal(t, inference.Embedder(inner), inference.WithPrefixes(inner, "", ""))

	questions := inference.WithPrefixes(inner, "query: ", "")
	require.Equal(t, inner.Model(), questions.Model(), "a query prefix does not change the space of stored vectors")
	both := inference.WithPrefixes(inner, "query: ", "passage: ")
	require.NotEqual(t, inner.Model().Name, both.Model().Name, "a passage prefix does")
	require.NotEqual(t, inference.WithPrefixes(inner, "", "text: ").Model().Name, both.Model().Name)
	require.Equal(t, 2, both.Model().Dimensions)

	texts := []string{"a", "b"}
	_, _, err := both.Embed(t.Context(), texts)
	require.NoError(t, err)
	_, _, err = inference.EmbedQuery(t.Context(), both, "c")
	require.NoError(t, err)
	_, _, err = inference.EmbedQuery(t.Context(), inner, "d")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"passage: a", "passage: b"}, {"query: c"}, {"d"}}, inner.calls)
	require.Equal(t, []string{"a", "b"}, texts, "the caller's texts are unchanged")

	inner.short = true
	_, _, err = inference.EmbedQuery(t.Context(), inner, "d")
	require.ErrorContains(t, err, "0 vectors for one text")
}
