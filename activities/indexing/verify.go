package indexing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// Bounds of a verification.
const (
	sampleTenants   = 50
	samplePerTenant = 10
	sampleNearest   = 20
	// sampleShare is the share of the sample that must be found. A graph is an approximation; an index that lost
	// points misses many more.
	sampleShare = 0.95
	// fewPending is the number of pending changes that a count may ignore in any tenant.
	fewPending = 20
	// waitFor is how long one activity waits for pending changes to be written.
	waitFor = 10 * time.Minute
)

// CountAgain is how long a verification waits before it counts a tenant with many pending changes again. Patience is
// how long it waits in one activity while none of them is written. They are variables only for tests.
var (
	CountAgain = 15 * time.Second
	Patience   = 2 * time.Minute
)

// VerifyRequest is a request to verify a generation.
type VerifyRequest struct {
	Generation string `json:"generation"`
	// From is where to begin. Only if it waits does the activity wait for pending changes: a run of an earlier version
	// does not set it, and takes every result for the last one.
	From *VerifyPage `json:"from,omitempty"`
}

// VerifyPage is the progress of a verification.
type VerifyPage struct {
	api.VerifyResult

	After   string               `json:"after"`             // the last tenant that was counted
	Tenants int                  `json:"tenants"`           // that were counted
	Backlog *vectorindex.Backlog `json:"backlog,omitempty"` // of the next tenant, when it was counted last
	// Until is the position of the last change that was pending when the next tenant was first counted. 0: it has not been
	// counted, or nothing was pending.
	Until int64 `json:"until,omitempty"`
	// Waits means in a request that the run continues, and in a result that there is more to verify.
	Waits bool `json:"waits,omitempty"`
}

// behindError means that the counts of a tenant with many pending changes differ. moved reports whether some were
// written since the last count.
type behindError struct {
	error

	moved bool
}

// VerifyGeneration counts the points of every tenant against Postgres, and searches for a sample by its own vectors.
// If it fails at a count, the next attempt continues with the same tenant. If a sample has too few hits, the next
// attempt draws it again. If a tenant has too many pending changes to explain a difference, it waits until those
// of the first count are written. It returns after some time and is called again: attempts without progress count.
func (a *Indexing) VerifyGeneration(ctx context.Context, in VerifyRequest) (VerifyPage, error) {
	var from VerifyPage
	if in.From != nil {
		from = *in.From
	}
	work, ctx := step.StartWork(ctx, from)
	defer work.Stop()
	g, err := a.generation(ctx, in.Generation)
	if err != nil {
		return VerifyPage{}, step.Fail(step.Stalled(ctx, err))
	}
	began, moved := time.Now(), time.Time{}
	for {
		tenants, err := a.Store.MemoryTenants(ctx, work.SoFar().After, 100)
		if err != nil {
			return VerifyPage{}, step.Fail(err)
		}
		if len(tenants) == 0 {
			break
		}
		for i := 0; i < len(tenants); {
			at := work.SoFar()
			err := a.verify(ctx, g, tenants[i], &at)
			var behind *behindError
			switch {
			case err == nil:
				i++
				at.Backlog, at.Until = nil, 0
				work.Note(at)
			case errors.As(err, &behind) && (behind.moved || !moved.IsZero()):
				if behind.moved {
					moved = time.Now()
					work.Note(at)
				}
				if time.Since(began) > waitFor || time.Since(moved) > Patience {
					return at, nil
				}
				select {
				case <-ctx.Done():
					return at, step.Fail(context.Cause(ctx))
				case <-time.After(CountAgain):
				}
			default:
				return at, step.Fail(step.Stalled(ctx, err))
			}
		}
	}
	out := work.SoFar()
	if float64(out.Found) < sampleShare*float64(out.Sampled) {
		work.Note(VerifyPage{Waits: out.Waits})
		return out, fmt.Errorf("found %d of %d sampled memories by their own vectors", out.Found, out.Sampled)
	}
	out.Waits = false
	return out, nil
}

