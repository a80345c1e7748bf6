package step_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/learning/due"
)

// If the server is unavailable, the activity fails and is retried. After any other error the scope is left to the
// schedule, and the write succeeds.
func TestArrivalsThatCannotBeSignalled(t *testing.T) {
	t.Parallel()
	st := testkit.OpenStore(t, testkit.DatabaseURL(t))
	p := testkit.Principal()
	var ids []uuid.UUID
	for n := range 2 {
		ids = append(ids, testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, st))
	}
	arrive := func(least int, refusal error) (told []api.LearnScope, outcomes []string, err error) {
		a := &step.Arrivals{Store: st, Rule: due.Rule{Least: least, Quiet: time.Minute},
			Tell: func(_ context.Context, _ client.Client, _ string, scope api.LearnScope) error {
				told = append(told, scope)
				return refusal
			},
			Observe: func(outcome string) { outcomes = append(outcomes, outcome) }}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		arrived := func(ctx context.Context) error { return a.Arrived(ctx, p.Tenant, ids...) }
		env.RegisterActivity(arrived)
		_, err = env.ExecuteActivity(arrived)
		return told, outcomes, err
	}
	scope := api.LearnScope{Tenant: p.Tenant, Agent: p.Agent}

	told, outcomes, err := arrive(2, nil)
	require.NoError(t, err)
	require.Equal(t, []api.LearnScope{scope}, told, "both episodes are of one scope, which is signalled once")
	require.Equal(t, []string{step.ArrivalTold}, outcomes)
	for _, refusal := range []error{serviceerror.NewUnavailable("away"), context.DeadlineExceeded,
		serviceerror.NewResourceExhausted(0, "busy")} {
		_, outcomes, err = arrive(2, refusal)
		require.Error(t, err)
		require.Empty(t, outcomes)
	}
	_, outcomes, err = arrive(2, errors.New("not allowed"))
	require.NoError(t, err)
	require.Equal(t, []string{step.ArrivalFailed}, outcomes)

	for _, least := range []int{0, 3} { // off; not enough
		told, outcomes, err = arrive(least, nil)
		require.NoError(t, err)
		require.Empty(t, told)
		require.Empty(t, outcomes)
	}
	require.NoError(t, (*step.Arrivals)(nil).Arrived(context.Background(), p.Tenant, ids...))
}
