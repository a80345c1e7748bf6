package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/trace"
)

func commands(tried []advice.DidNotHelp) (out []string) {
	for _, d := range tried {
		out = append(out, trace.ArgsOf(d.Steps[0].Args)["cmd"].Text)
	}
	return out
}

func TestTriedBindsFailedRepairsToSituation(t *testing.T) {
	attempts := build("ana", 1, "linux", "make clean", clearCache(1), "brew reinstall llvm").attempts()
	require.ElementsMatch(t, []string{"make clean", "rm -rf /home/dev9/.cache/build"},
		commands(advice.Tried(linuxAt(9), attempts)))
	require.Empty(t, advice.Tried(advice.Situation{Error: "ld: cannot find -lssl"}, attempts), "another problem")
	for i := range attempts {
		attempts[i].Source.Witnessed = false
	}
	require.Empty(t, advice.Tried(linuxAt(9), attempts), "an account without a witness")
}

// Untried repairs come before failed ones. Of the failed ones, the oldest failure comes first.
func TestTriedOrdersOldestFailureFirst(t *testing.T) {
	attempts := build("ana", 1, "linux", "make clean", "brew reinstall llvm").attempts()
	for n := 2; n < 12; n++ {
		attempts = append(attempts, build("ana", n, "linux", "brew reinstall llvm").attempts()...)
	}
	attempts = append(attempts, build("ana", 12, "linux", "sync", "brew reinstall llvm").attempts()...)
	tried := advice.Tried(linuxAt(99), attempts)
	require.Equal(t, []string{"make clean", "sync"}, commands(tried))
	require.Less(t, tried[0].Chance, evidence.Prior)
}

// Which context keys matter is a property of the problem. The outcomes of its solution also show it for failed repairs.
func TestTriedLearnsKeysFromSolutions(t *testing.T) {
	var attempts []trace.Attempt
	for n := 1; n < 3; n++ { // each failed once, on different systems
		os, cmd := []string{"linux", "macos"}[n-1], []string{"make clean", "sync"}[n-1]
		attempts = append(attempts, build("ana", n, os, cmd, "brew reinstall llvm").attempts()...)
	}
	var stats evidence.Stats
	for i := range 16 {
		os := []string{"linux", "macos"}[i%2]
		stats.Observe(os, os == "linux", start)
	}
	chance := func(solutions ...advice.Candidate) float64 {
		for _, d := range advice.Tried(linuxAt(99), attempts, solutions...) {
			if commands([]advice.DidNotHelp{d})[0] == "make clean" {
				return d.Chance
			}
		}
		t.Fatal("make clean is not listed")
		return 0
	}
	require.Less(t, chance(advice.Candidate{Stats: stats}), chance(), "it failed on this system")
}

func TestTriedOmitsRepairThatHelpsHere(t *testing.T) {
	var attempts []trace.Attempt
	for n := 1; n < 9; n += 2 {
		attempts = append(attempts, build("ana", n, "linux", clearCache(n)).attempts()...)
		attempts = append(attempts, build("ana", n+1, "macos", clearCache(n+1), "brew reinstall llvm").attempts()...)
	}
	require.Empty(t, advice.Tried(linuxAt(99), attempts))
	there := linuxAt(99)
	there.Context["os"] = "macos"
	require.Len(t, advice.Tried(there, attempts), 1)
}
