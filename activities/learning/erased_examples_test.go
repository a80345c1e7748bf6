package learning_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// The examples of a procedure's parameters go with an erased episode of its evidence, also if the procedure has no
// failure modes. The next run restores the examples of the remaining episodes.
func TestAProcedureForgetsTheExamplesOfAnErasedEpisode(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetErase, schema.ForgetForce} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var episodes []uuid.UUID
			for n := range 4 {
				episodes = append(episodes, testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store))
			}
			require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added)
			require.Empty(t, procedureOf(t, w.known(ana)[0]).FailureModes)
			require.Contains(t, string(w.known(ana)[0].Payload), "dev1/", "the case under test")

			receipt := w.forget(ana, mode, episodes[1])
			require.Equal(t, 1, receipt.Removed["examples"])
			require.Empty(t, w.places("dev1/"))
			require.NotContains(t, string(w.known(ana)[0].Payload), "examples")
			require.Len(t, procedureOf(t, w.known(ana)[0]).Recipe, 2)
			testkit.CheckInvariants(t, testkit.Owner(t, w.url))

			require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Updated)
			require.Empty(t, w.places("dev1/"), "not restored")
			require.Contains(t, string(w.known(ana)[0].Payload), "dev2/")
			require.Zero(t, w.learn(ana, schema.TypeCompetence).Changes())
		})
	}
}

// The same holds for the inputs of a plan, and for its former versions.
func TestAPlanForgetsTheExamplesOfAnErasedEpisode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var episodes []uuid.UUID
	record := func(n int) {
		episodes = append(episodes, setUp(ana, n, "go", "git init", fmt.Sprintf("go mod init canary%dx", n),
			"gofmt -l .").Record(t, w.store))
	}
	for n := range 4 {
		record(n)
	}
	require.Equal(t, 1, w.learn(ana, schema.TypePlanGraph).Added)
	require.Contains(t, string(w.known(ana)[0].Payload), "canary1x", "the case under test")

	receipt := w.forget(ana, schema.ForgetErase, episodes[1])
	require.Equal(t, 1, receipt.Removed["examples"])
	require.Empty(t, w.places("canary1x"))
	require.Len(t, w.known(ana), 1, "the plan stays")
	require.NotContains(t, string(w.known(ana)[0].Payload), "examples")
	testkit.CheckInvariants(t, testkit.Owner(t, w.url))

	require.Positive(t, w.learn(ana, schema.TypePlanGraph).Changes())
	require.Empty(t, w.places("canary1x"), "not restored")
	require.Contains(t, string(w.known(ana)[0].Payload), "canary2x")
	require.Zero(t, w.learn(ana, schema.TypePlanGraph).Changes())
}
