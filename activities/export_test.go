package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/activities/step"
)

// ListenToHeartbeats makes work in progress report this often, and to fn as well.
func ListenToHeartbeats(every time.Duration, fn func(details []any)) {
	record := step.RecordHeartbeat
	step.HeartbeatEvery, step.RecordHeartbeat = every, func(ctx context.Context, details ...any) {
		fn(details)
		record(ctx, details...)
	}
}

// RetryWait is how long an endpoint that is away is waited for after an attempt.
func RetryWait(attempt int32) time.Duration { return step.RetryWait(attempt) }

// StalledAfter makes an attempt without progress end this soon, until the function it returns is called.
func StalledAfter(d time.Duration) (restore func()) {
	was := step.StalledAfter
	step.StalledAfter = d
	return func() { step.StalledAfter = was }
}

// LongStatement makes an attempt at a long statement end this soon, until the function it returns is called.
func LongStatement(d time.Duration) (restore func()) {
	was := step.LongStatement
	step.LongStatement = d
	return func() { step.LongStatement = was }
}

// PartialAfter makes an attempt over a range return this soon, until the function it returns is called.
func PartialAfter(d time.Duration) (restore func()) {
	was := partialAfter
	partialAfter = d
	return func() { partialAfter = was }
}

// Listed waits until the list of runs is up to date.
func Listed(ctx context.Context, c client.Client) error { return (&runDeleter{client: c}).listed(ctx) }

// ListedWait makes that wait end this soon, until the function it returns is called.
func ListedWait(d time.Duration) (restore func()) {
	was := listedWait
	listedWait = d
	return func() { listedWait = was }
}
