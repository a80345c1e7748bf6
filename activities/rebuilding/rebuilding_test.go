package rebuilding_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/activities/rebuilding"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
)

// If all derived data is dropped, an index outside Postgres is emptied too, and the step is retried until the server of
// the index answers. A comparison empties nothing.
func TestDroppingEmptiesAnIndexOutsidePostgres(t *testing.T) {
	var wiped []string
	away := errors.New("the server is away")
	a := &rebuilding.Rebuilding{Store: testkit.OpenStore(t, testkit.DatabaseURL(t)),
		WipeIndex: func(_ context.Context, tenant string) (int, error) {
			wiped = append(wiped, tenant)
			return 3, away
		}}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(a)
	page := func(drop bool) error {
		_, err := env.ExecuteActivity(a.RebuildPage, rebuilding.PageRequest{
			Request: api.RebuildRequest{Tenant: "t", Drop: drop, Verify: !drop},
			Place:   api.RebuildPlace{Phase: api.RebuildVectors}})
		return err
	}
	require.NoError(t, page(false))
	require.Empty(t, wiped)
	require.Error(t, page(true))
	away = nil
	require.NoError(t, page(true))
	require.Equal(t, []string{"t", "t"}, wiped)
}