// verify counts the points of one tenant, and searches for a sample if the tenant is one of the first.
func (a *Indexing) verify(ctx context.Context, g vector.Generation, tenant string, at *VerifyPage) error {
	memories, points, err := a.countBoth(ctx, g, tenant, at)
	if err != nil {
		return err
	}
	at.After, at.Tenants, at.Memories, at.Points = tenant, at.Tenants+1, at.Memories+memories, at.Points+points
	if at.Tenants > sampleTenants {
		return nil
	}
	return a.sample(ctx, g, tenant, &at.VerifyResult)
}

// countBoth counts a tenant's memories with a vector, and its points. It fails if they differ by more than was written
// in the meantime: others may write all the time, so that the two counts are never of the same moment. The points are
// counted again after the memories. Each memory that was there between the two counts has a point in the first or in
// the second one, or a pending change. Pending changes explain only a small difference (explained). If there are more,
// the error is a behindError, until the changes that were pending at the first count are written.
func (a *Indexing) countBoth(
	ctx context.Context,
	g vector.Generation,
	tenant string,
	at *VerifyPage,
) (memories, points int64, err error) {
	var again int64
	var backlog vectorindex.Backlog
	err = step.RunLong(ctx, func() (err error) {
		if points, err = a.Index.Count(ctx, g, tenant); err == nil { // long statements if the index is in Postgres
			memories, err = a.Store.CountEmbedded(ctx, tenant, g.Model)
		}
		return err
	})
	if err != nil || memories == points {
		return memories, points, err
	}
	err = step.RunLong(ctx, func() (err error) {
		if backlog, err = a.Store.Backlog(ctx, tenant); err == nil {
			again, err = a.Index.Count(ctx, g, tenant)
		}
		return err
	})
	if err != nil {
		return memories, points, err
	}
	more := explained(memories, backlog.Pending)
	if memories >= min(points, again)-more && memories <= max(points, again)+more {
		return memories, again, nil
	}
	err = fmt.Errorf("a tenant has %d memories to find and %d points (%d changes are pending)", memories, again,
		backlog.Pending)
	if !at.Waits || backlog.Pending <= more {
		return memories, again, err
	}
	if at.Until == 0 {
		at.Until = backlog.Last
	}
	if backlog.Next > at.Until { // others write all the time, so waiting for the later changes might never end
		return memories, again, err
	}
	moved := backlog.Moved(at.Backlog)
	if moved {
		at.Backlog = &backlog
	}
	return memories, again, &behindError{err, moved}
}

// explained returns how large a difference between a tenant's memories and points the pending changes explain: one for
// each change, but at most the share of memories that a sample may miss, or fewPending if that is more. Otherwise many
// pending changes would hide lost points. Some changes stay pending for hours, because the embedder refuses their text,
// so a large number of them alone is no failure.
func explained(memories, pending int64) int64 {
	return min(pending, max(fewPending, int64((1-sampleShare)*float64(memories))))
}

func (a *Indexing) sample(ctx context.Context, g vector.Generation, tenant string, out *api.VerifyResult) error {
	var ids []uuid.UUID
	err := step.RunLong(ctx, func() (err error) {
		ids, err = a.Store.SampleEmbedded(ctx, tenant, g.Model, samplePerTenant)
		return err
	})
	if err != nil {
		return err
	}
	entries, err := a.Store.IndexEntries(ctx, tenant, g.Model, ids)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Vector == nil {
			continue
		}
		hits, err := a.Index.Nearest(ctx, g, tenant, e.Vector, sampleNearest)
		if err != nil {
			return err
		}
		step.Advance(ctx)
		out.Sampled++
		for i, hit := range hits {
			// If many vectors are equal, hits with a perfect score count as found.
			if hit.ID == e.MemoryID || i == len(hits)-1 && len(hits) == sampleNearest && hit.Score > 0.999 {
				out.Found++
				break
			}
		}
	}
	return nil
}
