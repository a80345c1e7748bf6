package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/sweeping"
)

// Concurrent purges, recalls, deletions and recoveries leave no partial state.
func TestPurgeWhileOthersWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []uuid.UUID
	for i := range 24 {
		ids = append(ids, w.linked(fmt.Sprintf("Person %d knows Alice.", i),
			memory.Triple{Source: fmt.Sprintf("Person %d", i), Relationship: "knows", Target: "Alice", Confidence: 1}))
	}
	for _, id := range ids[:16] {
		w.softDelete(id)
	}
	later := *w
	later.now = w.now.Add(31 * day)
	var wg sync.WaitGroup
	failures := make(chan error, 100)
	for range 2 {
		wg.Go(func() {
			for _, step := range lifecycle.PurgeSteps {
				for more := true; more; {
					b, err := w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: step, Limit: 5,
						At: later.now, Now: later.now})
					if more = b.More; err != nil {
						failures <- err
						return
					}
				}
			}
		})
	}
	wg.Go(func() { // recovers too late
		for _, id := range ids[:16] {
			in := later.recoverInput(schema.Target{ID: id.String()})
			if out, err := w.Recover(ctx, in); err != nil || out.Items[0].Status == schema.RecoverRecovered {
				failures <- fmt.Errorf("recovered too late: %v", err)
			}
		}
	})
	wg.Go(func() {
		for range 20 {
			if _, err := w.SearchText(ctx, pg.Filter{Principal: w.p}, "Alice", 10); err != nil {
				failures <- err
			}
		}
	})
	wg.Go(func() { // forgets by force both memories that are being purged and others
		req := later.forgets(schema.ForgetForce, schema.Selector{IDs: []string{ids[0].String(), ids[20].String()}})
		preview, err := w.SelectForget(ctx, schema.OperationRef{Tenant: "t", ID: "force", WorkflowID: "force"}, req,
			later.now)
		if err != nil {
			failures <- err
			return
		}
		token, err := w.ForgetToken(ctx, w.p, uuid.MustParse(preview.RunID), later.now)
		if err == nil && token != "" {
			_, err = w.ConfirmForget(ctx, "t", uuid.MustParse(preview.RunID), schema.ForgetConfirmation{Token: token},
				later.now)
		}
		if err == nil {
			_, err = w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 10, later.now)
		}
		if err != nil {
			failures <- err
		}
	})
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	later.purge(500)
	require.Equal(t, 7, w.count("memories", "live"))
	require.Equal(t, 7, w.count("memories", "true"))
	w.requireExactStats()
	w.requireExactMentions()
	testkit.CheckInvariants(t, w.owner)
}

// A link to a memory that a purge is about to remove is either written first, and the memory stays, or fails because
// it came too late. The basis of an action is never removed.
func TestConcurrentLinksAndPurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const rounds, n, hands = 5, 60, 6
	for round := range rounds {
		var ids []uuid.UUID
		for i := range n {
			ids = append(ids, w.fading(fmt.Sprintf("Task %d of round %d.", i, round)))
		}
		w.exec(`UPDATE memories SET deleted_at = $2 WHERE id = ANY($1)`, ids, w.now)
		w.now = w.now.Add(31 * day)
		var mu sync.Mutex
		var held []uuid.UUID
		begun := make(chan struct{}) // wait until one link exists, or the purge could finish before
		var once sync.Once
		var group errgroup.Group
		for hand := range hands {
			group.Go(func() error {
				defer once.Do(func() { close(begun) })
				for i := hand; i < n; i += hands {
					m := task(t, uuid.NewString(), "planning", fmt.Sprintf("It leans on %d of round %d.", i, round))
					m.Relations = []schema.Relation{{Predicate: lifecycle.ActionLinks[1], TargetID: ids[i].String(),
						Weight: 1}}
					req := schema.PutRequest{Operation: schema.Operation{Principal: w.p}, Visibility: w.vis,
						Records: []schema.MemoryRecord{m}}
					result, err := w.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: "t",
						ID: uuid.NewString(), WorkflowID: "wf"}, Request: req, Policy: w.policy, Now: w.now})
					if err != nil {
						return err
					}
					if result.Items[0].Status == schema.PutCreated {
						mu.Lock()
						held = append(held, ids[i])
						mu.Unlock()
						once.Do(func() { close(begun) })
					}
				}
				return nil
			})
		}
		group.Go(func() error {
			<-begun
			for range 20 {
				if err := second(w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: lifecycle.PurgeExpire,
					Limit: 5, At: w.now, Now: w.now})); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, group.Wait())
		w.purge(500)
		require.NotEmpty(t, held)
		require.Equal(t, len(held), w.count("memories", "id = ANY($1)", held), "the basis of an action stays")
	}
}
