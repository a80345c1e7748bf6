package activities

import (
	"context"
	"time"
)

// ListenToHeartbeats makes work in progress report this often, and to fn as well.
func ListenToHeartbeats(every time.Duration, fn func(details []any)) {
	record := recordHeartbeat
	heartbeatEvery, recordHeartbeat = every, func(ctx context.Context, details ...any) { fn(details); record(ctx, details...) }
}

// Patience is how long an endpoint that is away is waited for behind an attempt.
func Patience(attempt int32) time.Duration { return patience(attempt) }

// StalledAfter makes an attempt without progress end this soon, until the function it returns is called.
func StalledAfter(d time.Duration) (restore func()) {
	was := stalledAfter
	stalledAfter = d
	return func() { stalledAfter = was }
}

// LongStatement makes an attempt at a long statement end this soon, until the function it returns is called.
func LongStatement(d time.Duration) (restore func()) {
	was := longStatement
	longStatement = d
	return func() { longStatement = was }
}

// PartialAfter makes an attempt over a range return this soon, until the function it returns is called.
func PartialAfter(d time.Duration) (restore func()) {
	was := partialAfter
	partialAfter = d
	return func() { partialAfter = was }
}
