package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// saveEvery is how many results are stored together. It is small, so that a crash repeats few model calls, and large
// enough that commits do not slow down the rules.
const (
	saveEvery = 100
	saveAfter = 2 * time.Second
)

// outcomes collects the results and failures of the items of one activity run, and stores results in groups.
type outcomes[T any] struct {
	store  *store.Store
	tenant string
	clock  func() time.Time
	save   func(context.Context, []T) error

	probe func(context.Context) error // sends the model a fixed text

	mu       sync.Mutex
	answers  bool // the model has answered in this run
	pending  []T
	savedAt  time.Time
	failures []pipeline.Failure
	waiting  int           // items for which the endpoint was only busy or away
	wait     time.Duration // the longest wait that an endpoint asked for
	why      string        // the reason for the last wait
}

func newOutcomes[T any](
	s *store.Store,
	tenant string,
	clock func() time.Time,
	probe func(context.Context) error,
	save func(context.Context, []T) error,
) *outcomes[T] {
	return &outcomes[T]{store: s, tenant: tenant, clock: clock, probe: probe, save: save, savedAt: time.Now()}
}

// answered records that the model has answered.
func (o *outcomes[T]) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers = true
}

// done adds a result, and stores the group when it is due.
func (o *outcomes[T]) done(ctx context.Context, result T) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending = append(o.pending, result)
	if len(o.pending) >= saveEvery || time.Since(o.savedAt) > saveAfter {
		return o.flush(ctx)
	}
	return nil
}

func (o *outcomes[T]) flush(ctx context.Context) error {
	if len(o.pending) == 0 {
		return nil
	}
	err := o.keep(ctx, o.pending)
	o.pending, o.savedAt = nil, time.Now()
	return err
}

// keep stores results. If a statement with all of them times out, it stores them in halves, because a model may have
// charged for them.
func (o *outcomes[T]) keep(ctx context.Context, results []T) error {
	err := o.save(ctx, results)
	if pg.IsTimeout(err) && len(results) > 1 && ctx.Err() == nil {
		step.Advance(ctx) // progress: the next statement asks for less
		half := len(results) / 2
		if err = o.keep(ctx, results[:half]); err == nil {
			err = o.keep(ctx, results[half:])
		}
		return err
	}
	if err == nil {
		step.Advance(ctx)
	}
	return err
}

// failed records an item whose model call failed. It is not the item's failure if the activity itself is being
// stopped, or if the endpoint is unavailable. If the endpoint has not answered in this run, failed sends it a fixed
// text, and the item is at fault only if that is answered. If such failures counted as attempts, an outage of seconds
// would kill every job that it affects.
func (o *outcomes[T]) failed(
	ctx context.Context,
	candidate uuid.UUID,
	phase string,
	err error,
	usage inference.Usage,
) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	wait, away, permanent, reason := step.Classify(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !away && !permanent && !o.answers && ctx.Err() == nil {
		if probeErr := o.probe(ctx); probeErr != nil && !inference.IsPermanent(probeErr) {
			away = true
			wait, _, _, reason = step.Classify(probeErr)
		} else {
			o.answers = true
		}
	}
	if ctx.Err() != nil { // stopped during the probe
		return context.Cause(ctx)
	}
	o.wait = max(o.wait, wait)
	if away {
		o.waiting++
		o.why = reason
		return errAway
	}
	o.failures = append(o.failures, pipeline.Failure{CandidateID: candidate, Phase: phase,
		Reason: reason, Permanent: permanent, Usage: usage})
	return nil
}

// errAway ends a run over a range: if an endpoint is busy or unavailable, the remaining items are not sent to it.
var errAway = errors.New("the model endpoint is busy or away")

// close stores the remaining results and records the failures. It returns an error if some items must be retried.
func (o *outcomes[T]) close(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.flush(ctx); err != nil {
		return step.Fail(err)
	}
	retryable := 0
	if len(o.failures) > 0 {
		var err error
		retryable, err = o.store.FailJobs(ctx, o.tenant, o.failures, step.Now(o.clock))
		if err != nil {
			return step.Fail(err)
		}
	}
	if activity.IsActivity(ctx) {
		attempt := activity.GetInfo(ctx).Attempt
		switch {
		case o.wait > 0:
		case o.waiting > 0:
			o.wait = step.RetryWait(attempt)
		default:
			o.wait = lifecycle.RetryBackoff(int(attempt))
		}
		o.wait = min(o.wait, step.MaxRetryAfter) + lifecycle.RetryJitter(int(attempt), step.RetryKey(ctx))
	}
	if retryable+o.waiting > 0 {
		return step.PendingError(retryable+o.waiting, o.wait, o.why)
	}
	return nil
}
