package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/store/pg"
)

// A retryable error gets a delay with jitter. An error with its own delay, or without retries, is not changed.
func TestRetriesAreSpread(t *testing.T) {
	t.Parallel()
	cause := errors.New("the database is away")
	err := step.Delayed(cause, "ingest/a/1", 2)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.ErrorIs(t, err, cause)
	require.Equal(t, lifecycle.RetryDelay(2, "ingest/a/1"), app.NextRetryDelay())
	require.Equal(t, cause.Error(), app.Message())
	require.False(t, app.NonRetryable())
	delays := map[time.Duration]bool{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		require.ErrorAs(t, step.Delayed(cause, key, 1), &app)
		delays[app.NextRetryDelay()] = true
	}
	require.Greater(t, len(delays), 3)

	for _, left := range []error{temporal.NewNonRetryableApplicationError("no", api.ErrTypeInvalidRequest, nil),
		step.PendingError(1, 3*time.Second, ""), temporal.NewCanceledError()} {
		require.Equal(t, left, step.Delayed(left, "a", 1))
	}
	require.NotErrorIs(t, step.Delayed(cause, "a", 1), context.Canceled)

	// A statement timeout and an attempt without progress keep their error type, and set no delay of their own.
	timeout := step.Fail(fmt.Errorf("search: %w", &pg.TimeoutError{Class: pg.ClassPipeline, Err: cause}))
	for _, typed := range []error{timeout, temporal.NewApplicationError("no progress for 150s", api.ErrTypeStalled)} {
		var was *temporal.ApplicationError
		require.ErrorAs(t, typed, &was)
		require.ErrorAs(t, step.Delayed(typed, "ingest/a/1", 3), &app)
		require.Equal(t, lifecycle.RetryDelay(3, "ingest/a/1"), app.NextRetryDelay())
		require.Equal(t, []any{was.Type(), was.Message(), false}, []any{app.Type(), app.Message(), app.NonRetryable()})
	}
	wrapped := fmt.Errorf("drain: %w", timeout)
	require.Equal(t, wrapped.Error(), errors.Unwrap(step.Delayed(wrapped, "a", 1)).Error())
	refused := fmt.Errorf("drain: %w", temporal.NewNonRetryableApplicationError("no", api.ErrTypeInvalidRequest, nil))
	require.Equal(t, refused, step.Delayed(refused, "a", 1))
}

// The interceptor adds jitter to the retries of every activity.
func TestTheInterceptorSpreadsRetries(t *testing.T) {
	t.Parallel()
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{step.Jitter()}})
	fails := func(context.Context) error { return errors.New("the database is away") }
	env.RegisterActivity(fails)
	_, err := env.ExecuteActivity(fails)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.GreaterOrEqual(t, app.NextRetryDelay(), lifecycle.RetryBase)
	require.LessOrEqual(t, app.NextRetryDelay(), lifecycle.RetryBase+lifecycle.RetryJitterMax)
	require.ErrorContains(t, err, "the database is away")
}
