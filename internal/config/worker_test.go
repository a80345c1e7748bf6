package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/internal/config"
)

// Activities and local activities together never need more connections than the pool has, unless a setting overrides
// it.
func TestSlotsFollowThePool(t *testing.T) {
	t.Parallel()
	for conns, want := range map[int][2]int{1: {1, 1}, 2: {1, 1}, 4: {3, 1}, 8: {6, 2}, 16: {12, 4}, 64: {48, 4}} {
		c := config.Config{MaxConns: conns}
		require.Equal(t, want, [2]int{c.ActivitySlots(), c.LocalSlots()}, conns)
	}
	c := config.Config{MaxConns: 16, Slots: 100}
	require.Equal(t, [2]int{100, 1}, [2]int{c.ActivitySlots(), c.LocalSlots()})
	options := c.WorkerOptions()
	require.Equal(t, 100, options.MaxConcurrentActivityExecutionSize)
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{MaximumNumberOfPollers: 20})
	for _, behavior := range []any{options.WorkflowTaskPollerBehavior, options.ActivityTaskPollerBehavior,
		options.NexusTaskPollerBehavior} {
		require.Equal(t, pollers, behavior, "pollers adapt to the backlog")
	}
}
