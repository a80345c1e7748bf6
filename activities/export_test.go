package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/activities/step"
)

// ListenToHeartbeats sets the interval of heartbeats, and also passes their details to fn.
func ListenToHeartbeats(every time.Duration, fn func(details []any)) {
	record := step.RecordHeartbeat
	step.HeartbeatEvery, step.RecordHeartbeat = every, func(ctx context.Context, details ...any) {
		fn(details)
		record(ctx, details...)
	}
}

// RetryWait returns the delay after an attempt that failed because an endpoint was unavailable.
func RetryWait(attempt int32) time.Duration { return step.RetryWait(attempt) }

// StalledAfter sets how long an attempt may run without progress, until restore is called.
func StalledAfter(d time.Duration) (restore func()) {
	was := step.StalledAfter
	step.StalledAfter = d
	return func() { step.StalledAfter = was }
}

// LongStatement sets how long a long statement may take, until restore is called.
func LongStatement(d time.Duration) (restore func()) {
	was := step.LongStatement
	step.LongStatement = d
	return func() { step.LongStatement = was }
}

// PartialAfter sets how long an attempt works before it returns a part of its range, until restore is called.
func PartialAfter(d time.Duration) (restore func()) {
	was := partialAfter
	partialAfter = d
	return func() { partialAfter = was }
}

// Listed waits until the list of runs is up to date.
func Listed(ctx context.Context, c client.Client) error { return (&runDeleter{client: c}).listed(ctx) }

// ListedWait sets how long Listed waits, until restore is called.
func ListedWait(d time.Duration) (restore func()) {
	was := listedWait
	listedWait = d
	return func() { listedWait = was }
}
