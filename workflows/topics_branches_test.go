package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activity "github.com/mneme/mneme/activities/topics"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	storetopics "github.com/mneme/mneme/store/topics"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/learn"
)

// The branches of a refresh, by the results of its activities.
func TestRefreshTopicBranches(t *testing.T) {
	t.Parallel()
	var of *activity.Topics
	due := activity.CheckTopicResult{Refresh: true, Changed: 2, Memories: 3, Hash: "h"}
	written := activity.DraftTopicResult{Outcome: storetopics.Written, Parts: 2, WrittenBy: "m", Tokens: 7}
	pending := temporal.NewNonRetryableApplicationError("the model endpoint failed", api.ErrTypeItemsPending, nil)
	for name, test := range map[string]struct {
		draft     func(activity.DraftTopicRequest) (activity.DraftTopicResult, error)
		published storetopics.Outcome
		want      api.RefreshTopicResult
	}{
		"evidence that keeps changing": {func(activity.DraftTopicRequest) (activity.DraftTopicResult, error) {
			return written, nil
		},
			storetopics.Outdated, api.RefreshTopicResult{Outcome: api.TopicMoving, Parts: 2, WrittenBy: "m", Rounds: 3,
				Tokens: 21}},
		"an unavailable model": {func(in activity.DraftTopicRequest) (activity.DraftTopicResult, error) {
			if !in.Rules {
				return activity.DraftTopicResult{}, pending
			}
			return activity.DraftTopicResult{Outcome: storetopics.Written, Parts: 1, WrittenBy: "rules",
				Fallback: "away"}, nil
		}, storetopics.Written, api.RefreshTopicResult{Outcome: api.TopicAnswered, Number: 4, Parts: 1,
			WrittenBy: "rules", Fallback: "away", Rounds: 1}},
		"an exhausted budget": {func(activity.DraftTopicRequest) (activity.DraftTopicResult, error) {
			return activity.DraftTopicResult{}, temporal.NewNonRetryableApplicationError("used up",
				api.ErrTypeBudgetExceeded, nil)
		}, "", api.RefreshTopicResult{Outcome: api.TopicHeld, Rounds: 1}},
		"a draft with a conflict": {func(activity.DraftTopicRequest) (activity.DraftTopicResult, error) {
			return activity.DraftTopicResult{Outcome: storetopics.Outdated}, nil
		}, "", api.RefreshTopicResult{Outcome: api.TopicMoving, Rounds: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := harness.Environment()
			workflows.Register(env, workflows.Dependencies{})
			env.OnActivity(of.CheckTopic, mock.Anything, mock.Anything).Return(due, nil)
			env.OnActivity(of.DraftTopic, mock.Anything, mock.Anything).Return(func(_ context.Context,
				in activity.DraftTopicRequest) (activity.DraftTopicResult, error) {
				return test.draft(in)
			}).Maybe()
			number := 0
			if test.published == storetopics.Written {
				number = 4
			}
			env.OnActivity(of.PublishTopic, mock.Anything, mock.Anything).Return(
				activity.PublishTopicResult{Outcome: test.published, Number: number}, nil).Maybe()
			env.OnActivity(of.HoldTopic, mock.Anything,
				activity.HoldTopicRequest{TopicRef: activity.TopicRef{Tenant: "t", Topic: firstNamed},
					Changed: 2, Why: "token_budget"}).Return(nil).Maybe()
			env.ExecuteWorkflow(learn.RefreshTopic, api.RefreshTopicInput{Tenant: "t", Topic: firstNamed})
			require.NoError(t, env.GetWorkflowError())
			var out api.RefreshTopicResult
			require.NoError(t, env.GetWorkflowResult(&out))
			want := test.want
			want.Topic, want.Changed, want.Memories = firstNamed, 2, 3
			require.Equal(t, want, out)
		})
	}
}

// sweepStage is an environment in which every scan finds fifty due topics, and each is answered.
func sweepStage() *testsuite.TestWorkflowEnvironment {
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	var of *activity.Topics
	env.OnActivity(of.ScanTopics, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activity.ScanTopicsRequest) (activity.ScanTopicsResult, error) {
		out := activity.ScanTopicsResult{Checked: 60, Cursor: api.TopicCursor{Tenant: "t", Topic: uuid.NewString()}}
		for range 50 {
			out.Due = append(out.Due, activity.TopicRef{Tenant: "t", Topic: uuid.NewString()})
		}
		return out, nil
	})
	env.OnWorkflow(learn.RefreshTopic, mock.Anything, mock.Anything).Return(
		api.RefreshTopicResult{Outcome: api.TopicAnswered, Tokens: 2}, nil).After(time.Second)
	return env
}

