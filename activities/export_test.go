package activities

import (
	"context"
	"time"
)

// ListenToHeartbeats makes work in progress report this often, and to fn as well.
func ListenToHeartbeats(every time.Duration, fn func()) {
	record := recordHeartbeat
	heartbeatEvery, recordHeartbeat = every, func(ctx context.Context) { fn(); record(ctx) }
}

// Patience is how long an endpoint that is away is waited for behind an attempt.
func Patience(attempt int32) time.Duration { return patience(attempt) }
