package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/sweeping"
)

// Sweeping removes memories that have faded, and data whose retention window is over.
type Sweeping struct {
	Store *store.Store
	Share float64 // a run that would remove more than this share of a tenant asks first; 0: lifecycle.SweepShare
	Batch int     // limit of rows in one transaction; 0: sweeping.SweepBatchSize
	// StartReview starts the review of a batch, unless it is running. If it is nil, lost reviews are not started again.
	StartReview func(ctx context.Context, c client.Client, taskQueue, tenant, batchID string) error
	Now         func() time.Time
}

func (a *Sweeping) share() float64 {
	if a.Share == 0 {
		return lifecycle.SweepShare
	}
	return a.Share
}

// SweepRequest is a request for up to MaxBatches batches of a run, starting at a cursor.
type SweepRequest struct {
	Run        string          `json:"run"`              // the run that the counts belong to
	At         time.Time       `json:"at"`               // when the run began; later due times are for the next run
	Tenant     string          `json:"tenant,omitempty"` // only this tenant
	Cursor     api.SweepCursor `json:"cursor"`
	MaxBatches int             `json:"max_batches"`
	// BatchSize is the limit of rows in one transaction. It cannot raise the worker's limit (Sweeping.Batch). 0: that
	// limit.
	BatchSize int `json:"batch_size,omitempty"`
}

// sweepFor is how long one activity runs. A cancelled run ends within this time.
const sweepFor = 5 * time.Second

// sweepTries is how many attempts may begin at one place of a tenant and get no further. Then the tenant is passed by.
const sweepTries = 5

// sweepFull is how many attempts may fail at one place of a tenant because the server lacks disk space or memory. Then
// the tenant is passed by: it may be its own statement that needs too much. It is less than the attempts that a run has
// (flow.InfrastructureAttempts).
const sweepFull = 20

var errStuck = fmt.Errorf("%d attempts got no further", sweepTries)

// tenantPage is how many tenants one query lists.
const tenantPage = 100

// listing lists the tenants whose names follow after. batching runs one batch of a tenant, with a limit of rows, and
// reports whether there are more.
type (
	listing  func(ctx context.Context, after string) ([]string, error)
	batching func(ctx context.Context, tenant string, at *api.SweepResult, limit int) (more bool, err error)
)

// sweep visits the tenants in order and runs the batches of each. It stops after MaxBatches, after sweepFor, and
// between two batches when it is cancelled. Committed batches stay, and the heartbeat holds the cursor. If a tenant
// fails and Postgres is available, sweep records the failure and continues with the next tenant. It does the same if
// several attempts began at one place, while Postgres answered, and got no further: then the tenant's statement does
// not end, or it ends the connection or the worker.
func (a *Sweeping) sweep(
	ctx context.Context,
	in SweepRequest,
	kind schema.Sweep,
	tenants listing,
	batch batching,
) (api.SweepResult, error) {
	if in.BatchSize < 0 {
		return api.SweepResult{}, step.Fail(&schema.ValidationError{
			Fields: []schema.FieldError{{Field: "batch_size", Problem: "must not be negative"}}})
	}
	if a.Now == nil { // if Temporal's or the worker's clock is ahead, too much would be due
		if err := a.Store.CheckClock(ctx, in.At, time.Now()); err != nil {
			return api.SweepResult{}, step.Fail(err)
		}
	}
	work, ctx := step.StartWork(ctx, api.SweepResult{Counts: map[string]int{}, Cursor: in.Cursor})
	defer work.Stop()
	run := &sweepRun{Sweeping: a, in: in, kind: kind, tenants: tenants, batch: batch, work: work, out: work.SoFar()}
	if err := a.Store.Ping(ctx); err != nil { // an outage says nothing of the tenant
		return run.out, step.Fail(step.Stalled(ctx, err))
	}
	run.startCarefully()
	began := time.Now()
	for {
		if done, err := run.step(ctx); err != nil || done {
			run.out.Done = done
			return run.out, err
		}
		last := run.endStep()
		if ctx.Err() != nil {
			return run.out, context.Cause(ctx)
		}
		if last || run.out.Batches >= in.MaxBatches || time.Since(began) >= sweepFor {
			return run.out, nil
		}
	}
}

