package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/store/vectorindex"
	"github.com/mneme/mneme/workflows"
)

// A rebuild that is cancelled between the two steps of its switch completes the second step first. Otherwise it would
// drop the generation that readers use.
func TestReindexCancelledDuringTheSwitch(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(4)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	owner := testkit.Owner(t, x.DatabaseURL)
	options := clientOptions("reindex", x.TaskQueue)
	held := make(chan error, 1)
	var once sync.Once
	x.server.Before(func(_ context.Context, method string, _ any) error {
		if strings.HasSuffix(method, "Collections/UpdateAliases") {
			once.Do(func() { // Postgres cannot record the switch
				_, err := owner.Exec(ctx, `BEGIN`)
				if err == nil {
					_, err = owner.Exec(ctx, `SELECT FROM index_generations WHERE state = 'active' FOR UPDATE`)
				}
				held <- errors.Join(err, x.Temporal.CancelWorkflow(ctx, options.ID, ""))
			})
		}
		return nil
	})
	run, err := x.Temporal.ExecuteWorkflow(ctx, options, workflows.Reindex, api.ReindexInput{GraceSeconds: -1})
	require.NoError(t, err)
	require.NoError(t, <-held)
	require.NoError(t, testkit.Eventually(ctx, func() error { // until the run has seen the cancellation
		asked, known := false, false
		for _, event := range rawHistory(t, x.Temporal, run.GetID(), run.GetRunID()) {
			asked = asked || event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
			known = known || asked && event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
			require.NotEqual(t, "AbandonGeneration",
				event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName(),
				"before the switch has ended")
		}
		if !known {
			return errors.New("not cancelled yet")
		}
		return nil
	}))
	_, err = owner.Exec(ctx, `ROLLBACK`)
	require.NoError(t, err)
	require.Error(t, run.Get(ctx, nil))
	_, states := x.generations()
	require.Equal(t, []vectorindex.GenerationState{vectorindex.GenerationActive, vectorindex.GenerationRetired}, states)
	answer, byVector := x.recall(x.recaller())
	require.True(t, byVector)
	require.Empty(t, answer.Meta.Degraded)
	again, err := x.reindex(api.ReindexInput{})
	require.NoError(t, err)
	require.Equal(t, 2, again.Dropped, "the next run drops what a cancelled run left")
}

// A failed switch leaves the index on the generation that Postgres names, and keeps the new generation.
func TestAFailedSwitchGoesBack(t *testing.T) {
	t.Parallel()
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	generation := api.GenerationRef{ID: "8f14e45f-ceea-467f-a8d5-3e3f1b5a2f6c", Model: "m", Dimensions: 2}
	env.OnActivity(indexingOf.BeginReindex, mock.Anything,
		mock.Anything).Return(indexing.BeginReindexResult{Generation: generation}, nil)
	env.OnActivity(indexingOf.FillGeneration, mock.Anything, mock.Anything).Return(indexing.FillResult{Done: true}, nil)
	env.OnActivity(indexingOf.CompareMemories, mock.Anything, mock.Anything).Return(indexing.CompareResult{Done: true},
		nil)
	env.OnActivity(indexingOf.ComparePoints, mock.Anything, mock.Anything).Return(indexing.CompareResult{Done: true},
		nil)
	env.OnActivity(indexingOf.VerifyGeneration, mock.Anything, mock.Anything).Return(indexing.VerifyPage{}, nil)
	env.OnActivity(indexingOf.ActivateGeneration, mock.Anything, mock.Anything).Return(refused("not today"))
	env.OnActivity(indexingOf.SearchActive, mock.Anything).Return(nil).Once()
	env.ExecuteWorkflow(workflows.Reindex, api.ReindexInput{})
	require.ErrorContains(t, env.GetWorkflowError(), "not today")
	env.AssertExpectations(t)
}

// A verification that waits for pending changes is continued where it stopped.
func TestAVerificationThatWaitsIsContinued(t *testing.T) {
	t.Parallel()
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	generation := api.GenerationRef{ID: "8f14e45f-ceea-467f-a8d5-3e3f1b5a2f6c", Model: "m", Dimensions: 2}
	env.OnActivity(indexingOf.BeginReindex, mock.Anything,
		mock.Anything).Return(indexing.BeginReindexResult{Generation: generation}, nil)
	env.OnActivity(indexingOf.FillGeneration, mock.Anything, mock.Anything).Return(indexing.FillResult{Done: true}, nil)
	env.OnActivity(indexingOf.CompareMemories, mock.Anything, mock.Anything).Return(indexing.CompareResult{Done: true},
		nil)
	env.OnActivity(indexingOf.ComparePoints, mock.Anything, mock.Anything).Return(indexing.CompareResult{Done: true},
		nil)
	var from []string
	env.OnActivity(indexingOf.VerifyGeneration, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in indexing.VerifyRequest) (indexing.VerifyPage, error) {
			require.True(t, in.From.Waits)
			from = append(from, in.From.After)
			n := int64(len(from))
			return indexing.VerifyPage{VerifyResult: api.VerifyResult{Points: n}, After: fmt.Sprint("tenant", n),
				Waits: n < 3}, nil
		})
	env.OnActivity(indexingOf.ActivateGeneration, mock.Anything, mock.Anything).Return(nil)
	env.OnActivity(indexingOf.DropRetired, mock.Anything).Return(indexing.DropResult{}, nil)
	env.ExecuteWorkflow(workflows.Reindex, api.ReindexInput{})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"", "tenant1", "tenant2"}, from)
	var out api.ReindexResult
	require.NoError(t, env.GetWorkflowResult(&out))
	require.EqualValues(t, 3, out.Verified.Points)
}

// Two concurrent checks, one of the schedule and one on request, do not disturb each other.
func TestTwoDriftChecksAtOnce(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.remember(12)
	known, err := x.Store.Generations(context.Background(), x.qdrant.Name())
	require.NoError(t, err)
	require.NoError(t, x.qdrant.Drop(context.Background(), known[0]))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var runs []client.WorkflowRun
	for range 2 {
		run, err := x.Temporal.ExecuteWorkflow(ctx, clientOptions("drift", x.TaskQueue), workflows.DriftCheck,
			api.DriftInput{})
		require.NoError(t, err)
		runs = append(runs, run)
	}
	for _, run := range runs {
		var result api.DriftResult
		require.NoError(t, run.Get(ctx, &result))
		require.Zero(t, result.Left.Found())
	}
	require.Zero(t, x.drift().Found.Found())
	answer, byVector := x.recall(x.recaller())
	require.True(t, byVector)
	require.Empty(t, answer.Meta.Degraded)
}
