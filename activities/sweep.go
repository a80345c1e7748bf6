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
	out := work.SoFar()
	if out.Counts == nil {
		out.Counts = map[string]int{}
	}
	if err := a.Store.Ping(ctx); err != nil { // an outage says nothing of the tenant
		return out, step.Fail(step.Stalled(ctx, err))
	}
	// A worker that crashes may report only where its attempt began, and nothing of its progress. After a failure, each
	// activity therefore visits one tenant, until the tenant that fails is passed by, or as many are visited as the
	// failed attempt can have visited.
	stuck, careful := out.Cursor.Tries >= sweepTries, out.Cursor.Careful
	if out.Cursor.Tries > 0 {
		careful = in.MaxBatches
	}
	counted := false
	count := func() { // a failure before it says nothing of the tenant
		if !counted {
			counted = true
			out.Cursor.Tries++
			out.Cursor.Careful = careful
			work.Note(clone(out))
		}
	}
	fail := func(err error) (api.SweepResult, error) {
		if pg.IsExhausted(err) { // it says nothing of the tenant
			at := work.SoFar()
			at.Cursor.Tries = max(0, at.Cursor.Tries-1)
			work.Note(at)
		}
		return out, step.Fail(step.Stalled(ctx, err))
	}
	began := time.Now()
	var queue []string
	for {
		if out.Cursor.Tenant == "" {
			if len(queue) == 0 {
				var err error
				if queue, err = tenants(ctx, out.Cursor.After); err != nil {
					return out, step.Fail(step.Stalled(ctx, err))
				}
				if len(queue) == 0 {
					out.Done = true
					return out, nil
				}
			}
			tenant := queue[0]
			queue = queue[1:]
			count()
			var begun sweeping.SweepStart
			err := errStuck
			if !stuck {
				err = step.RunLong(ctx, func() (err error) { // it counts the tenant's rows
					begun, err = a.Store.BeginSweep(ctx, tenant, kind, a.share(), in.At)
					return err
				})
			}
			out.Tenants++
			switch {
			case err != nil && a.passBy(ctx, kind, tenant, err, &out):
				careful = 0
			case err != nil:
				return fail(err)
			default:
				if held := begun.Held; held != nil {
					activity.GetLogger(ctx).Warn("a sweep would remove too much and waits for an answer",
						"sweep", held.Sweep, "would_take", held.WouldTake, "stored", held.Stored)
				}
				out.Cursor = api.SweepCursor{After: out.Cursor.After, Tenant: tenant, Rules: begun.Rules,
					Held: begun.Held != nil}
				if !begun.Ahead {
					leave(&out)
				}
			}
		} else {
			limit := cmp.Or(out.Cursor.Limit, a.limit(in))
			count()
			more, err := false, errStuck
			if !stuck {
				more, err = batch(ctx, out.Cursor.Tenant, &out, limit)
			}
			if pg.IsTimeout(err) && limit > 1 && ctx.Err() == nil {
				out.Cursor.Limit = limit / 2
				activity.GetLogger(ctx).Warn("a statement timed out: the next batch has fewer rows", "sweep",
					kind, "rows", limit/2, "error", err)
				more, err = true, nil
			}
			if errors.Is(err, sweeping.ErrRulesChanged) { // the new rules may remove too much: begin the tenant again
				queue = append([]string{out.Cursor.Tenant}, queue...)
				out.Tenants--
				out.Cursor = api.SweepCursor{After: out.Cursor.After}
				more, err = true, nil
			}
			switch {
			case err != nil && a.passBy(ctx, kind, out.Cursor.Tenant, err, &out):
				careful = 0
			case err != nil:
				return fail(err)
			case !more:
				leave(&out)
			}
		}
		left := out.Cursor.Tenant == "" && careful > 0
		if left {
			careful--
		}
		stuck, out.Cursor.Tries, out.Cursor.Careful = false, 0, careful
		out.Batches++ // a tenant without work also costs a transaction
		work.Note(clone(out))
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if out.Batches >= in.MaxBatches || time.Since(began) >= sweepFor || left {
			return out, nil
		}
	}
}

// leave moves the cursor past a tenant that is finished. A held tenant is counted here, because a tenant that is
// begun again may be held more than once.
func leave(r *api.SweepResult) {
	if r.Cursor.Held {
		r.Counts["held"]++
		r.Held = api.Named(r.Held, r.Cursor.Tenant)
	}
	r.Cursor = api.SweepCursor{After: r.Cursor.Tenant}
}

// passBy records that a tenant cannot be swept and moves the cursor past it. It returns false if a retry can help.
func (a *Sweeping) passBy(ctx context.Context, kind schema.Sweep, tenant string, err error, out *api.SweepResult) bool {
	if ctx.Err() != nil || pg.IsUnavailable(err) {
		return false
	}
	activity.GetLogger(ctx).Error("a tenant could not be swept", "sweep", kind, "tenant", tenant, "error", err)
	out.Counts["failed"]++
	out.Failed = api.Named(out.Failed, tenant)
	out.Cursor = api.SweepCursor{After: tenant}
	return true
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
			return a.Store.SweepTenants(ctx, after, tenantPage)
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
