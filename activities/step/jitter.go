package step

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/memory/lifecycle"
)

// Jitter returns the interceptor that spreads the retries of activities (lifecycle.RetryDelay). Temporal's retry
// policies have no jitter, so each failed attempt sets the delay before the next attempt. If Temporal ends an attempt,
// because it timed out or its heartbeats stopped, the retry policy sets the delay.
func Jitter() interceptor.WorkerInterceptor { return &jitter{} }

type jitter struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (j *jitter) InterceptActivity(
	_ context.Context,
	next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &jitterInbound{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type jitterInbound struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (j *jitterInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := j.Next.ExecuteActivity(ctx, in)
	if err == nil || ctx.Err() != nil || activity.GetInfo(ctx).IsLocalActivity {
		return result, err
	}
	return result, Delayed(err, RetryKey(ctx), activity.GetInfo(ctx).Attempt)
}

// Delayed adds the delay before the next attempt to an error that can be retried. It does not change other errors.
func Delayed(err error, key string, attempt int32) error {
	if temporal.IsCanceledError(err) || errors.Is(err, activity.ErrResultPending) {
		return err // there is nothing to retry
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) && (app.NonRetryable() || app.NextRetryDelay() > 0 || app.HasDetails()) {
		return err // it cannot be retried, or has its own delay or details (PendingError)
	}
	//nolint:errorlint // the server sees the wrapper of a wrapped error
	if own, ok := err.(*temporal.ApplicationError); ok {
		// The error has only a type, such as a statement that timed out or an attempt without progress.
		return temporal.NewApplicationErrorWithOptions(own.Message(), own.Type(), temporal.ApplicationErrorOptions{
			Cause: own.Unwrap(), Category: own.Category(), NextRetryDelay: lifecycle.RetryDelay(int(attempt), key)})
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), "", temporal.ApplicationErrorOptions{Cause: err,
		NextRetryDelay: lifecycle.RetryDelay(int(attempt), key)})
}

// RetryKey returns the key of the activity. The jitter is computed from it.
func RetryKey(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID + "/" + info.WorkflowExecution.RunID + "/" + info.ActivityID
}
