package revision_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// No revision makes a memory active while others contest the same claim.
func TestPlanKeepsContestsOpen(t *testing.T) {
	t.Parallel()
	contested := as(schema.StatusContested)
	a, b, c := held("a", contested), held("b", contested), held("c", contested)
	exists := held("b", contested)
	for name, x := range map[string]struct {
		action  schema.ReviseAction
		targets []revision.Standing
		record  *revision.Standing // nil for a new record
		holders []revision.Standing
		want    []string
	}{
		"next to both": {schema.ReviseSupersede, []revision.Standing{held("x")}, nil,
			[]revision.Standing{a, b}, []string{"a", "b"}},
		"instead of one": {schema.ReviseSupersede, []revision.Standing{a}, nil,
			[]revision.Standing{a, b}, []string{"b"}},
		"instead of both": {schema.ReviseSupersede, []revision.Standing{a, b}, nil,
			[]revision.Standing{a, b}, nil},
		"one instead of the other": {schema.ReviseSupersede, []revision.Standing{a}, &exists,
			[]revision.Standing{a, b}, nil},
		"one instead of another of three": {schema.ReviseSupersede, []revision.Standing{a}, &exists,
			[]revision.Standing{a, b, c}, []string{"c"}},
		"resolved for two of three": {schema.ReviseResolve, []revision.Standing{a, b}, nil,
			[]revision.Standing{a, b, c}, []string{"c"}},
		"contested again": {schema.ReviseContest, []revision.Standing{a}, nil,
			[]revision.Standing{a, b}, nil},
		"retracted": {schema.ReviseRetract, []revision.Standing{a}, nil,
			[]revision.Standing{a, b}, nil},
	} {
		r := revisionOf(x.action, x.targets...)
		r.Holders = x.holders
		if x.record != nil {
			r.Record, r.Exists = x.record, true
		}
		plan := revision.Plan(r)
		require.Equal(t, x.want, plan.Conflicts, name)
		if x.want != nil {
			require.Equal(t, schema.ReviseActiveFact, plan.Status, name)
			continue
		}
		require.Equal(t, schema.ReviseApplied, plan.Status, name)
	}
}
