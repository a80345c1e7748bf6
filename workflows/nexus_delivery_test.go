package workflows_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// unheard loses the first answer of every operation, so that the request is delivered again under the same id. It
// repeats the request itself, because the server may learn of the outcome first.
type unheard struct {
	interceptor.WorkerInterceptorBase
	lost atomic.Int32
}

func (w *unheard) InterceptNexusOperation(_ context.Context,
	next interceptor.NexusOperationInboundInterceptor) interceptor.NexusOperationInboundInterceptor {
	i := &unheardOperation{worker: w}
	i.Next = next
	return i
}

type unheardOperation struct {
	interceptor.NexusOperationInboundInterceptorBase
	worker *unheard
}

func (i *unheardOperation) StartOperation(ctx context.Context,
	in interceptor.NexusStartOperationInput) (nexus.HandlerStartOperationResult[any], error) {
	if out, err := i.Next.StartOperation(ctx, in); err != nil {
		return out, err
	}
	i.worker.lost.Add(1)
	return i.Next.StartOperation(ctx, in)
}

func TestNexusDeliveredTwice(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{api.OperationRemember, api.OperationRecall, api.OperationForget} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			lossy := &unheard{}
			h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
			h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{lossy}})
			a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
			p := testkit.Principal()
			db := testkit.Owner(t, h.DatabaseURL)
			switch operation {
			case api.OperationRemember:
				var out api.IngestResult
				require.NoError(t, within(t, a.start(t, operation,
					testkit.Request(p, schema.SourceMemory, "Tea is served hot.")), &out))
				require.Empty(t, out.Deduped, "the result of the first run")
				require.Equal(t, 1, testkit.Rows(t, db, "memories", ""))
				require.Equal(t, 1, testkit.Rows(t, db, "ingest_batches", ""))
			case api.OperationRecall:
				id := known(t, h, p, "Tea is served hot.")[0]
				var out schema.RecallResponse
				require.NoError(t, within(t, a.start(t, operation, schema.RecallRequest{Principal: p, Query: "tea"}),
					&out))
				require.Len(t, out.Results, 1)
				require.Equal(t, 1, accesses(t, h, id))
				require.Equal(t, 1, testkit.Rows(t, db, "retrievals", ""))
			case api.OperationForget:
				ids := known(t, h, p, "Tea is served hot.")
				req := forgetRequest(p, "", schema.Selector{IDs: ids})
				req.Execute = true
				var out schema.ForgetReceipt
				require.NoError(t, within(t, a.start(t, operation, req), &out))
				require.Equal(t, 1, out.Forgotten)
				require.Equal(t, 1, testkit.Rows(t, db, "forget_runs", ""))
			}
			require.Positive(t, lossy.lost.Load())
		})
	}
}

// The worker is killed after it has started the pipeline, and before the server knows. Another worker continues; the
// caller gets its result, and everything is written once.
func TestNexusHandlerKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	address := testkit.TemporalAddress(t)
	gate := harness.NewGate(t, address, "RespondNexusTaskCompleted")
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	url := testkit.DatabaseURL(t)
	settings := map[string]string{"DATABASE_URL": url, "TEMPORAL_ADDRESS": gate.Address,
		"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": "mneme"}
	victim := harness.StartProcess(t, settings)
	a := newAgents(t, c, namespace, "mneme")
	run := a.start(t, api.OperationRemember,
		testkit.Request(testkit.Principal(), schema.SourceMemory, "Tea is served hot."))
	require.NoError(t, gate.WaitHeld(ctx), victim.Output())
	victim.Kill()
	settings["TEMPORAL_ADDRESS"] = address
	harness.StartProcess(t, settings)
	var out api.IngestResult
	require.NoError(t, within(t, run, &out))
	require.Len(t, out.MemoryIDs, 1)
	require.Empty(t, out.Deduped)
	db := testkit.Owner(t, url)
	require.Equal(t, 1, testkit.Rows(t, db, "memories", ""))
	require.Equal(t, 1, testkit.Rows(t, db, "ingest_batches", ""))
}

// A cancelled caller cancels its operations: a waiting forget changes nothing, and a pipeline stops.
func TestNexusCallerCancelled(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	model := testkit.NewModel(t, func(ctx context.Context, call testkit.ModelCall) testkit.ModelReply {
		if strings.Contains(call.Data, "endless") {
			asked <- struct{}{}
			<-ctx.Done()
		}
		return echo(call.Data)
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	p := testkit.Principal()
	ids := known(t, h, p, "Tea is served hot.")
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	cancelled := func(run client.WorkflowRun) {
		require.NoError(t, a.temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
	}

	forget := forgetRequest(p, "", schema.Selector{Query: "tea"})
	run := a.start(t, api.OperationForget, forget)
	joined, err := waitFor(ctx, h.Temporal, api.OperationWorkflowID(api.KindForget, forget.Operation, forget))
	require.NoError(t, err)
	preview, err := mneme.ForgetPreview(ctx, h.Temporal, joined)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetPreviewed, preview.State)
	cancelled(run)
	var receipt schema.ForgetReceipt
	require.NoError(t, within(t, joined, &receipt))
	require.Equal(t, schema.ForgetCancelled, receipt.State)
	require.NoError(t, within(t, run, &receipt), "the caller gets the result")
	require.Equal(t, schema.ForgetCancelled, receipt.State)
	require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "memories", "id = $1 AND deleted_at IS NULL",
		ids[0]))

	req := testkit.Request(p, schema.SourceObservation, "An endless story about tea.")
	run = a.start(t, api.OperationRemember, req)
	select {
	case <-asked:
	case <-ctx.Done():
		require.FailNow(t, "the model was never asked")
	}
	cancelled(run)
	var stopped *temporal.CanceledError
	require.ErrorAs(t, within(t, run, nil), &stopped)
	require.ErrorAs(t, within(t, h.Temporal.GetWorkflow(ctx, api.IngestWorkflowID(req), ""), nil), &stopped)
}

// waitFor waits until a workflow has been started.
func waitFor(ctx context.Context, c client.Client, id string) (client.WorkflowRun, error) {
	err := testkit.Eventually(ctx, func() error {
		_, err := c.DescribeWorkflowExecution(ctx, id, "")
		return err
	})
	return c.GetWorkflow(ctx, id, ""), err
}
