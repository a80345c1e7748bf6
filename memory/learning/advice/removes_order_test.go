package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Of two repairs that helped, the one that removes no data is advised first, although the other one is newer.
func TestRepairThatRemovesNothingComesFirst(t *testing.T) {
	var attempts []trace.Attempt
	for n, repair := range []string{"mv out out.old", "rm -rf orders", "rm -rf orders"} {
		s := newStory("ana", n).in("linux", "/w", nil).does("make app", mismatch(n)).does(repair, "")
		attempts = append(attempts, s.does("make app", "").ends("success").attempts()...)
	}
	answer := advice.Advise(linuxAt(9), advice.Tentative(linuxAt(9), attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"mv out out.old"}`, string(answer.Best.Steps[0].Args))
	require.JSONEq(t, `{"cmd":"rm -rf orders"}`, string(answer.Others[0].Steps[0].Args))

	for n := 5; n < 8; n++ { // it works no longer
		s := newStory("ana", n).in("linux", "/w", nil).does("make app", mismatch(n)).does("mv out out.old", "")
		attempts = append(attempts, s.does("make app", mismatch(n)).ends("failure").attempts()...)
	}
	answer = advice.Advise(linuxAt(9), advice.Tentative(linuxAt(9), attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"rm -rf orders"}`, string(answer.Best.Steps[0].Args))
}

// Of two promoted procedures that work equally well, the one that removes no data comes first. A repair that helped only
// once does not precede one that always works.
func TestPromotedProcedureThatRemovesNothingComesFirst(t *testing.T) {
	asked := advice.Situation{Error: "disk full", Context: map[string]string{"os": "linux"}}
	removing := fix("a", "disk full", "", "delete_files", worked(true, true, true, true))
	other := fix("b", "disk full", "", "resize", worked(true, true, true))
	answer := advice.Advise(asked, []advice.Candidate{removing, other})
	require.Equal(t, "b", answer.Best.ID)
	other.Stats, other.Tentative = worked(true), true
	answer = advice.Advise(asked, []advice.Candidate{removing, other})
	require.Equal(t, "a", answer.Best.ID)
}
