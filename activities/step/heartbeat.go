package step

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store/pg"
)

// MaxStall is how long an attempt may run without progress before it is cancelled. One call to a model must be
// shorter.
const MaxStall = 150 * time.Second

// HeartbeatEvery is the interval between heartbeats, and RecordHeartbeat sends one. StalledAfter is how long an attempt
// may run without progress. LongStatement is how long one statement of the class "long" may take; Postgres ends it a
// little earlier. They are variables only for tests.
//
// Progress is a finished item, a page, a successful transaction, a batch of embedded texts, or a turn at the gate of
// models. A running statement or call is not progress.
//
// A heartbeat means that the worker is alive and that its attempt has made progress within StalledAfter. It is sent
// often, so that a dead worker is noticed within the heartbeat timeout. An attempt without progress sends none: it is
// cancelled here, and times out at the server.
var (
	HeartbeatEvery  = 5 * time.Second
	StalledAfter    = MaxStall
	RecordHeartbeat = func(ctx context.Context, details ...any) { activity.RecordHeartbeat(ctx, details...) }
	LongStatement   = pg.ClassLimits[pg.ClassLong].Statement + StalledAfter
)

// pulse has the time of an attempt's last progress, and its place.
type pulse struct {
	mu      sync.Mutex
	moved   time.Time
	limit   time.Duration // of the time without progress
	details []any
}

type pulseKey struct{}

// Heartbeat reports progress from now until stop is called. The context that it returns is cancelled when Advance has
// not been called for StalledAfter.
func Heartbeat(ctx context.Context) (_ context.Context, stop func()) {
	return heartbeatWithin(ctx, StalledAfter)
}

// HeartbeatLong is Heartbeat for an attempt whose statements may all be long.
func HeartbeatLong(ctx context.Context) (_ context.Context, stop func()) {
	return heartbeatWithin(ctx, LongStatement)
}

// RunLong runs fn, which runs a long statement in Postgres: an index build, or a count of all rows. While it runs,
// the attempt may take as long as the statement; before and after it StalledAfter applies.
func RunLong(ctx context.Context, fn func() error) error {
	p, ok := ctx.Value(pulseKey{}).(*pulse)
	if !ok {
		return fn()
	}
	was := p.allow(LongStatement)
	defer p.allow(was)
	return fn()
}

// allow sets how long the attempt may run without progress from now on, and returns the previous limit.
func (p *pulse) allow(limit time.Duration) (was time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, p.limit, p.moved = p.limit, limit, time.Now()
	return was
}

// heartbeatWithin is Heartbeat with a given limit.
func heartbeatWithin(ctx context.Context, limit time.Duration) (_ context.Context, stop func()) {
	if !activity.IsActivity(ctx) {
		return ctx, func() {}
	}
	p := &pulse{moved: time.Now(), limit: limit}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, pulseKey{}, p))
	pulsing := ctx
	ctx = inference.WithWaiting(ctx, func() { Advance(pulsing) }) // waiting for a turn counts as progress
	ctx = pg.WithProgress(ctx, func() { Advance(pulsing) })
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(HeartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				if limit, moves := p.report(ctx); !moves {
					activity.GetLogger(ctx).Warn("no progress: the attempt is cancelled", "for", limit.String())
					cancel(temporal.NewApplicationError("no progress for "+limit.String(), api.ErrTypeStalled))
					return
				}
			}
		}
	})
	return ctx, func() { close(done); wg.Wait(); cancel(nil) }
}

// report sends a heartbeat with the place of the attempt, unless it has made no progress for the limit.
func (p *pulse) report(ctx context.Context) (limit time.Duration, moves bool) {
	p.mu.Lock() // to the end: a newer step is never reported before an older one
	defer p.mu.Unlock()
	if time.Since(p.moved) >= p.limit {
		return p.limit, false
	}
	RecordHeartbeat(ctx, p.details...)
	return p.limit, true
}

// Advance records that the attempt has made progress. Details are the place where a later attempt continues; without
// any, the previous details stay.
func Advance(ctx context.Context, details ...any) {
	p, ok := ctx.Value(pulseKey{}).(*pulse)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = time.Now()
	if len(details) > 0 {
		p.details = details
		RecordHeartbeat(ctx, details...)
	}
}

// Stalled returns the error of an attempt whose context has ended: the cause of the cancellation, rather than an error
// that followed from it.
func Stalled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Work is the progress of an attempt over many pages. Its heartbeats carry the place where the next attempt
// continues.
type Work[T any] struct {
	mu   sync.Mutex
	ctx  context.Context
	at   T
	Stop func() // ends the heartbeats
}

// StartWork continues where the previous attempt stopped, or starts at from. The work must use the context that it
// returns.
func StartWork[T any](ctx context.Context, from T) (*Work[T], context.Context) {
	w := &Work[T]{at: from}
	if activity.IsActivity(ctx) && activity.HasHeartbeatDetails(ctx) {
		var left T
		if err := activity.GetHeartbeatDetails(ctx, &left); err == nil {
			w.at = left
		}
	}
	w.ctx, w.Stop = Heartbeat(ctx)
	if p, ok := w.ctx.Value(pulseKey{}).(*pulse); ok {
		p.mu.Lock()
		p.details = []any{w.at} // an attempt without progress must not lose the place
		p.mu.Unlock()
	}
	return w, w.ctx
}

// SoFar returns the last recorded place.
func (w *Work[T]) SoFar() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// Note records the place after a finished step.
func (w *Work[T]) Note(at T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
	Advance(w.ctx, at)
}
