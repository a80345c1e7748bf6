//go:build !nolocal

package local

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAQuestionDoesNotWaitForAnIngest(t *testing.T) {
	t.Parallel()
	e, err := New(t.Context(), Config{Dir: "testdata/tiny"})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	e.passages <- struct{}{} // an ingest uses its lane
	_, _, err = e.EmbedQuery(t.Context(), "who likes tea?")
	require.NoError(t, err)

	waiting, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := e.Embed(waiting, []string{"tea"})
		done <- err
	}()
	giveUp()
	require.ErrorIs(t, <-done, context.Canceled)
	<-e.passages
	_, _, err = e.Embed(t.Context(), []string{"tea"})
	require.NoError(t, err, "a cancelled call holds no lane")
}

func TestBatchSizesNeedNoPadding(t *testing.T) {
	t.Parallel()
	lists := make([][]int32, 23)
	order := make([]int, len(lists))
	for i := range lists {
		lists[i], order[i] = make([]int32, 100), i
	}
	lists[22] = make([]int32, 512)
	var sizes []int
	for len(order) > 0 {
		n := batchSize(lists, order)
		sizes, order = append(sizes, n), order[n:]
	}
	require.Equal(t, []int{4, 4, 4, 4, 4, 2, 1}, sizes)
}
