package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// TestPlanLeavesAContestOpen: an active memory does not come to stand beside the parties of a contest.
func TestPlanLeavesAContestOpen(t *testing.T) {
	t.Parallel()
	contested := as(schema.StatusContested)
	a, b, c := held("a", contested), held("b", contested), held("c", contested)
	exists := held("b", contested)
	for name, x := range map[string]struct {
		action  schema.ReviseAction
		targets []memory.Standing
		record  *memory.Standing // one that exists; nil for a new one
		holders []memory.Standing
		want    []string
	}{
		"beside both":                     {schema.ReviseSupersede, []memory.Standing{held("x")}, nil, []memory.Standing{a, b}, []string{"a", "b"}},
		"instead of one":                  {schema.ReviseSupersede, []memory.Standing{a}, nil, []memory.Standing{a, b}, []string{"b"}},
		"instead of both":                 {schema.ReviseSupersede, []memory.Standing{a, b}, nil, []memory.Standing{a, b}, nil},
		"one instead of the other":        {schema.ReviseSupersede, []memory.Standing{a}, &exists, []memory.Standing{a, b}, nil},
		"one instead of another of three": {schema.ReviseSupersede, []memory.Standing{a}, &exists, []memory.Standing{a, b, c}, []string{"c"}},
		"resolved for two of three":       {schema.ReviseResolve, []memory.Standing{a, b}, nil, []memory.Standing{a, b, c}, []string{"c"}},
		"contested further":               {schema.ReviseContest, []memory.Standing{a}, nil, []memory.Standing{a, b}, nil},
		"retracted":                       {schema.ReviseRetract, []memory.Standing{a}, nil, []memory.Standing{a, b}, nil},
	} {
		r := revisionOf(x.action, x.targets...)
		r.Holders = x.holders
		if x.record != nil {
			r.Record, r.Exists = x.record, true
		}
		plan := memory.PlanRevision(r)
		require.Equal(t, x.want, plan.Conflicts, name)
		if x.want != nil {
			require.Equal(t, schema.ReviseActiveFact, plan.Status, name)
			continue
		}
		require.Equal(t, schema.ReviseApplied, plan.Status, name)
	}
}