// sweepRun is the state of one call of sweep. Each step begins a tenant or runs one batch of it.
type sweepRun struct {
	*Sweeping
	in      SweepRequest
	kind    schema.Sweep
	tenants listing
	batch   batching
	work    *step.Work[api.SweepResult]
	out     api.SweepResult

	queue   []string // the listed tenants that come next
	stuck   bool     // earlier attempts got no further than here: the first step passes the tenant by
	counted bool     // this attempt is in out.Cursor.Tries
	// careful counts the next tenants that get an activity each, because an attempt failed.
	careful int
}

// startCarefully reads from the cursor what happened to earlier attempts. A worker that crashes may report only where
// its attempt began, and nothing of its progress. After a failure, each activity therefore visits one tenant, until the
// tenant that fails is passed by, or as many are visited as the failed attempt can have visited.
func (r *sweepRun) startCarefully() {
	if r.out.Counts == nil {
		r.out.Counts = map[string]int{}
	}
	r.stuck, r.careful = r.out.Cursor.Tries >= sweepTries, r.out.Cursor.Careful
	if r.out.Cursor.Tries > 0 {
		r.careful = r.in.MaxBatches
	}
}

// step runs a batch of the current tenant, or begins the next one. It reports whether no tenant is left.
func (r *sweepRun) step(ctx context.Context) (done bool, err error) {
	if r.out.Cursor.Tenant != "" {
		return false, r.runBatch(ctx)
	}
	tenant, found, err := r.nextTenant(ctx)
	if err != nil || !found {
		return err == nil, err
	}
	return false, r.beginTenant(ctx, tenant)
}

// nextTenant takes the next tenant from the queue, which it fills first if it is empty.
func (r *sweepRun) nextTenant(ctx context.Context) (tenant string, found bool, err error) {
	if len(r.queue) == 0 {
		if r.queue, err = r.tenants(ctx, r.out.Cursor.After); err != nil {
			return "", false, step.Fail(step.Stalled(ctx, err))
		}
		if len(r.queue) == 0 {
			return "", false, nil
		}
	}
	tenant, r.queue = r.queue[0], r.queue[1:]
	return tenant, true, nil
}

// beginTenant moves the cursor to a tenant, or past it if it has no work.
func (r *sweepRun) beginTenant(ctx context.Context, tenant string) error {
	r.countAttempt()
	var begun sweeping.SweepStart
	err := errStuck
	if !r.stuck {
		err = step.RunLong(ctx, func() (err error) { // it counts the tenant's rows
			begun, err = r.Store.BeginSweep(ctx, tenant, r.kind, r.share(), r.in.At)
			return err
		})
	}
	r.out.Tenants++
	if err != nil {
		return r.passBy(ctx, tenant, err)
	}
	if held := begun.Held; held != nil {
		activity.GetLogger(ctx).Warn("a sweep would remove too much and waits for an answer",
			"sweep", held.Sweep, "would_take", held.WouldTake, "stored", held.Stored)
	}
	r.out.Cursor = api.SweepCursor{After: r.out.Cursor.After, Tenant: tenant, Rules: begun.Rules,
		Held: begun.Held != nil}
	if !begun.Ahead {
		leave(&r.out)
	}
	return nil
}

// runBatch runs one batch of the current tenant. After a timeout, or if disk space or memory is lacking, the next batch
// has half the rows.
func (r *sweepRun) runBatch(ctx context.Context) error {
	limit := cmp.Or(r.out.Cursor.Limit, r.limit(r.in))
	r.countAttempt()
	more, err := false, errStuck
	if !r.stuck {
		more, err = r.batch(ctx, r.out.Cursor.Tenant, &r.out, limit)
	}
	switch {
	case (pg.IsTimeout(err) || pg.IsFull(err)) && limit > 1 && ctx.Err() == nil:
		r.out.Cursor.Limit = limit / 2
		activity.GetLogger(ctx).Warn("a statement needed too much: the next batch has fewer rows", "sweep",
			r.kind, "rows", limit/2, "error", err)
	case errors.Is(err, sweeping.ErrRulesChanged): // the new rules may remove too much: begin the tenant again
		r.queue = append([]string{r.out.Cursor.Tenant}, r.queue...)
		r.out.Tenants--
		r.out.Cursor = api.SweepCursor{After: r.out.Cursor.After}
	case err != nil:
		return r.passBy(ctx, r.out.Cursor.Tenant, err)
	case !more:
		leave(&r.out)
	default:
		r.out.Cursor.Full = 0
	}
	return nil
}

