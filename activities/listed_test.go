package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/activities"
)

// A run that showed an erased text may have ended just now and be missing from the server's list of runs. Runs are
// deleted by this list only once it contains the requesting run.
func TestRunsAreDeletedOnceTheListIsUpToDate(t *testing.T) {
	defer activities.ListedWait(time.Second)()
	for _, listedAt := range []int{1, 3, 0} { // the number of the query, 0 for never
		looks := 0
		list := func(
			context.Context,
			*workflowservice.ListWorkflowExecutionsRequest,
		) (*workflowservice.ListWorkflowExecutionsResponse, error) {
			looks++
			out := &workflowservice.ListWorkflowExecutionsResponse{}
			if listedAt > 0 && looks >= listedAt {
				out.Executions = []*workflow.WorkflowExecutionInfo{{}}
			}
			return out, nil
		}
		server := &mocks.Client{}
		server.On("ListWorkflow", mock.Anything, mock.Anything).Return(list)
		env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
		wait := func(ctx context.Context) error { return activities.Listed(ctx, server) }
		env.RegisterActivityWithOptions(wait, activity.RegisterOptions{Name: "wait"})
		_, err := env.ExecuteActivity("wait")
		if listedAt > 0 {
			require.NoError(t, err)
			require.Equal(t, listedAt, looks)
			continue
		}
		require.ErrorContains(t, err, "not up to date", "the step is retried")
		require.Greater(t, looks, 2)
	}
}
