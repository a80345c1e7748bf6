package main

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/bench/learner"
	"github.com/mneme/mneme/bench/tools/families"
	"github.com/mneme/mneme/bench/tools/place"
)

// some returns families whose tools are widely installed and that run fast.
func some(t *testing.T, root string, on place.Tools) []families.Family {
	names := []string{"gcc: maths library not linked", "git: lock left behind",
		"python: package outside the search path",
		"sh: script not executable"}
	chosen := slices.DeleteFunc(slices.Clone(families.Sets["dev"]), func(f families.Family) bool {
		return !slices.Contains(names, f.Name)
	})
	found, left := families.Present(chosen, root, on)
	for _, name := range left {
		t.Logf("left out: %s", name)
	}
	if len(found) == 0 {
		t.Skip("no tool is installed")
	}
	return found
}

// short is a directory with a short name: the errors contain the paths, and a timeline keeps 160 characters of an
// error.
func short(t *testing.T) string {
	root, err := os.MkdirTemp("", "tools-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}

// In the second occurrence the actor first tries what helped in the first, with the names of the second, before any
// consolidation.
func TestSecondOccurrenceIsSolvedAtTheFirstRepair(t *testing.T) {
	root, on := short(t), place.Find()
	results, err := runArm(arm{"Mneme", func() advisor {
		m := newAdvised(learner.Options{Timelines: true, NoConsolidation: true})
		return m
	}}, families.Stream("dev", some(t, root, on), 3, 5), root, on)
	require.NoError(t, err)
	for _, r := range results {
		require.True(t, r.solved, "%s, occurrence %d", r.family, r.times+1)
		if r.times > 0 {
			require.True(t, r.advised, "%s, occurrence %d: nothing was advised", r.family, r.times+1)
			require.True(t, r.first, "%s, occurrence %d: first tried %s", r.family, r.times+1, r.wrong)
		}
	}
}

// Without advice the actor finds the repair within its budget, but rarely at the first attempt.
func TestActorExplores(t *testing.T) {
	root, on := short(t), place.Find()
	tasks := families.Stream("dev", some(t, root, on), 3, 6)
	explored, err := runArm(arms[0], tasks, root, on)
	require.NoError(t, err)
	c := count(explored, func(result) bool { return true })
	require.Equal(t, c.all, c.solved)
	require.Less(t, c.first, c.all/2)
	for _, r := range explored {
		require.LessOrEqual(t, r.steps, budget)
		require.False(t, r.advised)
	}
	again, err := runArm(arms[0], tasks, root, on)
	require.NoError(t, err)
	for i := range explored {
		require.Equal(t, explored[i].tries, again[i].tries, "the same seed tries the same")
	}
}