// A first run of a topic workflow refuses unknown fields. A run that continues another one, and a run that an older
// version began, ignore them.
func TestTopicRunsThatContinueIgnoreUnknownFields(t *testing.T) {
	t.Parallel()
	unknown := []schema.FieldError{{Field: "shadw", Problem: "unknown field"}}
	var of *activity.Topics
	for workflowName, in := range map[string]map[string]any{
		api.WorkflowRefreshTopic:  {"tenant": "t", "topic": firstNamed, "shadw": true},
		api.WorkflowRefreshTopics: {"tenant": "t", "shadw": true},
	} {
		for name, test := range map[string]struct {
			prepare func(*testsuite.TestWorkflowEnvironment)
			misread []schema.FieldError
		}{
			"first run": {func(*testsuite.TestWorkflowEnvironment) {}, unknown},
			"continued": {func(env *testsuite.TestWorkflowEnvironment) {
				env.SetContinuedExecutionRunID("the run before")
			}, nil},
			"of an older version": {func(env *testsuite.TestWorkflowEnvironment) {
				env.OnGetVersion("strict-input", workflow.DefaultVersion, workflow.Version(1)).
					Return(workflow.DefaultVersion)
			}, nil},
		} {
			t.Run(workflowName+", "+name, func(t *testing.T) {
				t.Parallel()
				env := harness.Environment()
				workflows.Register(env, workflows.Dependencies{})
				test.prepare(env)
				var misread []schema.FieldError
				env.OnActivity(of.CheckTopic, mock.Anything, mock.Anything).Return(func(_ context.Context,
					in activity.CheckTopicRequest) (activity.CheckTopicResult, error) {
					misread = in.Misread
					return activity.CheckTopicResult{}, nil
				}).Maybe()
				env.OnActivity(of.ScanTopics, mock.Anything, mock.Anything).Return(func(_ context.Context,
					in activity.ScanTopicsRequest) (activity.ScanTopicsResult, error) {
					misread = in.Misread
					return activity.ScanTopicsResult{Done: true}, nil
				}).Maybe()
				env.ExecuteWorkflow(workflowName, in)
				require.NoError(t, env.GetWorkflowError())
				require.Equal(t, test.misread, misread)
			})
		}
	}
}

// A sweep over many topics continues as new with its counts and its position.
func TestTopicSweepContinuesAsNew(t *testing.T) {
	t.Parallel()
	env := sweepStage()
	env.ExecuteWorkflow(learn.RefreshTopics, api.RefreshTopicsInput{Tenant: "t"})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var in api.RefreshTopicsInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
	require.Equal(t, []any{"t", 360, 300, 60, int64(600)},
		[]any{in.Tenant, in.Sofar.Checked, in.Sofar.Answered, in.Sofar.Fresh, in.Sofar.Tokens})
	require.NotEmpty(t, in.Sofar.Cursor.Topic)
}

// A cancelled sweep ends, and does not continue as new.
func TestTopicSweepCancelled(t *testing.T) {
	t.Parallel()
	env := sweepStage()
	env.RegisterDelayedCallback(env.CancelWorkflow, 5*time.Second)
	env.ExecuteWorkflow(learn.RefreshTopics, api.RefreshTopicsInput{})
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), env.GetWorkflowError())
}

func TestRefreshTopicRefusesInvalidRequests(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	for topic, problem := range map[string]string{"x": "must be the id of a topic", uuid.NewString(): "not found"} {
		run, err := h.Temporal.ExecuteWorkflow(ctx, clientOptions("topic", h.TaskQueue), learn.RefreshTopic,
			api.RefreshTopicInput{Tenant: "t", Topic: topic})
		require.NoError(t, err)
		require.ErrorContains(t, run.Get(ctx, nil), problem)
	}
	_, err := mneme.StartRefreshTopic(ctx, h.Temporal, h.TaskQueue, api.RefreshTopicInput{})
	require.ErrorContains(t, err, "tenant")
}
