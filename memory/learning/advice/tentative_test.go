package advice_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/trace"
)

func linuxAt(n int) advice.Situation {
	return advice.Situation{Error: mismatch(n), Context: map[string]string{"os": "linux"}}
}

func TestOneWitnessedSuccessIsAdvisedTentatively(t *testing.T) {
	attempts := build("ana", 1, "linux", "make clean", clearCache(1)).attempts()
	answer := advice.Advise(linuxAt(99), advice.Tentative(linuxAt(99), attempts))
	require.NotNil(t, answer.Best)
	require.True(t, answer.Best.Tentative)
	require.Equal(t, []string{"run/ana-1"}, answer.Best.Evidence)
	require.Len(t, answer.Best.Steps, 2, "what did not help is left out")
	require.JSONEq(t, `{"cmd":"rm -rf /home/dev99/.cache/build"}`, string(answer.Best.Steps[0].Args))
	require.JSONEq(t, `{"cmd":"make app"}`, string(answer.Best.Steps[1].Args))
	require.GreaterOrEqual(t, answer.Best.Confidence, advice.Threshold)

	elsewhere := linuxAt(99)
	elsewhere.Context["os"] = "macos"
	require.Nil(t, advice.Advise(elsewhere, advice.Tentative(elsewhere, attempts)).Best, "seen on linux alone")
	other := advice.Situation{Error: "ld: cannot find -lssl"}
	require.Empty(t, advice.Tentative(other, attempts))
}

func TestUntrustedSuccessesAreNotAdvised(t *testing.T) {
	for name, spoil := range map[string]func(*trace.Source){
		"told, not witnessed": func(s *trace.Source) { s.Witnessed = false },
		"low trust":           func(s *trace.Source) { s.Trust = 0.4 },
	} {
		t.Run(name, func(t *testing.T) {
			attempts := build("ana", 1, "linux", clearCache(1)).attempts()
			for i := range attempts {
				spoil(&attempts[i].Source)
			}
			require.Empty(t, advice.Tentative(linuxAt(2), attempts))
		})
	}
}

func TestFailuresCountAgainstATentativeCandidate(t *testing.T) {
	attempts := build("ana", 1, "linux", clearCache(1)).attempts()
	for n := 2; n < 6; n++ { // the same repair does not help, and something else does
		attempts = append(attempts, build("ana", n, "linux", clearCache(n), "brew reinstall llvm").attempts()...)
	}
	answer := advice.Advise(linuxAt(99), advice.Tentative(linuxAt(99), attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"brew reinstall llvm"}`, string(answer.Best.Steps[0].Args))
}

func TestATentativeCandidateNeverGoesBeforeAPromotedOne(t *testing.T) {
	signal := "ld: cache mismatch in /home/dev1/.cache/build (expected 1, got 8)"
	promoted := fix("promoted", signal, "", "drop-caches", worked(true, false, true, false))
	tentative := advice.Tentative(linuxAt(9), build("ana", 1, "linux", clearCache(1)).attempts())
	answer := advice.Advise(linuxAt(9), append(tentative, promoted))
	require.NotNil(t, answer.Best)
	require.Equal(t, "promoted", answer.Best.ID)
	require.True(t, answer.Others[0].Tentative)

	promoted.Stats = worked(true, false, false, false, false, false)
	answer = advice.Advise(linuxAt(9), append(tentative, promoted))
	require.True(t, answer.Best.Tentative, "what fails of late does not keep it back")
}

func TestATentativeCandidateNamesTheDirectoryOfTheNewPath(t *testing.T) {
	text := func(n int) string {
		return fmt.Sprintf("builder: journal /srv/v%d/d%d/f%d.dat was not replayed", n, n, n)
	}
	s := newStory("ana", 1).in("linux", "/w", nil).does("make app", text(1))
	attempts := s.does("spool flush /srv/v1/d1", "").does("make app", "").ends("success").attempts()
	now := advice.Situation{Error: text(2), Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"spool flush /srv/v2/d2"}`, string(answer.Best.Steps[0].Args))
}
