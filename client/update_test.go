package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
)

// An update that a run accepted and did not answer is sent again under the same id, by which it is applied once.
func TestAnUnansweredUpdateKeepsItsID(t *testing.T) {
	t.Parallel()
	unanswered := temporal.NewApplicationError("the run has ended", "AcceptedUpdateCompletedWorkflow")
	for name, send := range map[string]func(client.Client) error{
		api.UpdateSelected: func(c client.Client) error {
			run := mocks.NewWorkflowRun(t)
			run.On("GetID").Return("forget/t/a/1")
			_, err := mneme.ForgetPreview(context.Background(), c, run)
			return err
		},
		api.UpdateConfirm: func(c client.Client) error {
			_, err := mneme.ConfirmForget(context.Background(), c, "forget/t/a/1",
				schema.ForgetConfirmation{Token: "x", Actor: "ann"})
			return err
		},
	} {
		c, ids := mocks.NewClient(t), []string{}
		c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(
			func(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
				require.Equal(t, name, o.UpdateName)
				ids = append(ids, o.UpdateID)
				handle := mocks.NewWorkflowUpdateHandle(t)
				var answer error
				if len(ids) < 3 {
					answer = unanswered
				}
				handle.On("Get", mock.Anything, mock.Anything).Return(answer)
				return handle, nil
			})
		require.NoError(t, send(c), name)
		require.Len(t, ids, 3, name)
		require.NotEmpty(t, ids[0], name)
		require.Equal(t, []string{ids[0], ids[0], ids[0]}, ids, name)
	}
}

// A run whose workers are too slow leaves an update unaccepted for as long as the SDK waits for one call. The update is
// sent again under its id, until the caller's time is over.
func TestAnUpdateWaitsAsLongAsItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	c, ids := mocks.NewClient(t), []string{}
	c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(
		func(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
			if ids = append(ids, o.UpdateID); len(ids) == 8 {
				cancel()
			}
			return nil, client.NewWorkflowUpdateServiceTimeoutOrCanceledError(context.DeadlineExceeded)
		})
	_, err := mneme.ConfirmForget(ctx, c, "forget/t/a/1", schema.ForgetConfirmation{Token: "x", Actor: "ann"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, ids, 8)
	require.Equal(t, ids[0], ids[7])
}
