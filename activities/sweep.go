package activities

import (
	"context"
	"maps"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Sweeping takes away what has faded, and what was kept for as long as it is to be.
type Sweeping struct {
	Store *store.Store
	Share float64 // of a tenant's memories that one run may take without being asked for; 0: memory.SweepShare
	Now   func() time.Time
}

func (a *Sweeping) share() float64 {
	if a.Share == 0 {
		return memory.SweepShare
	}
	return a.Share
}

// SweepCursor is how far a run has come. Tenants are gone through by name.
type SweepCursor struct {
	After  string `json:"after,omitempty"`  // the last tenant that is done with
	Tenant string `json:"tenant,omitempty"` // the one that is being swept
	Allow  int64  `json:"allow,omitempty"`  // how much more may go of it

	Due  store.DueCursor  `json:"due,omitzero"`   // of a decay sweep
	Step memory.PurgeStep `json:"step,omitempty"` // of a purge
}

// SweepRequest asks for so many batches of a run, from a cursor on.
type SweepRequest struct {
	Run        string      `json:"run"`              // of which counts are kept
	At         time.Time   `json:"at"`               // when the run began: what falls due behind it is the next one's
	Tenant     string      `json:"tenant,omitempty"` // this one alone
	Cursor     SweepCursor `json:"cursor"`
	MaxBatches int         `json:"max_batches"`
	BatchSize  int         `json:"batch_size,omitempty"` // rows; 0: store.SweepBatchSize, which is the most
}

// SweepResult is what a run has done so far, and where it goes on.
type SweepResult struct {
	Tenants int            `json:"tenants"` // that were looked at
	Counts  map[string]int `json:"counts"`  // by what was done
	Held    []string       `json:"held,omitempty"`
	Batches int            `json:"batches"`
	Cursor  SweepCursor    `json:"cursor"`
	Done    bool           `json:"done"`
}

// maxHeld is how many held tenants a result names; Postgres has all of them.
const maxHeld = 20

// Add returns the sum of two results, with the place of the later one.
func (r SweepResult) Add(o SweepResult) SweepResult {
	sum := SweepResult{Tenants: r.Tenants + o.Tenants, Counts: maps.Clone(r.Counts), Batches: r.Batches + o.Batches, Cursor: o.Cursor, Done: o.Done}
	if sum.Counts == nil {
		sum.Counts = map[string]int{}
	}
	for name, n := range o.Counts {
		sum.Counts[name] += n
	}
	held := append(append([]string{}, r.Held...), o.Held...)
	sum.Held = held[:min(len(held), maxHeld)]
	return sum
}

// sweepFor is how long one activity goes on: a run that is cancelled ends behind it at the latest.
const sweepFor = 5 * time.Second

// tenantPage is how many tenants are asked for at once.
const tenantPage = 100

// sweep goes through tenants, begins each and runs its batches until they have no more. It stops behind
// MaxBatches, after sweepFor, and between two batches when it is cancelled; what is committed by then stays,
// and the heartbeat has the place.
func (a *Sweeping) sweep(ctx context.Context, in SweepRequest, kind schema.Sweep, tenants func(after string) ([]string, error),
	batch func(tenant string, at *SweepResult) (more bool, err error)) (SweepResult, error) {
	work := startWork(ctx, SweepResult{Counts: map[string]int{}, Cursor: in.Cursor})
	defer work.stop()
	out := work.sofar()
	if out.Counts == nil {
		out.Counts = map[string]int{}
	}
	began := time.Now()
	var queue []string
	for {
		if out.Cursor.Tenant == "" {
			if len(queue) == 0 {
				var err error
				if queue, err = tenants(out.Cursor.After); err != nil {
					return out, fail(err)
				}
				if len(queue) == 0 {
					out.Done = true
					return out, nil
				}
			}
			tenant := queue[0]
			queue = queue[1:]
			start, err := a.Store.BeginSweep(ctx, tenant, kind, a.share(), in.At)
			if err != nil {
				return out, fail(err)
			}
			out.Tenants++
			if start.Held != nil {
				activity.GetLogger(ctx).Warn("a sweep would take too much, and waits for an answer", "sweep", kind, "would_take", start.Held.WouldTake, "stored", start.Held.Stored)
				out.Counts["held"]++
				if len(out.Held) < maxHeld {
					out.Held = append(out.Held, tenant)
				}
				out.Cursor = SweepCursor{After: tenant}
				work.note(out.clone())
				continue
			}
			out.Cursor = SweepCursor{After: out.Cursor.After, Tenant: tenant, Allow: start.Allow}
		}
		more, err := batch(out.Cursor.Tenant, &out)
		if err != nil {
			return out, fail(err)
		}
		out.Batches++
		if !more {
			out.Cursor = SweepCursor{After: out.Cursor.Tenant}
		}
		work.note(out.clone())
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if out.Batches >= in.MaxBatches || time.Since(began) >= sweepFor {
			return out, nil
		}
	}
}

// clone is a copy that a later change of the result does not reach.
func (r SweepResult) clone() SweepResult {
	r.Counts, r.Held = maps.Clone(r.Counts), append([]string(nil), r.Held...)
	return r
}

func (in SweepRequest) limit(allow int64) int {
	limit := store.SweepBatchSize
	if in.BatchSize > 0 {
		limit = min(limit, in.BatchSize)
	}
	return int(min(int64(limit), allow))
}

// only lists one tenant, once.
func only(tenant string) func(string) ([]string, error) {
	return func(after string) ([]string, error) {
		if after == tenant {
			return nil, nil
		}
		return []string{tenant}, nil
	}
}

// SweepDecay takes away what has fallen due by the run's time (store.DecayBatch).
func (a *Sweeping) SweepDecay(ctx context.Context, in SweepRequest) (SweepResult, error) {
	tenants := only(in.Tenant)
	if in.Tenant == "" {
		tenants = func(after string) ([]string, error) { return a.Store.DecayTenants(ctx, after, tenantPage, in.At) }
	}
	return a.sweep(ctx, in, schema.SweepDecay, tenants, func(tenant string, out *SweepResult) (bool, error) {
		limit := in.limit(out.Cursor.Allow)
		if limit == 0 {
			return false, nil
		}
		done, err := a.Store.DecayBatch(ctx, store.DecayInput{Tenant: tenant, Run: in.Run, After: out.Cursor.Due, Until: in.At, Limit: limit, Now: now(a.Now)})
		if err != nil {
			return false, err
		}
		out.Counts["pruned"] += done.Pruned
		out.Counts["archived"] += done.Archived
		out.Counts["kept"] += done.Kept
		out.Counts["not_due"] += done.NotDue
		out.Cursor.Due = done.Next
		out.Cursor.Allow -= int64(done.Pruned + done.Archived)
		return done.More, nil
	})
}

// PurgeExpired takes each tenant through the steps of a purge, in their order (store.Purge).
func (a *Sweeping) PurgeExpired(ctx context.Context, in SweepRequest) (SweepResult, error) {
	tenants := only(in.Tenant)
	if in.Tenant == "" {
		tenants = func(after string) ([]string, error) { return a.Store.SweepTenants(ctx, after, tenantPage) }
	}
	return a.sweep(ctx, in, schema.SweepRetention, tenants, func(tenant string, out *SweepResult) (bool, error) {
		if out.Cursor.Step == "" {
			out.Cursor.Step = memory.PurgeSteps[0]
		}
		limit := in.limit(store.SweepBatchSize)
		if asksFirst(out.Cursor.Step) {
			limit = in.limit(out.Cursor.Allow)
		}
		if limit > 0 {
			done, err := a.Store.Purge(ctx, store.PurgeInput{Tenant: tenant, Run: in.Run, Step: out.Cursor.Step, Limit: limit, Now: now(a.Now)})
			if err != nil {
				return false, err
			}
			for name, n := range done.Counts {
				out.Counts[name] += n
			}
			if asksFirst(out.Cursor.Step) {
				out.Cursor.Allow -= int64(done.Removed)
			}
			if done.More {
				return true, nil
			}
		}
		next, last := memory.NextPurgeStep(out.Cursor.Step)
		out.Cursor.Step = next
		return !last, nil
	})
}

// asksFirst reports whether what a step takes is what the run was allowed to take.
func asksFirst(step memory.PurgeStep) bool {
	return step == memory.PurgeExpire
}
