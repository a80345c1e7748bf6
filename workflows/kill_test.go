package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// project is the request of the tests of lost acknowledgements: three sources, four facts, and entities that are named
// more than once.
func project(p schema.Principal) schema.IngestRequest {
	req := testkit.Request(p, schema.SourceUserInput,
		"I moved to Lisbon. I work at Acme on the Atlas project.",
		"The Atlas project uses Postgres. Acme is based in Lisbon.",
		"Never deploy the Atlas project on Fridays.")
	for i := range req.Candidates {
		req.Candidates[i].Speaker = "Ana"
	}
	return req
}

// landscape is all that the pipeline has written, without ids, times, rounds and reasons. Two landscapes are equal when
// the same was learned the same number of times.
func landscape(t testing.TB, db *pgx.Conn) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for name, query := range map[string]string{
		"memories": `SELECT concat_ws('|', type, category, status, live, version, content) FROM memories ORDER BY 1`,
		"embeddings": `SELECT concat_ws('|', m.content, e.model) FROM memory_embeddings e
			JOIN memories m ON m.id = e.memory_id ORDER BY 1`,
		"relations": `SELECT concat_ws('|', a.content, r.predicate, b.content) FROM memory_links r
			JOIN memories a ON a.id = r.source_id JOIN memories b ON b.id = r.target_id ORDER BY 1`,
		"history": `SELECT concat_ws('|', m.content, h.event, h.changed_by,
			CASE WHEN h.event = 'none' THEN split_part(h.reason, ':', 1) END) FROM memory_history h
				LEFT JOIN memories m ON m.id = h.memory_id ORDER BY 1`,
		"candidates": `SELECT concat_ws('|', ordinal, state, content) FROM memory_candidates ORDER BY 1`,
		"proposals": `SELECT concat_ws('|', c.ordinal, p.ordinal, p.state, p.action, p.outcome) FROM proposals p
			JOIN memory_candidates c ON c.id = p.candidate_id ORDER BY 1`,
		"jobs": `SELECT concat_ws('|', m.content, j.state, j.phase, j.attempts) FROM jobs j
			LEFT JOIN memories m ON m.id = j.memory_id ORDER BY 1`,
		"entities": `SELECT concat_ws('|', canonical_name, mentions) FROM entities ORDER BY 1`,
		"mentions": `SELECT concat_ws('|', m.content, e.canonical_name) FROM memory_entity_mentions x
			JOIN memories m ON m.id = x.memory_id JOIN entities e ON e.id = x.entity_id ORDER BY 1`,
		"edges": `SELECT concat_ws('|', a.canonical_name, r.relationship, b.canonical_name, r.mentions)
			FROM entity_relations r JOIN entities a ON a.id = r.source_id JOIN entities b ON b.id = r.target_id
				ORDER BY 1`,
		"claims": `SELECT concat_ws('|', m.content, c.subject, c.predicate, c.object) FROM entity_claims c
			JOIN memories m ON m.id = c.memory_id ORDER BY 1`,
		"events":  `SELECT concat_ws('|', kind, agent_id) FROM events ORDER BY 1`,
		"outbox":  `SELECT op FROM index_outbox ORDER BY 1`,
		"lexemes": `SELECT concat_ws('|', lexeme, docs) FROM lexeme_stats ORDER BY 1`,
		"corpus":  `SELECT concat_ws('|', docs, lexemes) FROM corpus_stats`,
	} {
		out[name] = testkit.Strings(t, db, query)
	}
	return out
}

// undisturbed is the landscape of the request after a run without failures.
func undisturbed(t testing.TB, request func(schema.Principal) schema.IngestRequest) map[string][]string {
	t.Helper()
	h := harness.New(t, nil)
	_, result := h.Ingest(t, request(testkit.Principal()))
	require.Zero(t, result.Dead)
	require.Empty(t, result.Deferred)
	want := landscape(t, testkit.Owner(t, h.DatabaseURL))
	require.NotEmpty(t, want["memories"])
	require.NotEmpty(t, want["mentions"])
	require.NotEmpty(t, want["edges"])
	for _, mentions := range want["entities"] {
		require.NotContains(t, mentions, "|0")
	}
	return want
}

