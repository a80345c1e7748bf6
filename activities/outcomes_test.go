package activities

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/store/pg"
)

// If storing a group of results times out, the results are stored in smaller groups, because they were paid for. Only
// a single result that is too large fails.
func TestResultsAreStoredInHalves(t *testing.T) {
	t.Parallel()
	most := 3
	var stored []int
	o := newOutcomes(nil, "t", nil, nil, func(_ context.Context, results []int) error {
		if len(results) > most {
			return &pg.TimeoutError{Class: pg.ClassPipeline, Err: context.DeadlineExceeded}
		}
		stored = append(stored, results...)
		return nil
	})
	var want []int
	for i := range saveEvery {
		want = append(want, i)
		require.NoError(t, o.done(t.Context(), i))
	}
	require.Equal(t, want, stored)
	most = 0
	require.NoError(t, o.done(t.Context(), 1))
	require.True(t, pg.IsTimeout(o.flush(t.Context())))
}
