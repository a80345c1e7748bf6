package step

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// Fail turns an error into one that Temporal's retry policy understands.
func Fail(err error) error {
	var invalid *schema.ValidationError
	var conflict *schema.VersionConflict
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return temporal.NewNonRetryableApplicationError(conflict.Error(), api.ErrTypeVersion, nil, conflict)
	case errors.As(err, &invalid):
		return temporal.NewNonRetryableApplicationError(invalid.Error(), api.ErrTypeInvalidRequest, nil, invalid)
	case errors.Is(err, pg.ErrNotFound):
		return temporal.NewNonRetryableApplicationError(err.Error(), api.ErrTypeNotFound, nil)
	case errors.Is(err, pipeline.ErrNotDead):
		return temporal.NewNonRetryableApplicationError(err.Error(), api.ErrTypeConflict, nil)
	}
	var timeout *pg.TimeoutError
	if errors.As(err, &timeout) {
		return temporal.NewApplicationErrorWithOptions(timeout.Error(), api.ErrTypeStatementTimeout,
			temporal.ApplicationErrorOptions{})
	}
	if code, refused := pg.Refused(err); refused {
		return temporal.NewNonRetryableApplicationError("the database cannot keep what the request holds (SQLSTATE "+
			code+")",
			api.ErrTypeInvalidRequest, nil)
	}
	return err
}

// MaxRetryAfter bounds how long a model endpoint may make the pipeline wait before the next call.
const MaxRetryAfter = 10 * time.Minute

// PendingError asks Temporal to run the activity again for the remaining items: after wait or, if wait is 0, as the
// retry policy says. why is the endpoint's answer; the run shows it in the UI.
func PendingError(failed int, wait time.Duration, why string) error {
	message := "some items have to be tried again"
	if why != "" {
		message += ": " + why
	}
	return temporal.NewApplicationErrorWithOptions(message, api.ErrTypeItemsPending,
		temporal.ApplicationErrorOptions{NextRetryDelay: wait, Details: []any{failed}})
}

// RetryWait is the delay after an attempt, counted from 1, for an endpoint that is busy or unavailable and does not
// set one. It doubles from one second to ten minutes. The thirty attempts of a phase outlast an outage of three
// hours.
func RetryWait(attempt int32) time.Duration {
	return min(time.Second<<min(max(0, attempt-1), 30), MaxRetryAfter)
}

// Classify classifies the error of a model call: the delay if the call was throttled, whether it can be retried, and
// the reason to record.
func Classify(err error) (wait time.Duration, throttled, permanent bool, reason string) {
	var limit *inference.RateLimitError
	var perm *inference.PermanentError
	switch {
	case errors.As(err, &limit):
		return limit.RetryAfter, true, false, limit.Error()
	case errors.As(err, &perm):
		return 0, false, true, perm.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return 0, false, false, "the model did not answer in time"
	default:
		return 0, false, false, "the model endpoint failed: " + err.Error()
	}
}

// Now returns the time of clock, or time.Now if clock is nil.
func Now(clock func() time.Time) time.Time {
	if clock != nil {
		return clock()
	}
	return time.Now()
}

// RulesInForce returns the classification rules of current, or nil if current is nil.
func RulesInForce(current func() *policy.Policy) *policy.Policy {
	if current == nil {
		return nil
	}
	return current()
}
