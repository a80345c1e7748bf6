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

// The answer is not sure if the promoted procedure removes data, so that other repairs are looked for.
func TestPromotedProcedureThatRemovesDataIsNotSure(t *testing.T) {
	asked := advice.Situation{Error: "disk full", Context: map[string]string{"os": "linux"}}
	for tool, sure := range map[string]bool{"delete_files": false, "resize": true} {
		answer := advice.Advise(asked, []advice.Candidate{fix("a", "disk full", "", tool, worked(true, true, true, true))})
		require.NotNil(t, answer.Best)
		require.Equal(t, sure, answer.Sure(), tool)
	}
}
