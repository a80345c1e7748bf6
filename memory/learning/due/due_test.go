package due_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/due"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func episodes(n int) (out []due.Episode) {
	for i := range n {
		out = append(out, due.Episode{Agent: "a", Session: fmt.Sprint(i), Same: fmt.Sprint(i), Trust: 1,
			At: now.Add(-time.Duration(i) * time.Minute)})
	}
	return out
}

func TestIndependentEpisodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*due.Episode)
		want   int
	}{
		"four sessions":              {func(*due.Episode) {}, 4},
		"one session":                {func(e *due.Episode) { e.Session = "s" }, 1},
		"sessions of several agents": {func(e *due.Episode) { e.Agent, e.Session = "b"+e.Session, "s" }, 4},
		"one origin, no session":     {func(e *due.Episode) { e.Origin, e.Session = "import", "" }, 1},
		"one origin, many agents": {func(e *due.Episode) {
			e.Origin, e.Agent, e.Session = "import", e.Session, ""
		}, 1},
		"neither origin nor session": {func(e *due.Episode) { e.Agent, e.Session = e.Session, "" }, 4},
		"the same words":             {func(e *due.Episode) { e.Same = "x" }, 1},
		"no words to compare":        {func(e *due.Episode) { e.Same = "" }, 4},
		"not trusted":                {func(e *due.Episode) { e.Trust = 0.49 }, 0},
		"trust that is not a number": {func(e *due.Episode) { e.Trust = math.NaN() }, 0},
	} {
		given := episodes(4)
		for i := range given {
			c.change(&given[i])
		}
		require.Equal(t, c.want, due.Independent(given), name)
	}
}

func TestScopeIsDueAfterQuietTime(t *testing.T) {
	t.Parallel()
	rule := due.Rule{Least: 3, Quiet: 5 * time.Minute}
	for name, c := range map[string]struct {
		rule  due.Rule
		given []due.Episode
		now   time.Time
		want  due.Verdict
	}{
		"nothing":          {rule, nil, now, due.Verdict{}},
		"too few":          {rule, episodes(2), now.Add(time.Hour), due.Verdict{New: 2}},
		"enough, just now": {rule, episodes(3), now, due.Verdict{New: 3, Enough: true, Wait: 5 * time.Minute}},
		"enough, for a while": {rule, episodes(3), now.Add(2 * time.Minute),
			due.Verdict{New: 3, Enough: true, Wait: 3 * time.Minute}},
		"enough, quiet": {rule, episodes(3), now.Add(5 * time.Minute), due.Verdict{New: 3, Enough: true}},
		"long ago":      {rule, episodes(3), now.Add(time.Hour), due.Verdict{New: 3, Enough: true}},
		"a clock that is fast": {rule, episodes(3), now.Add(-time.Hour),
			due.Verdict{New: 3, Enough: true, Wait: 5 * time.Minute}},
		"off":        {due.Rule{Quiet: time.Minute}, episodes(9), now, due.Verdict{New: 9}},
		"no waiting": {due.Rule{Least: 1}, episodes(1), now, due.Verdict{New: 1, Enough: true}},
	} {
		if c.want.Enough { // since the latest episode
			c.want.Since = c.given[0].At
			c.want.DueAt = c.now.Add(c.want.Wait)
			if c.want.Wait == 0 {
				c.want.DueAt = c.given[0].At.Add(c.rule.Quiet)
			}
		}
		require.Equal(t, c.want, c.rule.Judge(c.given, c.now), name)
	}
}

// A scope waits from the episode that completes the minimum, not from the first. If it gets one episode a day and
// needs three, it has not been waiting for days when the third arrives.
func TestEnoughSince(t *testing.T) {
	t.Parallel()
	given := episodes(4)
	for i := range given {
		given[i].At = now.Add(-time.Duration(i) * 24 * time.Hour)
	}
	rule := due.Rule{Least: 3, Quiet: 5 * time.Minute}
	require.Equal(t, now.Add(-24*time.Hour), rule.Judge(given, now).Since)
	require.Equal(t, now, rule.Judge(given[:3], now).Since)
	require.Zero(t, rule.Judge(given[:2], now).Since)
}

// Judge does not depend on the order, more evidence never makes a scope less due, and no wait exceeds the quiet time.
func TestJudgeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		one := rapid.Custom(func(r *rapid.T) due.Episode {
			return due.Episode{Agent: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "agent"),
				Session: rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(r, "session"),
				Origin:  rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "origin"),
				Trust:   rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(r, "trust"),
				At:      now.Add(time.Duration(rapid.IntRange(-600, 600).Draw(r, "at")) * time.Second)}
		})
		given := rapid.SliceOfN(one, 0, 12).Draw(r, "given")
		rule := due.Rule{Least: rapid.IntRange(0, 4).Draw(r, "least"), Quiet: 5 * time.Minute}
		v := rule.Judge(given, now)
		require.LessOrEqual(t, v.New, len(given))
		require.LessOrEqual(t, v.Wait, rule.Quiet)
		require.GreaterOrEqual(t, v.Wait, time.Duration(0))
		require.Equal(t, v, rule.Judge(rapid.Permutation(given).Draw(r, "permuted"), now))
		more := rule.Judge(append(given, one.Draw(r, "more")), now)
		require.GreaterOrEqual(t, more.New, v.New)
		require.True(t, more.Enough || !v.Enough)
	})
}

// A scope that is never quiet is due when ten times the quiet time has passed since it had enough evidence. After that
// it is overdue.
func TestScopeThatIsNeverQuietIsDue(t *testing.T) {
	t.Parallel()
	rule := due.Rule{Least: 3, Quiet: 5 * time.Minute}
	given := episodes(120) // one a minute, the third 117 minutes ago
	v := rule.Judge(given, now)
	require.Equal(t, []any{true, time.Duration(0), now.Add(-117 * time.Minute), now.Add(-67 * time.Minute)},
		[]any{v.Enough, v.Wait, v.Since, v.DueAt})
	for minutes, want := range map[int]time.Duration{30: 5 * time.Minute, 47: 5 * time.Minute, 50: 3 * time.Minute,
		52: time.Minute, 53: 0} {
		require.Equal(t, want, rule.Judge(given[120-minutes:], given[120-minutes].At).Wait, "%d minutes", minutes)
	}
}
