package activities

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

// MaxStall is how long an attempt may go on without progress before it is cancelled. One call to a model must end sooner.
const MaxStall = 150 * time.Second

// heartbeatEvery is how often work in progress reports, and recordHeartbeat how; stalledAfter is how long an attempt may
// go on without progress. Tests replace them.
//
// What counts as progress: an item that is done, a page, a transaction of the store that ended well, a batch of texts
// that is embedded, a turn that is waited for at the gate of models. What does not: a statement or a call under way.
//
// A heartbeat says two things: the worker lives, and its attempt has made progress within stalledAfter. The first is
// said often, so that a dead worker is noticed within the heartbeat timeout. An attempt that makes no progress says
// neither: it is cancelled here, and the server gives it up.
var (
	heartbeatEvery  = 5 * time.Second
	stalledAfter    = MaxStall
	recordHeartbeat = func(ctx context.Context, details ...any) { activity.RecordHeartbeat(ctx, details...) }
	// longStatement is how long one statement of the class long may take: Postgres ends it a little sooner.
	longStatement = pg.ClassLimits[pg.ClassLong].Statement + stalledAfter
)

// pulse knows when an attempt last made progress, and how far it has come.
type pulse struct {
	mu      sync.Mutex
	moved   time.Time
	limit   time.Duration // that it may go on without progress
	details []any
}

type pulseKey struct{}

// heartbeat reports progress from now until stop is called. The context that it returns is cancelled when advance has not
// been called for stalledAfter.
func heartbeat(ctx context.Context) (_ context.Context, stop func()) {
	return beatFor(ctx, stalledAfter)
}

// beatPatiently is heartbeat for an attempt whose every statement may be a long one.
func beatPatiently(ctx context.Context) (_ context.Context, stop func()) {
	return beatFor(ctx, longStatement)
}

// patiently runs fn, which asks Postgres for a long statement: an index build, a count of all that is stored. While it
// runs, an attempt has as long as the statement; before and after, stalledAfter.
func patiently(ctx context.Context, fn func() error) error {
	p, ok := ctx.Value(pulseKey{}).(*pulse)
	if !ok {
		return fn()
	}
	was := p.allow(longStatement)
	defer p.allow(was)
	return fn()
}

// allow sets how long the attempt may go on without progress from now, and returns what it was before.
func (p *pulse) allow(limit time.Duration) (was time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, p.limit, p.moved = p.limit, limit, time.Now()
	return was
}

func beatFor(ctx context.Context, limit time.Duration) (_ context.Context, stop func()) {
	if !activity.IsActivity(ctx) {
		return ctx, func() {}
	}
	p := &pulse{moved: time.Now(), limit: limit}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, pulseKey{}, p))
	pulsing := ctx
	ctx = inference.WithWaiting(ctx, func() { advance(pulsing) }) // to wait for one's turn is no standstill
	ctx = pg.WithProgress(ctx, func() { advance(pulsing) })
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(heartbeatEvery)
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

// report sends a heartbeat, with how far the attempt has come, unless it has made no progress for the limit.
func (p *pulse) report(ctx context.Context) (limit time.Duration, moves bool) {
	p.mu.Lock() // to the end: a newer step is never reported before an older one
	defer p.mu.Unlock()
	if time.Since(p.moved) >= p.limit {
		return p.limit, false
	}
	recordHeartbeat(ctx, p.details...)
	return p.limit, true
}

// advance notes that the attempt has made progress. Details are where a later attempt goes on; without any, those of
// before stay.
func advance(ctx context.Context, details ...any) {
	p, ok := ctx.Value(pulseKey{}).(*pulse)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = time.Now()
	if len(details) > 0 {
		p.details = details
		recordHeartbeat(ctx, details...)
	}
}

// stalled is the error of an attempt whose context has ended: why it was cancelled, rather than what failed because
// of that.
func stalled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// work is how far an attempt has come over many pages. Its heartbeats carry the place, and an attempt after takes it
// up.
type work[T any] struct {
	mu   sync.Mutex
	ctx  context.Context
	at   T
	stop func()
}

// startWork begins where the attempt before left off, or at from. The work is done under the context that it returns.
func startWork[T any](ctx context.Context, from T) (*work[T], context.Context) {
	w := &work[T]{at: from}
	if activity.IsActivity(ctx) && activity.HasHeartbeatDetails(ctx) {
		var left T
		if err := activity.GetHeartbeatDetails(ctx, &left); err == nil {
			w.at = left
		}
	}
	w.ctx, w.stop = heartbeat(ctx)
	if p, ok := w.ctx.Value(pulseKey{}).(*pulse); ok {
		p.mu.Lock()
		p.details = []any{w.at} // an attempt that does not come far must not lose the place
		p.mu.Unlock()
	}
	return w, w.ctx
}

func (w *work[T]) sofar() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// note records a step that is done.
func (w *work[T]) note(at T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
	advance(w.ctx, at)
}
