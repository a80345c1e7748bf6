package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/admin"
)

func TestStats(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	c.remember("Never deploy on Fridays.")
	c.recall("when may we deploy")
	var s operate.TenantStats
	c.run("stats", "--json", "--days", "7").is(app.ExitOK).json(&s)
	require.EqualValues(t, s.ByType[schema.TypeSemantic]+s.ByType[schema.TypeEpisodic], s.Live)
	require.Positive(t, s.Live)
	require.EqualValues(t, 1, s.Retrievals.Day)
	require.Len(t, s.Days, 7)
	require.EqualValues(t, 1, s.Days[5].Retrievals+s.Days[6].Retrievals) // midnight may have passed
	require.Len(t, s.Salience, admin.SalienceBuckets)
	all := int64(0)
	for _, b := range s.Salience {
		all += b.Memories
	}
	require.Equal(t, s.Live, all)
	require.Positive(t, s.MeanWorth)

	text := c.run("stats").is(app.ExitOK).out
	require.Contains(t, text, "recalls")
	require.NotContains(t, text, "█", "charts are for terminals")
	require.NotContains(t, text, "14_DAYS")
	require.NotContains(t, text, "Fridays")

	// Another tenant sees none of these.
	s = operate.TenantStats{}
	c.run("stats", "--json", "--tenant", "stranger-"+uuid.NewString()).is(app.ExitOK).json(&s)
	require.Zero(t, s.Live+s.Retrievals.Week)
	c.run("stats", "--days", "0").is(app.ExitUsage)
	c.run("stats", "--days", "1000").is(app.ExitUsage)
}

func TestStatsCharts(t *testing.T) {
	t.Parallel()
	c := operate.Charts{Drawn: true}
	require.Equal(t, "·▁▄█", c.Line([]int64{0, 1, 40, 80}))
	require.Equal(t, "··", c.Line([]int64{0, 0}))
	require.Equal(t, "█", c.Line([]int64{1}))
	require.Equal(t, strings.Repeat("█", operate.BarWidth), c.Bar(7, 7))
	require.Equal(t, "", c.Bar(0, 7))
	require.Equal(t, "▏", c.Bar(1, operate.BarWidth*8))
	require.Equal(t, "", c.Bar(0, 0))
	require.Empty(t, operate.Charts{}.Line([]int64{1}))
	require.Empty(t, operate.Charts{}.Bar(1, 1))

	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := admin.TenantMetrics{Live: 4, Salience: [admin.SalienceBuckets]int64{1, 0, 3}, Due: admin.MaxDueCounted,
		OldestDue: &now,
		Judged:    admin.Spans{Day: 4, Week: 4}, Useful: admin.Spans{Day: 3, Week: 3}}
	s := operate.StatsOf("t", now, m, admin.TenantDays{Days: []admin.DayMetrics{{Day: now, Retrievals: 3}}},
		admin.SystemMetrics{})
	draw := func(c operate.Charts) string {
		var out app.Text
		s.Text(&out, c)
		return out.Buf.String()
	}
	require.Contains(t, draw(c), strings.Repeat("█", operate.BarWidth))
	require.Contains(t, draw(c), "1_DAYS")
	require.Contains(t, draw(c), "75% (3/4)")
	require.Contains(t, draw(c), "10000 or more")
	require.NotContains(t, draw(operate.Charts{}), "█")
}
