package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/lifecycle"
)

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	for attempt, base := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second,
		3: 4 * time.Second, 4: 8 * time.Second,
		5: 16 * time.Second, 6: 30 * time.Second, 7: 30 * time.Second, 1000: 30 * time.Second} {
		seen, least, most := map[time.Duration]bool{}, time.Hour, time.Duration(0)
		for n := range 2000 {
			key := fmt.Sprintf("ingest/acme/bot/%d", n)
			d := lifecycle.RetryDelay(attempt, key) - base
			require.Equal(t, d, lifecycle.RetryDelay(attempt, key)-base, "the delay is deterministic")
			seen[d], least, most = true, min(least, d), max(most, d)
		}
		require.GreaterOrEqual(t, least, time.Duration(0))
		require.LessOrEqual(t, most, lifecycle.RetryJitterMax)
		require.Less(t, least, 20*time.Millisecond)
		require.Greater(t, most, 480*time.Millisecond)
		require.Greater(t, len(seen), 400, "delays use the whole range")
	}
	require.NotEqual(t, lifecycle.RetryJitter(1, "a"), lifecycle.RetryJitter(2, "a"))
}
