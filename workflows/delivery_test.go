package workflows_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// atOnce delivers requests at the same time and waits for every run.
func atOnce(t *testing.T, h *harness.Harness, requests ...schema.IngestRequest) []mneme.Started {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	started := make([]mneme.Started, len(requests))
	errs := make([]error, len(requests))
	var wg sync.WaitGroup
	for i, req := range requests {
		wg.Go(func() {
			if started[i], errs[i] = mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req); errs[i] == nil {
				errs[i] = started[i].Run.Get(ctx, nil)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return started
}

func repeat(n int, req schema.IngestRequest) []schema.IngestRequest {
	out := make([]schema.IngestRequest, n)
	for i := range out {
		out[i] = req
	}
	return out
}

// learned returns the landscape without the records of the deliveries themselves.
func learned(land map[string][]string) map[string][]string {
	out := map[string][]string{}
	for _, name := range []string{"memories", "embeddings", "relations", "jobs", "proposals", "entities", "mentions",
		"edges", "claims", "outbox", "lexemes", "corpus"} {
		out[name] = land[name]
	}
	return out
}

func TestSameRequestDeliveredAgain(t *testing.T) {
	t.Parallel()
	want := undisturbed(t, project)
	for name, key := range map[string]string{"idempotency key": "delivery-1", "content key": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := func(p schema.Principal) schema.IngestRequest {
				req := project(p)
				req.IdempotencyKey = key
				return req
			}
			t.Run("three times", func(t *testing.T) {
				t.Parallel()
				h := harness.New(t, nil)
				req := request(testkit.Principal())
				first, _ := h.Ingest(t, req)
				require.Empty(t, first.Ack.Deduped)
				for range 2 {
					again, result := h.Ingest(t, req)
					require.Equal(t, first.Ack.MemoryIDs, again.Ack.MemoryIDs)
					if key != "" {
						require.Equal(t, first.RunID, again.RunID)
						require.Equal(t, first.Ack, again.Ack)
					} else {
						require.Equal(t, []int{0, 1, 2}, again.Ack.Deduped)
						require.Zero(t, result.Extracted.Candidates)
					}
				}
				require.Equal(t, learned(want), learned(landscape(t, testkit.Owner(t, h.DatabaseURL))))
			})
			t.Run("by eight clients at once", func(t *testing.T) {
				t.Parallel()
				h := harness.New(t, nil)
				all := atOnce(t, h, repeat(8, request(testkit.Principal()))...)
				for _, s := range all {
					require.Equal(t, all[0].Ack.MemoryIDs, s.Ack.MemoryIDs)
				}
				require.Equal(t, learned(want), learned(landscape(t, testkit.Owner(t, h.DatabaseURL))))
			})
		})
	}
}

// Eight different batches with one candidate in common arrive at once. It becomes one memory with one set of facts, and
// each acknowledgement names it.
func TestBatchesThatOverlap(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"by content": "", "by the candidate's key": "event-17"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, nil)
			p := testkit.Principal()
			var requests []schema.IngestRequest
			for i := range 8 {
				req := testkit.Request(p, schema.SourceUserInput,
					fmt.Sprintf("Service number %d writes its logs to bucket %d.", i, i),
					"I live in Lisbon. I work at Acme.",
					fmt.Sprintf("Team number %d meets in room %d.", i, i))
				req.Candidates[1].Speaker = "Ana"
				req.Candidates[1].IdempotencyKey = key
				if i%2 == 1 { // the order in which rows are locked must not matter
					req.Candidates[0], req.Candidates[2] = req.Candidates[2], req.Candidates[0]
				}
				requests = append(requests, req)
			}
			all := atOnce(t, h, requests...)
			db := testkit.Owner(t, h.DatabaseURL)
			shared := all[0].Ack.MemoryIDs[1]
			deduped := 0
			for _, s := range all {
				require.Equal(t, shared, s.Ack.MemoryIDs[1])
				deduped += len(s.Ack.Deduped)
			}
			require.Equal(t, 7, deduped)
			require.Equal(t, []string{"I live in Lisbon. I work at Acme."},
				testkit.Strings(t, db, `SELECT content FROM memories WHERE id = $1`, shared))
			for _, fact := range []string{"Ana lives in Lisbon.", "Ana works at Acme."} {
				require.Equal(t, 1, testkit.Rows(t, db, "memories", "content = $1", fact), fact)
			}
			require.Equal(t, 1, testkit.Rows(t, db, "jobs", "memory_id = $1", shared))
			require.Zero(t, testkit.Rows(t, db, "jobs", "state <> 'completed'"))
			require.Equal(t, testkit.Strings(t, db,
				`SELECT e.canonical_name || ' ' || e.mentions FROM entities e ORDER BY 1`),
				testkit.Strings(t, db,
					`SELECT e.canonical_name || ' ' || count(x.memory_id) FROM entities e
						LEFT JOIN memory_entity_mentions x ON x.entity_id = e.id GROUP BY e.id, e.canonical_name
							ORDER BY 1`))
			// "Acme" is named by the source and by one of its facts, however often it was delivered.
			require.Equal(t, []string{"2"},
				testkit.Strings(t, db, `SELECT mentions::text FROM entities WHERE canonical_name = 'acme'`))
			require.Equal(t, []string{"1"},
				testkit.Strings(t, db,
					`SELECT r.mentions::text FROM entity_relations r JOIN entities e ON e.id = r.target_id
						WHERE e.canonical_name = 'acme'`))
		})
	}
}

// unready is a client whose server refuses the first updates, as it does while workers fail or are slow.
type unready struct {
	interceptor.ClientInterceptorBase
	refusals atomic.Int32
}

func (u *unready) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	return &unreadyOutbound{interceptor.ClientOutboundInterceptorBase{Next: next}, u}
}

type unreadyOutbound struct {
	interceptor.ClientOutboundInterceptorBase
	*unready
}

func (u *unreadyOutbound) UpdateWithStartWorkflow(ctx context.Context,
	in *interceptor.ClientUpdateWithStartWorkflowInput) (client.WorkflowUpdateHandle, error) {
	if u.refusals.Add(-1) >= 0 {
		return nil,
			serviceerror.NewWorkflowNotReady("Unable to perform workflow execution update due to Workflow Task in " +
				"failed state.")
	}
	return u.Next.UpdateWithStartWorkflow(ctx, in)
}

// While workers are slow, the hand-over is slow, but no request is lost.
func TestHandOverWaitsForSlowWorkers(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	var server unready
	server.refusals.Store(1)
	c := harness.TemporalWith(t, func(o *client.Options) { o.Interceptors = []interceptor.ClientInterceptor{&server} })
	started, err := mneme.StartIngest(context.Background(), c, h.TaskQueue,
		testkit.Request(testkit.Principal(), schema.SourceObservation, "The crane is out of order."))
	require.NoError(t, err)
	require.Len(t, started.Ack.MemoryIDs, 1)

	server.refusals.Store(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = mneme.StartIngest(ctx, c, h.TaskQueue,
		testkit.Request(testkit.Principal(), schema.SourceObservation, "The crane works again."))
	require.ErrorIs(t, err, context.Canceled)
}
