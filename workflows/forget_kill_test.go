package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// crowd creates n memories of a principal.
func crowd(t testing.TB, h *harness.Harness, p schema.Principal, n int) {
	t.Helper()
	for from := 0; from < n; from += 500 {
		var texts []string
		for i := from; i < min(n, from+500); i++ {
			texts = append(texts, fmt.Sprintf("Machine %d stands in hall %d.", i, i%7))
		}
		req := testkit.Request(p, schema.SourceObservation, texts...)
		req.Mode = schema.ModeFrozen
		h.Ingest(t, req)
	}
}

// hook lets a test run code before and after each activity.
type hook struct {
	interceptor.WorkerInterceptorBase
	around func(ctx context.Context, name string, run func() (any, error)) (any, error)
}

func (w *hook) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &hookActivity{around: w.around}
	i.Next = next
	return i
}

type hookActivity struct {
	interceptor.ActivityInboundInterceptorBase
	around func(ctx context.Context, name string, run func() (any, error)) (any, error)
}

func (i *hookActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	return i.around(ctx, activity.GetInfo(ctx).ActivityType.Name, func() (any, error) {
		return i.Next.ExecuteActivity(ctx, in)
	})
}

// requireForgottenOnce checks that each of n memories has exactly one deleted row and one more version.
func requireForgottenOnce(t testing.TB, h *harness.Harness, n int) {
	t.Helper()
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, n, testkit.Rows(t, db, "memory_history", "event = 'deleted'"))
	require.Equal(t, n, testkit.Rows(t, db, "memories",
		"deleted_at IS NOT NULL AND version = 2 AND (SELECT count(*) FROM memory_history h WHERE h.memory_id = "+
			"memories.id AND h.event = 'deleted') = 1"))
	require.Empty(t, testkit.Strings(t, db,
		`SELECT lexeme FROM lexeme_stats s WHERE docs <> (SELECT count(*) FROM memories m WHERE m.tenant = s.tenant
			AND m.live AND s.lexeme = ANY(tsvector_to_array(m.tsv)))`))
	require.Empty(t, testkit.Strings(t, db,
		`SELECT tenant FROM corpus_stats s WHERE docs <> (SELECT count(*) FROM memories m WHERE m.tenant = s.tenant
			AND m.live)`))
}

// The worker stops between two batches, and another one continues.
func TestForgetSurvivesAStoppedWorker(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	crowd(t, h, p, 120)
	h.StopWorker()
	second, stopped := make(chan struct{}), make(chan struct{})
	var batches atomic.Int32
	h.StartWorkerWith(t,
		worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: func(ctx context.Context,
			name string, run func() (any, error)) (any, error) {
			if name != "ForgetBatch" {
				return run()
			}
			if batches.Add(1) == 3 {
				close(second)
				<-stopped
				return nil, errors.New("the worker went away")
			}
			return run()
		}}}})
	run, preview := startForget(t, h, inBatches(forgetRequest(p, "", schema.Selector{All: true})))
	require.Equal(t, 120, preview.Total)
	require.Len(t, preview.Sample, schema.MaxForgetSample)
	confirmForget(t, h, p, preview)
	<-second
	status, err := h.Store.ForgetStatus(context.Background(), p, uuid.MustParse(preview.RunID))
	require.NoError(t, err)
	require.Equal(t, []int{100, 20}, []int{status.Forgotten, status.Remaining})
	value, err := h.Temporal.QueryWorkflow(context.Background(), run.GetID(), "", api.QueryProgress)
	require.NoError(t, err)
	var progress schema.ForgetReceipt
	require.NoError(t, value.Get(&progress))
	require.Equal(t, 20, progress.Remaining)
	close(stopped)
	h.StopWorker()
	h.StartWorker(t)
	receipt := receiptOf(t, run)
	require.Equal(t, 120, receipt.Forgotten)
	requireForgottenOnce(t, h, 120)
}

