package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/trace"
)

func commands(tried []advice.DidNotHelp) (out []string) {
	for _, d := range tried {
		out = append(out, trace.ArgsOf(d.Steps[0].Args)["cmd"].Text)
	}
	return out
}

func TestWhatDidNotHelpIsNamedForTheNewSituation(t *testing.T) {
	attempts := build("ana", 1, "linux", "make clean", clearCache(1), "brew reinstall llvm").attempts()
	require.ElementsMatch(t, []string{"make clean", "rm -rf /home/dev9/.cache/build"},
		commands(advice.Tried(linuxAt(9), attempts)))
	require.Empty(t, advice.Tried(advice.Situation{Error: "ld: cannot find -lssl"}, attempts), "another problem")
	for i := range attempts {
		attempts[i].Source.Witnessed = false
	}
	require.Empty(t, advice.Tried(linuxAt(9), attempts), "an account")
}

func TestWhatFailedLongAgoIsTriedAgain(t *testing.T) {
	attempts := build("ana", 1, "linux", "make clean", "brew reinstall llvm").attempts()
	require.NotEmpty(t, advice.Tried(linuxAt(99), attempts))
	for n := 2; n < 22; n++ {
		attempts = append(attempts, build("ana", n, "linux", "brew reinstall llvm").attempts()...)
	}
	require.Empty(t, advice.Tried(linuxAt(99), attempts))
}

func TestWhatHelpsHereIsNotNamedAlthoughItFailsElsewhere(t *testing.T) {
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
