package session

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The first and the last item are kept. All others fit into the budget. Between the two ends, lighter items are kept
// only if all heavier ones fit.
func TestThin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		costs := rapid.SliceOfN(rapid.IntRange(1, 100), 1, 200).Draw(t, "costs")
		weighs := rapid.SliceOfN(rapid.IntRange(0, int(weights)-1), len(costs), len(costs)).Draw(t, "weights")
		budget := rapid.IntRange(1, 5_000).Draw(t, "budget")
		between := rapid.IntRange(0, 50).Draw(t, "between")
		keep := thin(
			len(costs),
			budget,
			between,
			func(i int) int { return costs[i] },
			func(i int) weight { return weight(weighs[i]) },
		)
		used, total := 0, 0
		for i, kept := range keep {
			total += costs[i]
			if kept {
				used += costs[i]
			}
		}
		last := len(costs) - 1
		require.True(t, keep[0] && keep[last])
		if total <= budget {
			require.Equal(t, total, used)
			return
		}
		require.LessOrEqual(t, used, max(budget, budget*3/8+costs[0]+costs[last]))
		from, to := 0, last
		for from < len(keep) && keep[from] {
			from++
		}
		for to >= 0 && keep[to] {
			to--
		}
		whole := int(weights) // every item of this weight or more is kept
		for w := int(weights) - 1; w >= 0; w-- {
			left := false
			for i := from; i <= to; i++ {
				left = left || weighs[i] == w && !keep[i]
			}
			if left {
				break
			}
			whole = w
		}
		for i := from; i <= to; i++ {
			if keep[i] {
				require.GreaterOrEqual(t, weighs[i], whole-1)
			}
		}
	})
}

// If the items of one weight do not all fit, an even sample of them is kept, and the last one.
func TestThinSamplesEvenly(t *testing.T) {
	t.Parallel()
	keep := thin(1_000, 80, 0, func(int) int { return 1 }, func(int) weight { return failure })
	require.True(t, keep[9] && keep[979] && keep[980])
	for from := 10; from < 970; from += 40 {
		require.Contains(t, keep[from:from+40], true)
	}
}