// endStep records the progress after a step. It reports whether the activity ends after this tenant.
func (r *sweepRun) endStep() (last bool) {
	last = r.out.Cursor.Tenant == "" && r.careful > 0
	if last {
		r.careful--
	}
	r.stuck, r.out.Cursor.Tries, r.out.Cursor.Careful = false, 0, r.careful
	r.out.Batches++ // a tenant without work also costs a transaction
	r.work.Note(clone(r.out))
	return last
}

// countAttempt counts this attempt at the place where it begins, once. A failure before it says nothing of the tenant.
func (r *sweepRun) countAttempt() {
	if r.counted {
		return
	}
	r.counted = true
	r.out.Cursor.Tries++
	r.out.Cursor.Careful = r.careful
	r.work.Note(clone(r.out))
}

// passBy records that a tenant cannot be swept and moves the cursor past it. It returns an error if a retry can help.
func (r *sweepRun) passBy(ctx context.Context, tenant string, err error) error {
	full := pg.IsFull(err) && r.out.Cursor.Full+1 >= sweepFull
	if ctx.Err() != nil || pg.IsUnavailable(err) && !full {
		return r.fail(ctx, err)
	}
	activity.GetLogger(ctx).Error("a tenant could not be swept", "sweep", r.kind, "tenant", tenant, "error", err)
	r.out.Counts["failed"]++
	r.out.Failed = api.AppendNamed(r.out.Failed, tenant)
	r.out.Cursor = api.SweepCursor{After: tenant}
	r.careful = 0
	return nil
}

// fail returns the error of an attempt that another one can repeat.
func (r *sweepRun) fail(ctx context.Context, err error) error {
	if pg.IsExhausted(err) { // it says little of the tenant
		at := r.work.SoFar()
		at.Cursor.Tries = max(0, at.Cursor.Tries-1)
		if pg.IsFull(err) {
			at.Cursor.Full++
		}
		r.work.Note(at)
	}
	return step.Fail(step.Stalled(ctx, err))
}

// leave moves the cursor past a tenant that is finished. A held tenant is counted here, because a tenant that is
// begun again may be held more than once.
func leave(r *api.SweepResult) {
	if r.Cursor.Held {
		r.Counts["held"]++
		r.Held = api.AppendNamed(r.Held, r.Cursor.Tenant)
	}
	r.Cursor = api.SweepCursor{After: r.Cursor.Tenant}
}

// clone returns a copy that does not share memory with r.
func clone(r api.SweepResult) api.SweepResult {
	r.Counts, r.Held, r.Failed = maps.Clone(r.Counts), append([]string(nil), r.Held...), append([]string(nil),
		r.Failed...)
	return r
}

// limit is how many rows one transaction of a run may touch.
func (a *Sweeping) limit(in SweepRequest) int {
	most := sweeping.SweepBatchSize
	if a.Batch > 0 {
		most = min(most, a.Batch)
	}
	if in.BatchSize > 0 {
		most = min(most, in.BatchSize)
	}
	return most
}

// times returns the worker's clock, and the time by which a run decides what is due: the earlier of the run's start,
// which comes from Temporal's clock, and the worker's clock. The earlier one removes less.
func (a *Sweeping) times(in SweepRequest) (clock, by time.Time) {
	clock = step.Now(a.Now)
	if clock.Before(in.At) {
		return clock, clock
	}
	return clock, in.At
}

// only lists one tenant, once.
func only(tenant string) listing {
	return func(_ context.Context, after string) ([]string, error) {
		if after == tenant {
			return nil, nil
		}
		return []string{tenant}, nil
	}
}

// SweepDecay removes or archives memories that were due when the run began (sweeping.DecayBatch).
func (a *Sweeping) SweepDecay(ctx context.Context, in SweepRequest) (api.SweepResult, error) {
	tenants := only(in.Tenant)
	if in.Tenant == "" {
		tenants = func(ctx context.Context, after string) ([]string, error) {
			return a.Store.DecayTenants(ctx, after, tenantPage, in.At)
		}
	}
	batch := func(ctx context.Context, tenant string, out *api.SweepResult, limit int) (bool, error) {
		clock, by := a.times(in)
		done, err := a.Store.DecayBatch(ctx, sweeping.DecayInput{Tenant: tenant, Run: in.Run, Rules: out.Cursor.Rules,
			After: out.Cursor.Due, Until: by, Limit: limit, Now: clock})
		if err != nil {
			return false, err
		}
		out.Counts["pruned"] += done.Pruned
		out.Counts["archived"] += done.Archived
		out.Counts["kept"] += done.Kept
		out.Counts["not_due"] += done.NotDue
		out.Cursor.Due = done.Next
		return done.More, nil
	}
	return a.sweep(ctx, in, schema.SweepDecay, tenants, batch)
}