// A worker is killed after an activity has committed and before the acknowledgement. The activity runs a second time,
// on another worker, and nothing is written twice.
func TestWorkerKilledBeforeAcknowledgement(t *testing.T) {
	t.Parallel()
	want := undisturbed(t, project)
	for _, activity := range []string{"StageCandidates", "ExtractFacts", "DecideFacts", "WriteProposals",
		"LinkEntities", "IndexBatch", "CompleteJobs"} {
		t.Run(activity, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			address := testkit.TemporalAddress(t)
			gate := harness.NewGate(t, address, activity)
			namespace := harness.NewNamespace(t, address)
			c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
			url := testkit.DatabaseURL(t)
			queue := "test-" + uuid.NewString()

			victim := harness.StartProcess(t, map[string]string{
				"DATABASE_URL": url, "TEMPORAL_ADDRESS": gate.Address, "TEMPORAL_NAMESPACE": namespace,
				"MNEME_TASK_QUEUE": queue})
			type answer struct {
				started mneme.Started
				err     error
			}
			answers := make(chan answer, 1)
			go func() {
				started, err := mneme.StartIngest(ctx, c, queue, project(testkit.Principal()))
				answers <- answer{started, err}
			}()
			require.NoError(t, gate.WaitHeld(ctx), victim.Output())
			victim.Kill()
			began := time.Now()

			harness.StartProcess(t, map[string]string{
				"DATABASE_URL": url, "TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace,
				"MNEME_TASK_QUEUE": queue})
			got := <-answers
			require.NoError(t, got.err)
			result := harness.Wait(t, got.started.Run)
			t.Logf("recovered in %s", time.Since(began).Round(time.Second))
			require.Zero(t, result.Dead)
			require.Len(t, got.started.Ack.MemoryIDs, 3)
			require.Empty(t, got.started.Ack.Deduped)
			require.Equal(t, want, landscape(t, testkit.Owner(t, url)))
		})
	}
}

// twice lets the first attempt of every activity do its work and then fail, as if the acknowledgement had been lost.
type twice struct {
	interceptor.WorkerInterceptorBase
}

func (w *twice) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &twiceActivity{}
	i.Next = next
	return i
}

type twiceActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

func (i *twiceActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	out, err := i.Next.ExecuteActivity(ctx, in)
	if err == nil && activity.GetInfo(ctx).Attempt == 1 {
		return nil, temporal.NewApplicationErrorWithOptions(fmt.Sprintf("acknowledgement of %s lost",
			activity.GetInfo(ctx).ActivityType.Name), "Lost",
			temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Millisecond})
	}
	return out, err
}

// hasty divides the retry intervals by fifty, for tests in which all attempts fail.
func hasty() *hook {
	return &hook{around: func(_ context.Context, _ string, run func() (any, error)) (any, error) {
		out, err := run()
		var failed *temporal.ApplicationError
		if !errors.As(err, &failed) || failed.NonRetryable() || failed.NextRetryDelay() == 0 {
			return out, err
		}
		options := temporal.ApplicationErrorOptions{Cause: failed.Unwrap(),
			NextRetryDelay: failed.NextRetryDelay() / 50}
		if failed.HasDetails() {
			var items int // of the pending changes
			if err := failed.Details(&items); err != nil {
				return nil, err
			}
			options.Details = []any{items}
		}
		return out, temporal.NewApplicationErrorWithOptions(failed.Message(), failed.Type(), options)
	}}
}

func TestEveryActivityRunsTwice(t *testing.T) {
	t.Parallel()
	want := undisturbed(t, project)
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
	_, result := h.Ingest(t, project(testkit.Principal()))
	require.Zero(t, result.Dead)
	require.Empty(t, result.Deferred)
	require.Equal(t, want, landscape(t, testkit.Owner(t, h.DatabaseURL)))
}