// The worker is killed after a batch has committed and before the acknowledgement.
func TestForgetKilledBeforeAcknowledgement(t *testing.T) {
	t.Parallel()
	address := testkit.TemporalAddress(t)
	gate := harness.NewGate(t, address, "ForgetBatch")
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	url := testkit.DatabaseURL(t)
	h := harness.NewAt(t, url, c, nil)
	p := testkit.Principal()
	crowd(t, h, p, 100)
	h.StopWorker()
	settings := map[string]string{"DATABASE_URL": url, "TEMPORAL_ADDRESS": gate.Address,
		"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue}
	victim := harness.StartProcess(t, settings)
	run, preview := startForget(t, h, inBatches(forgetRequest(p, "", schema.Selector{All: true})))
	confirmForget(t, h, p, preview)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	require.NoError(t, gate.WaitHeld(ctx), victim.Output())
	victim.Kill()
	settings["TEMPORAL_ADDRESS"] = address
	harness.StartProcess(t, settings)
	require.Equal(t, 100, receiptOf(t, run).Forgotten)
	requireForgottenOnce(t, h, 100)
}

// Each activity runs twice, as after a lost acknowledgement.
func TestForgetEveryActivityTwice(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, nil)
			p := testkit.Principal()
			h.Ingest(t, project(p))
			db := testkit.Owner(t, h.DatabaseURL)
			live := testkit.Rows(t, db, "memories", "live")
			h.StopWorker()
			h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
			run, preview := startForget(t, h, forgetRequest(p, mode, schema.Selector{All: true}))
			confirmForget(t, h, p, preview)
			receipt := receiptOf(t, run)
			require.Equal(t, schema.ForgetDone, receipt.State)
			require.Equal(t, preview.Total, receipt.Forgotten)
			require.GreaterOrEqual(t, receipt.Forgotten, live)
			require.Equal(t, receipt.Forgotten, testkit.Rows(t, db, "memory_history", "event = 'deleted'"))
			require.Equal(t, receipt.Forgotten, receipt.Removed["memories"])
			require.Zero(t, testkit.Rows(t, db, "index_outbox", ""))
			require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
			require.Zero(t, testkit.Rows(t, db, "lexeme_stats", "docs <> 0"))
			if mode != schema.ForgetSoft {
				require.Zero(t, testkit.Rows(t, db, "entities", ""))
				require.Zero(t, testkit.Rows(t, db, "entity_relations", ""))
			}
			require.Empty(t, receipt.Pending)
		})
	}
}

// A run that is cancelled stops between two batches. Memories that were forgotten stay forgotten.
func TestForgetCancelledBetweenBatches(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	crowd(t, h, p, 120)
	h.StopWorker()
	reached, release := make(chan struct{}), make(chan struct{})
	var batches atomic.Int32
	h.StartWorkerWith(t,
		worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: func(_ context.Context, name string,
			run func() (any, error)) (any, error) {
			if name == "ForgetBatch" && batches.Add(1) == 2 {
				close(reached)
				<-release
			}
			return run()
		}}}})
	run, preview := startForget(t, h, inBatches(forgetRequest(p, "", schema.Selector{All: true})))
	confirmForget(t, h, p, preview)
	<-reached
	require.NoError(t, h.Temporal.CancelWorkflow(context.Background(), run.GetID(), ""))
	receipt := receiptOf(t, run)
	close(release)
	require.Equal(t, schema.ForgetCancelled, receipt.State)
	require.Equal(t, []int{120, 50, 70}, []int{receipt.Total, receipt.Forgotten, receipt.Remaining})
	h.StopWorker() // the late batch has run
	requireForgottenOnce(t, h, 50)
	status, err := h.Store.ForgetStatus(context.Background(), p, uuid.MustParse(preview.RunID))
	require.NoError(t, err)
	require.Equal(t, receipt, status.ForgetReceipt)

	// While the run waits for its confirmation, nothing has been forgotten.
	h.StartWorker(t)
	run, preview = startForget(t, h, forgetRequest(p, "", schema.Selector{All: true}))
	require.Equal(t, 70, preview.Total)
	require.NoError(t, h.Temporal.CancelWorkflow(context.Background(), run.GetID(), ""))
	receipt = receiptOf(t, run)
	require.Equal(t, schema.ForgetCancelled, receipt.State)
	require.Equal(t, 70, receipt.Remaining)
}
