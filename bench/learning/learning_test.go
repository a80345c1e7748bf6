package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every arm gets the same tasks, and no arm may take more steps than the budget allows.
func TestArmsHaveTheSameTasksAndBudget(t *testing.T) {
	for _, composes := range []bool{false, true} {
		tasks := stream(sets["dev"], 7, 40, composes)
		require.Equal(t, tasks, stream(sets["dev"], 7, 40, composes), "a seed gives the same tasks")
		require.NotEqual(t, tasks[0], stream(sets["dev"], 8, 40, composes)[0])
		before := stream(sets["dev"], 7, 40, composes)
		for _, a := range arms {
			r, err := runArm(a, tasks, nil)
			require.NoError(t, err)
			require.Equal(t, before, tasks, "%s changes the tasks", a.name)
			for i, result := range r.results {
				require.Equal(t, budget*len(tasks[i].problems), result.limit, a.name)
				require.LessOrEqual(t, result.steps, result.limit, a.name)
			}
		}
	}
}

func TestRunsAreDeterministic(t *testing.T) {
	o := options{set: "dev", seeds: "3", tasks: 40, parts: "streams"}
	var first, second strings.Builder
	require.NoError(t, measure(&first, o))
	require.NoError(t, measure(&second, o))
	figures := func(s string) string { s, _, _ = strings.Cut(s, "\ntook "); return s }
	require.Equal(t, figures(first.String()), figures(second.String()))
}

// An agent that explores within the cost of a memory tries more; one with complete knowledge solves nearly all tasks.
func TestArmsDifferInTheirKnowledge(t *testing.T) {
	tasks := stream(sets["dev"], 5, 200, false)
	solved := map[string]float64{}
	for _, a := range []arm{armNamed("no memory"), armNamed("exploring instead"), armNamed("oracle")} {
		r, err := runArm(a, tasks, nil)
		require.NoError(t, err)
		solved[a.name] = success(r.results)
	}
	require.Greater(t, solved["exploring instead"], solved["no memory"])
	require.Greater(t, solved["oracle"], 0.95)
}

func TestIntervals(t *testing.T) {
	i := over([]float64{1, 2, 3, 4, 5})
	require.InDelta(t, 3, i.Mean, 1e-9)
	require.InDelta(t, 1.963, i.Half, 0.001) // 2.776 × 1.5811 / √5
	require.True(t, interval{0.8, 0.05}.above(interval{0.6, 0.1}))
	require.False(t, interval{0.8, 0.05}.above(interval{0.7, 0.06}))
}

func TestDevelopmentAndReportedFamiliesAreDisjoint(t *testing.T) {
	dev, reported := sets["dev"], sets["reported"]
	for _, s := range []set{dev, reported} {
		require.Len(t, s.problems, families)
	}
	for _, p := range dev.problems {
		require.NotContains(t, reported.problems, p)
	}
	for _, v := range dev.verbs {
		require.NotContains(t, reported.verbs, v)
	}
}

// An agent first tries untried repairs, then failed ones, the likeliest first.
func TestAgentTriesFailedRepairsLast(t *testing.T) {
	p := problem{repairs: [][]string{{"a"}, {"b"}, {"c"}, {"d"}}, order: []int{2, 0, 3, 1}}
	require.Equal(t, [][]string{{"a"}, {"d"}, {"b"}, {"c"}}, guesses(p, [][]string{{"b"}, {"c"}}))
	require.Equal(t, [][]string{{"c"}, {"a"}, {"d"}, {"b"}}, guesses(p, nil))
}
