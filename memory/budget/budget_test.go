package budget_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/budget"
)

// The reservations of admitted calls never exceed the limit. Settling a call for less than its reservation makes
// room for others.
func TestAdmittedCallsStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := budget.Day{Limit: rapid.Int64Range(1, 1000).Draw(t, "limit")}
		for i := 0; i < rapid.IntRange(1, 30).Draw(t, "calls"); i++ {
			want := rapid.Int64Range(0, 300).Draw(t, "want")
			if !d.Admits(want) {
				require.Greater(t, d.Used()+want, d.Limit)
				continue
			}
			d.Reserved += want
			require.LessOrEqual(t, d.Used(), d.Limit)
			if rapid.Bool().Draw(t, "settles") {
				d.Reserved -= want
				d.Settled += rapid.Int64Range(0, want).Draw(t, "actual")
			}
		}
	})
}

func TestNoLimitAdmitsEverything(t *testing.T) {
	t.Parallel()
	require.True(t, budget.Day{Settled: 1 << 40}.Admits(1<<40))
}

func TestDaysBeginAtMidnightUTC(t *testing.T) {
	t.Parallel()
	lisbon := time.FixedZone("west", -2*3600)
	require.Equal(t, time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC),
		budget.DayOf(time.Date(2026, 11, 23, 23, 30, 0, 0, lisbon)))
	require.EqualValues(t, 4+100, budget.Estimate(10, 100))
}
