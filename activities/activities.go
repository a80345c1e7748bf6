// Package activities holds the steps that have side effects: one struct a phase, its dependencies
// injected. Activities are at-least-once, so each may run twice: what it writes is keyed so that the
// second run finds the first one's result.
//
// Errors that leave an activity never carry memory content: they end up in histories and logs.
package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// fail turns an error into what Temporal's retry policy can act on.
func fail(err error) error {
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
		return temporal.NewApplicationErrorWithOptions(timeout.Error(), api.ErrTypeStatementTimeout, temporal.ApplicationErrorOptions{})
	}
	if code, refused := pg.Refused(err); refused {
		return temporal.NewNonRetryableApplicationError("the database cannot keep what the request holds (SQLSTATE "+code+")", api.ErrTypeInvalidRequest, nil)
	}
	return err
}

// maxRetryAfter bounds how long a model endpoint may make the pipeline wait before it is asked again.
const maxRetryAfter = 10 * time.Minute

// pendingError asks Temporal to run the activity again for the items that are left, after the wait
// that the endpoint asked for or, without one, that the retry policy gives. why is of an endpoint that is busy
// or away: the run shows it in the UI.
func pendingError(failed int, wait time.Duration, why string) error {
	message := "some items have to be tried again"
	if why != "" {
		message += ": " + why
	}
	return temporal.NewApplicationErrorWithOptions(message, api.ErrTypeItemsPending,
		temporal.ApplicationErrorOptions{NextRetryDelay: wait, Details: []any{failed}})
}

// patience is how long to wait behind an attempt, counted from 1, for an endpoint that is busy or away and does
// not say for how long: as long as the retry policy would, and then longer. The attempts that a phase has
// (thirty) outlast an outage of three hours so, and a service that is back is asked again within ten minutes.
func patience(attempt int32) time.Duration {
	return min(time.Second<<min(max(0, attempt-1), 30), maxRetryAfter)
}

// failure classifies a model call's error: how long to wait when it was only throttled, or why the
// attempt counts as failed.
func failure(err error) (wait time.Duration, throttled, permanent bool, reason string) {
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

// now is the activities' clock.
func now(clock func() time.Time) time.Time {
	if clock != nil {
		return clock()
	}
	return time.Now()
}