// PurgeExpired runs the steps of a purge for each tenant (sweeping.Purge). The first steps mark a batch of expired
// memories and remove them, and repeat until none is left. The other steps, from history on, follow once. A purge of
// all tenants also creates the ledger's partitions of the next months, and drops expired partitions that are empty.
func (a *Sweeping) PurgeExpired(ctx context.Context, in SweepRequest) (api.SweepResult, error) {
	tenants := only(in.Tenant)
	if in.Tenant == "" {
		clock, by := a.times(in)
		if _, _, err := a.Store.KeepPartitions(ctx, clock, by); err != nil {
			return api.SweepResult{}, step.Fail(err)
		}
	}
	if in.Tenant == "" {
		tenants = func(ctx context.Context, after string) ([]string, error) {
			return a.Store.Tenants(ctx, after, tenantPage)
		}
	}
	batch := func(ctx context.Context, tenant string, out *api.SweepResult, limit int) (bool, error) {
		at := &out.Cursor
		if at.Step == "" {
			at.Step = lifecycle.PurgeSteps[0]
		}
		// A newer worker stored a step that this one does not know; a newer worker will run the rest.
		if !slices.Contains(lifecycle.PurgeSteps, at.Step) {
			at.Step = ""
			return false, nil
		}
		clock, by := a.times(in)
		after := &at.History
		if at.Step == lifecycle.PurgeExpire {
			after = &at.Expired
		}
		done, err := a.Store.Purge(ctx, sweeping.PurgeInput{Tenant: tenant, Run: in.Run, Rules: at.Rules,
			Step: at.Step, After: *after,
			Limit: limit, At: by, Now: clock})
		if err != nil {
			return false, err
		}
		for name, n := range done.Counts {
			out.Counts[name] += n
		}
		*after = done.Next
		next, last := lifecycle.NextPurgeStep(at.Step)
		switch {
		case at.Step == lifecycle.PurgeExpire:
			if at.More = done.More; done.More && done.Removed == 0 {
				return true, nil // nothing on this page is purged
			}
			// Remove the marked memories before the next batch is marked, so that later steps never scan many rows.
		case done.More:
			return true, nil
		case at.Step == lifecycle.PurgeTombstones:
			if at.More {
				next = lifecycle.PurgeExpire
			} else if err := a.Store.SweepPurgedLexemes(ctx, tenant, clock); err != nil {
				return false, err
			}
		}
		if next == lifecycle.PurgeIngest { // once for a tenant: that step takes many batches
			if err := a.startReviews(ctx, tenant, by.Add(-reviewGrace)); err != nil {
				return false, err
			}
		}
		at.Step = next
		return !last, nil
	}
	return a.sweep(ctx, in, schema.SweepRetention, tenants, batch)
}

const (
	// reviewGrace is how long a proposal may wait without a review, or after its review should have ended it. A running
	// ingest starts its review at its end.
	reviewGrace = time.Hour
	// reviewsStarted is the number of reviews that one purge starts again for a tenant. The next purge starts more.
	reviewsStarted = 100
)

// startReviews starts the reviews of batches whose proposals wait without one: the run was terminated, or the ingest
// ended before it started one. Otherwise these proposals would never expire, and their batches would never be purged.
// A review that cannot be started is left to the next purge.
func (a *Sweeping) startReviews(ctx context.Context, tenant string, before time.Time) error {
	if a.StartReview == nil {
		return nil
	}
	batches, err := a.Store.LateReviews(ctx, tenant, before, reviewsStarted)
	if err != nil {
		return err
	}
	for _, batch := range batches {
		if err := a.StartReview(ctx, activity.GetClient(ctx), activity.GetInfo(ctx).TaskQueue, tenant,
			batch.String()); err != nil {
			activity.GetLogger(ctx).Warn("review not started", "error", err)
			return nil
		}
		step.Advance(ctx)
	}
	return nil
}
