package rank_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/rank"
)

func TestWorthGrowsWithImportance(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.7, rank.Worth(0), 1e-12)
	require.InDelta(t, 1, rank.Worth(1), 1e-12)
	require.InDelta(t, 0.5*0.85, rank.ClaimScore(0.5, 1, 0), 1e-12)
	require.InDelta(t, 0.7, rank.ClaimScore(1, 0, 1), 1e-12)
	require.InDelta(t, 1, rank.ClaimScore(2, 1, 1), 1e-12, "at most 1")
	require.InDelta(t, 0.85, rank.GraphScore(3, 0.5), 1e-12)
}
