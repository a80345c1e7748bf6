package activities

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/sweeping"
)

// Sweeping takes away what has faded, and what was kept for as long as it is to be.
type Sweeping struct {
	Store *store.Store
	Share float64 // of a tenant's memories that one run may take without being asked for; 0: lifecycle.SweepShare
	Batch int     // rows that one transaction touches where the run does not ask for fewer; 0: sweeping.SweepBatchSize
	Now   func() time.Time
}

func (a *Sweeping) share() float64 {
	if a.Share == 0 {
		return lifecycle.SweepShare
	}
	return a.Share
}

// SweepRequest asks for a number of batches of a run, from a cursor on.
type SweepRequest struct {
	Run        string          `json:"run"`              // whose counts are kept
	At         time.Time       `json:"at"`               // when the run began: what falls due later is for the next run
	Tenant     string          `json:"tenant,omitempty"` // this one alone
	Cursor     api.SweepCursor `json:"cursor"`
	MaxBatches int             `json:"max_batches"`
	// rows; 0: the worker's (Sweeping.Batch), which is the most
	BatchSize int `json:"batch_size,omitempty"`
}

// sweepFor is how long one activity goes on: a run that is cancelled ends after it at the latest.
const sweepFor = 5 * time.Second

// tenantPage is how many tenants are asked for at once.
const tenantPage = 100

// listing lists tenants after one; batching takes one batch of a tenant, with a limit of rows, and says whether
// there are more.
type (
	listing  func(ctx context.Context, after string) ([]string, error)
	batching func(ctx context.Context, tenant string, at *api.SweepResult, limit int) (more bool, err error)
)

// sweep goes through tenants, begins each and runs its batches until they have no more. It stops after
// MaxBatches, after sweepFor, and between two batches when it is cancelled; what is committed by then stays,
// and the heartbeat has the place. A tenant that fails, and Postgres is there, is noted and passed by: it does
// not keep the others from being swept.
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
	if a.Now == nil { // by a clock that is ahead, Temporal's or the worker's, everything is over
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
			var begun sweeping.SweepStart
			err := step.RunLong(ctx, func() (err error) { // it counts what is stored
				begun, err = a.Store.BeginSweep(ctx, tenant, kind, a.share(), in.At)
				return err
			})
			out.Tenants++
			switch {
			case err != nil && a.passBy(ctx, kind, tenant, err, &out):
			case err != nil:
				return out, step.Fail(step.Stalled(ctx, err))
			default:
				if held := begun.Held; held != nil {
					activity.GetLogger(ctx).Warn("a sweep would take too much, and waits for an answer",
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
			more, err := batch(ctx, out.Cursor.Tenant, &out, limit)
			if pg.IsTimeout(err) && limit > 1 && ctx.Err() == nil {
				out.Cursor.Limit = limit / 2
				activity.GetLogger(ctx).Warn("a statement met its limit: fewer rows at once", "sweep",
					kind, "rows", limit/2, "error", err)
				more, err = true, nil
			}
			if errors.Is(err, sweeping.ErrRulesChanged) { // no one was asked whether it may take what these take
				queue = append([]string{out.Cursor.Tenant}, queue...)
				out.Tenants--
				out.Cursor = api.SweepCursor{After: out.Cursor.After}
				more, err = true, nil
			}
			if err != nil && !a.passBy(ctx, kind, out.Cursor.Tenant, err, &out) {
				return out, step.Fail(step.Stalled(ctx, err))
			}
			if err == nil && !more {
				leave(&out)
			}
		}
		out.Batches++ // a tenant without work costs a transaction as well
		work.Note(clone(out))
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if out.Batches >= in.MaxBatches || time.Since(began) >= sweepFor {
			return out, nil
		}
	}
}

// leave goes on after a tenant that is done with. It is counted as held here, once: one that is begun again may be
// held, or not, more than once.
func leave(r *api.SweepResult) {
	if r.Cursor.Held {
		r.Counts["held"]++
		r.Held = api.Named(r.Held, r.Cursor.Tenant)
	}
	r.Cursor = api.SweepCursor{After: r.Cursor.Tenant}
}

// passBy notes a tenant that cannot be swept and goes on after it, unless trying again can help.
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

// clone is a copy that a later change of the result does not reach.
func clone(r api.SweepResult) api.SweepResult {
	r.Counts, r.Held, r.Failed = maps.Clone(r.Counts), append([]string(nil), r.Held...), append([]string(nil),
		r.Failed...)
	return r
}

// limit is how many rows one transaction of a run touches.
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

// times returns the clock, and the time by which a run judges: its own, which is Temporal's, or the clock where
// that is slow. Of two clocks, the one that takes less decides.
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

// SweepDecay takes away what has fallen due by the run's time (sweeping.DecayBatch).
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

// PurgeExpired takes each tenant through the steps of a purge, in their order (sweeping.Purge): a batch of what is
// over through those that take it away, then the next, and after the last one history and the others. A purge of all
// tenants also makes the ledger's partitions of the next months, and drops those that are empty and over.
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
		// a newer worker's, which had come so far: the rest is for its like
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
			// What is marked goes first: so later steps never scan many rows.
		case done.More:
			return true, nil
		case at.Step == lifecycle.PurgeTombstones:
			if at.More {
				next = lifecycle.PurgeExpire
			} else if err := a.Store.SweepPurgedLexemes(ctx, tenant, clock); err != nil {
				return false, err
			}
		}
		at.Step = next
		return !last, nil
	}
	return a.sweep(ctx, in, schema.SweepRetention, tenants, batch)
}
