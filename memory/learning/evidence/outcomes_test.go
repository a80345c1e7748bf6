package evidence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/evidence"
)

func outcomeAt(minute int, session string, ok bool) evidence.Outcome {
	return evidence.Outcome{Agent: "a", Session: session, OK: ok, Context: map[string]string{"os": "linux"},
		At: time.Unix(int64(60*minute), 0).UTC()}
}

func TestShownAndReportedOutcomeCountsOnce(t *testing.T) {
	shown := []evidence.Outcome{outcomeAt(1, "s1", true), outcomeAt(2, "s2", false), outcomeAt(3, "", true)}
	alone := evidence.Tally(shown, nil)
	require.Equal(t, []int64{2, 1}, []int64{alone.All.Successes, alone.All.Failures})
	require.Equal(t, alone, evidence.Tally(shown,
		[]evidence.Outcome{outcomeAt(5, "s1", true), outcomeAt(6, "s2", true)}),
		"the episode overrides the report")

	more := evidence.Tally(shown, []evidence.Outcome{outcomeAt(5, "s1", true), outcomeAt(6, "s1", false),
		outcomeAt(7, "s3", true),
		outcomeAt(8, "", true)})
	require.Equal(t, []int64{4, 2}, []int64{more.All.Successes, more.All.Failures},
		"reports of other sessions, repeated reports and reports without a session count separately")
	other := outcomeAt(5, "s1", true)
	other.Agent = "b"
	require.EqualValues(t, 3, evidence.Tally(shown, []evidence.Outcome{other}).All.Successes, "another agent's session")
}

func TestOutcomesCountInOrderOfTime(t *testing.T) {
	var want evidence.Stats
	want.Observe("linux", true, time.Unix(60, 0).UTC())
	want.Idle("linux")
	want.Observe("linux", false, time.Unix(180, 0).UTC())
	idle := outcomeAt(2, "s9", false)
	idle.Idle = true
	require.Equal(t, want, evidence.Tally([]evidence.Outcome{outcomeAt(1, "s1", true)},
		[]evidence.Outcome{outcomeAt(3, "s2", false), idle}))
}

func TestTallyDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shown, reported []evidence.Outcome
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			o := outcomeAt(i, fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "session")), rapid.Bool().Draw(t, "ok"))
			if rapid.Bool().Draw(t, "shown") {
				shown = append(shown, o)
			} else {
				reported = append(reported, o)
			}
		}
		want := evidence.Tally(shown, reported)
		slices.Reverse(shown)
		slices.Reverse(reported)
		require.Equal(t, want, evidence.Tally(shown, reported))
		require.GreaterOrEqual(t, want.All.Trials(), int64(len(shown)))
		require.LessOrEqual(t, want.All.Trials(), int64(len(shown)+len(reported)))
	})
}
