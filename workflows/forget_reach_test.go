package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// gone waits until Temporal has deleted the run.
func gone(t *testing.T, c client.Client, id, runID string) {
	t.Helper()
	// the server may take a minute to delete a run that has just ended
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	require.NoError(t, testkit.Eventually(ctx, func() error {
		_, err := c.DescribeWorkflowExecution(ctx, id, runID)
		var missing *serviceerror.NotFound
		if !errors.As(err, &missing) {
			return fmt.Errorf("the run still exists: %v", err)
		}
		return nil
	}))
}

// around returns options of a worker whose activities run through fn.
func around(fn func(ctx context.Context, name string, run func() (any, error)) (any, error)) worker.Options {
	return worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: fn}}}
}

// Workflow ids in history may come from an imported file. The runs of another tenant, and of other programs, are not
// waited for, terminated or deleted.
func TestEraseLeavesForeignRunsAlone(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p, victim := testkit.Principal(), testkit.Principal()
	victim.Tenant = p.Tenant + "-victim"
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	known(t, h, victim, "The victim's tea is served hot.")
	waiting, _ := startForget(t, h, forgetRequest(victim, "", schema.Selector{Query: "tea"}))
	ended, _ := h.Ingest(t, testkit.Request(victim, schema.SourceMemory, "The victim keeps a kettle."))
	// A run of another program, without a tenant.
	program := "program/" + uuid.NewString()
	_, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: program,
		TaskQueue: "nobody-" + uuid.NewString()}, "Whatever")
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Temporal.TerminateWorkflow(context.Background(), program, "", "the test is over") })

	id := known(t, h, p, "The attacker's own words.")[0]
	db := testkit.Owner(t, h.DatabaseURL)
	for _, foreign := range []string{waiting.GetID(), ended.ID, program} {
		_, err = db.Exec(ctx,
			`INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at)
			VALUES ($1, gen_random_uuid(), $2, 'none', 'x', 'imported', jsonb_build_object('workflow_id', $3::text),
				now())`, p.Tenant, id, foreign)
		require.NoError(t, err)
	}

	run, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: []string{id}}))
	confirmForget(t, h, p, preview)
	receipt := receiptOf(t, run)
	require.Equal(t, 1, receipt.Forgotten)
	require.Empty(t, receipt.Pending)
	require.Equal(t, 1, receipt.Removed["temporal_runs"], "its own ingest")
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, h.Temporal, waiting.GetID()))
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, h.Temporal, program))
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, statusOf(t, h.Temporal, ended.ID))
}

// A reviewer's comment is in the history of the review. An open review continues without the comment, and its undecided
// proposals expire.
func TestEraseReachesReviews(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana prefers Go for backend services.", "Dana prefers Rust for backend services.")
	reviewWaits(t, h, result.ReviewID)
	first := runOf(t, h.Temporal, result.ReviewID)
	refused := decision(p, item, schema.DecisionApprove)
	refused.TargetVersion, refused.Reason = item.TargetVersion+7, "she said "+canary
	require.Equal(t, schema.ReviewVersionConflict, decide(t, h, refused, result.BatchID).Status)

	erase := func(id string) schema.ForgetReceipt {
		run, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: []string{id}}))
		confirmForget(t, h, p, preview)
		receipt := receiptOf(t, run)
		require.Equal(t, 1, receipt.Forgotten)
		require.Empty(t, receipt.Pending)
		return receipt
	}
	// Another proposal of the batch keeps waiting. (The server may take a minute to delete a run that has just ended:
	// the receipt counts the requested deletions.)
	ctx := context.Background()
	db := testkit.Owner(t, h.DatabaseURL)
	_, err := db.Exec(ctx,
		`INSERT INTO proposals (tenant, id, batch_id, candidate_id, ordinal, state, action, fact, confidence, reason,
			outcome, decided_at, expires_at)
		SELECT tenant, gen_random_uuid(), batch_id, candidate_id, 77, 'blocked', 'add',
		'{"content": "Dana likes cake."}', 1, 'r', 'updates_not_allowed', now(), now() + interval '1 hour'
		FROM proposals WHERE id = $1`, item.ProposalID)
	require.NoError(t, err)
	require.Equal(t, 2, erase(item.TargetID).Removed["temporal_runs"], "its ingest and the review")
	second := runOf(t, h.Temporal, result.ReviewID)
	require.NotEqual(t, first, second)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, h.Temporal, result.ReviewID),
		"open proposals still expire in time")
	reviewWaits(t, h, result.ReviewID)
	var old *serviceerror.NotFound
	if described, err := h.Temporal.DescribeWorkflowExecution(ctx, result.ReviewID, first); !errors.As(err, &old) {
		require.NoError(t, err)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, described.GetWorkflowExecutionInfo().GetStatus())
	}

	// An ended review is deleted and not started again.
	require.NoError(t, h.Temporal.TerminateWorkflow(ctx, result.ReviewID, "", "an operator's"))
	require.GreaterOrEqual(t, erase(item.SourceID).Removed["temporal_runs"], 2)
	described, err := h.Temporal.DescribeWorkflowExecution(ctx, result.ReviewID, "")
	if !errors.As(err, &old) {
		require.NoError(t, err)
		require.Equal(t, second, described.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	}
}

// An earlier preview with a query that quotes the erased text is erased with it.
func TestEraseReachesEarlierPreviews(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	id := known(t, h, p, "The "+canary+" sings.")[0]
	req := forgetRequest(p, "", schema.Selector{Query: canary})
	req.ExpiresSeconds = 1
	expired, _ := startForget(t, h, req)
	require.Equal(t, schema.ForgetExpired, receiptOf(t, expired).State)
	run, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: []string{id}}))
	confirmForget(t, h, p, preview)
	require.Equal(t, 2, receiptOf(t, run).Removed["temporal_runs"], "the ingest and the preview")
	gone(t, h.Temporal, expired.GetID(), "")
}

// A request that is not carried out leaves no stored body, however its run ends.
func TestRequestsAreDroppedWhenTheirRunEnds(t *testing.T) {
	t.Parallel()
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
		defer cancel()
		h := harness.New(t, nil)
		p := testkit.Principal()
		h.StopWorker()
		selecting, putting := make(chan struct{}, 100), make(chan struct{}, 100)
		h.StartWorkerWith(t, around(func(ctx context.Context, name string, run func() (any, error)) (any, error) {
			switch name {
			case "SelectForget": // the test waits for its end
				selecting <- struct{}{}
				return nil, errors.New("not this time")
			case "Put":
				putting <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return run()
		}))
		forget, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue,
			forgetRequest(p, "", schema.Selector{Query: canary}))
		require.NoError(t, err)
		<-selecting
		put, err := mneme.StartPut(ctx, h.Temporal, h.TaskQueue, putOf(t, p, canary))
		require.NoError(t, err)
		<-putting
		db := testkit.Owner(t, h.DatabaseURL)
		require.Equal(t, 2, testkit.Rows(t, db, "staged_requests", ""))
		for _, run := range []client.WorkflowRun{forget, put} {
			require.NoError(t, h.Temporal.CancelWorkflow(ctx, run.GetID(), ""))
			var cancelled *temporal.CanceledError
			require.ErrorAs(t, run.Get(ctx, nil), &cancelled)
		}
		require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
		// Cancelled before a worker has seen it.
		h.StopWorker()
		forget, err = mneme.StartForget(ctx, h.Temporal, h.TaskQueue,
			forgetRequest(p, "", schema.Selector{Query: canary + " again"}))
		require.NoError(t, err)
		require.NoError(t, h.Temporal.CancelWorkflow(ctx, forget.GetID(), ""))
		h.StartWorker(t)
		require.Error(t, forget.Get(ctx, nil))
		require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
	})
	t.Run("refused and failed", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
		defer cancel()
		h := harness.New(t, func(d *workflows.Dependencies) { d.Policy.Mode = schema.ModeFrozen })
		p := testkit.Principal()
		run, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue,
			forgetRequest(p, "", schema.Selector{Query: canary}))
		require.NoError(t, err)
		require.ErrorContains(t, run.Get(ctx, nil), proposals.ReasonMutationsFrozen)
		require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "staged_requests", ""))
		h.StopWorker()
		h.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
			return nil, temporal.NewNonRetryableApplicationError("it cannot be", "Impossible", nil)
		}))
		put, err := mneme.StartPut(ctx, h.Temporal, h.TaskQueue, putOf(t, p, canary))
		require.NoError(t, err)
		require.Error(t, put.Get(ctx, nil))
		require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "staged_requests", ""))
	})
}

func putOf(t *testing.T, p schema.Principal, word string) schema.PutRequest {
	t.Helper()
	var record schema.MemoryRecord
	require.NoError(t,
		record.UnmarshalJSON([]byte(`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "`+word+`",
		"predicate": "is_near", "object": "the sea", "validity": {"mode": "global"}}}`)))
	return schema.PutRequest{Operation: schema.Operation{Principal: p}, Records: []schema.MemoryRecord{record}}
}

// SyncIndex deletes abandoned requests, too.
func TestSyncIndexSweepsAbandonedRequests(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	for name, age := range map[string]time.Duration{"old": 8 * 24 * time.Hour, "young": 6 * 24 * time.Hour} {
		require.NoError(t, h.Store.Accept(ctx, schema.OperationRef{Tenant: "t-" + name, ID: name}, "put",
			map[string]string{"x": canary}, time.Now().Add(-age)))
	}
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: h.TaskQueue},
		workflows.SyncIndex, api.SyncIndexInput{})
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	require.Equal(t, []string{"young"},
		testkit.Strings(t, testkit.Owner(t, h.DatabaseURL), `SELECT id FROM staged_requests`))
}

// Signals have no validator: a malformed one is skipped and does not block the next.
func TestMalformedConfirmationBySignalIsIgnored(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	known(t, h, p, "Tea is served hot.")
	h.StopWorker()
	var taken atomic.Int32
	h.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
		out, err := run()
		if name == "ConfirmForget" && err == nil {
			taken.Add(1)
		}
		return out, err
	}))
	run, preview := startForget(t, h, forgetRequest(p, "", schema.Selector{All: true}))
	token := forgetToken(t, h, p, preview)
	for _, in := range []schema.ForgetConfirmation{{Token: token, Actor: "a\x00b"}, {},
		{Token: token, Reason: strings.Repeat("x", 100_000)}, {Token: token, Actor: "person:bo"}} {
		require.NoError(t, h.Temporal.SignalWorkflow(ctx, run.GetID(), "", api.SignalConfirm, in))
	}
	require.Equal(t, 1, receiptOf(t, run).Forgotten)
	require.EqualValues(t, 1, taken.Load(), "the other confirmations are refused")
}

// A confirmed run whose workflow has failed continues when the same operation is requested again.
func TestFailedForgetResumes(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	crowd(t, h, p, 70)
	h.StopWorker()
	var batches atomic.Int32
	h.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
		if name == "ForgetBatch" && batches.Add(1) == 2 {
			return nil, temporal.NewNonRetryableApplicationError("it cannot be", "Impossible", nil)
		}
		return run()
	}))
	req := inBatches(forgetRequest(p, "", schema.Selector{All: true}))
	req.OperationID = "op-1"
	run, preview := startForget(t, h, req)
	confirmForget(t, h, p, preview)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	require.Error(t, run.Get(ctx, nil))
	again, second := startForget(t, h, req)
	require.NotEqual(t, run.GetRunID(), again.GetRunID())
	require.Equal(t, schema.ForgetConfirmed, second.State)
	require.Equal(t, preview.RunID, second.RunID)
	receipt := receiptOf(t, again)
	require.Equal(t, []int{70, 70}, []int{receipt.Total, receipt.Forgotten})
	requireForgottenOnce(t, h, 70)
}

// A run that is terminated after it has emptied the memories has not removed what is outside of Postgres. The same
// memories can be requested again, as the documentation says, and the second run removes the rest.
func TestATerminatedErasureIsRequestedAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ingested, result := h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The "+canary+" sings."))
	id := result.MemoryIDs[0]
	h.StopWorker()
	held, reached := make(chan struct{}), make(chan struct{}, 10)
	h.StartWorkerWith(t, around(func(ctx context.Context, name string, run func() (any, error)) (any, error) {
		if name == "ForgetVectors" {
			reached <- struct{}{}
			select {
			case <-held:
			case <-ctx.Done():
			}
			return nil, errors.New("terminated before")
		}
		return run()
	}))
	erase := func() (client.WorkflowRun, schema.ForgetPreview) {
		run, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: []string{id}}))
		confirmForget(t, h, p, preview)
		return run, preview
	}
	first, _ := erase()
	select {
	case <-reached:
	case <-ctx.Done():
		require.Fail(t, "the memory is not emptied")
	}
	require.NoError(t, h.Temporal.TerminateWorkflow(ctx, first.GetID(), "", "by mistake"))
	close(held)
	h.StopWorker()
	h.StartWorkerWith(t, worker.Options{})
	require.NotEqual(t, enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, statusOf(t, h.Temporal, ingested.ID))
	db := testkit.Owner(t, h.DatabaseURL)
	words := func() (n int) {
		require.NoError(t, db.QueryRow(ctx, `SELECT count(*) FROM lexeme_stats WHERE tenant = $1 AND docs = 0`,
			p.Tenant).Scan(&n))
		return n
	}
	require.NotZero(t, words())

	again, _ := erase()
	require.NotEqual(t, first.GetRunID(), again.GetRunID())
	receipt := receiptOf(t, again)
	require.Equal(t, 0, receipt.Forgotten)
	require.Equal(t, map[string]int{lifecycle.OutcomeErased: 1}, receipt.Skipped)
	require.Empty(t, receipt.Pending)
	require.GreaterOrEqual(t, receipt.Removed["temporal_runs"], 1, "its ingest")
	gone(t, h.Temporal, ingested.ID, "")
	require.Zero(t, words())
}

// Two workers are killed, each after a batch has committed and before the acknowledgement: the run continues from the
// committed state, forgets nothing twice, and reports its progress.
func TestForgetKilledTwice(t *testing.T) {
	t.Parallel()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	url := testkit.DatabaseURL(t)
	h := harness.NewAt(t, url, c, nil)
	p := testkit.Principal()
	crowd(t, h, p, 120)
	h.StopWorker()
	settings := map[string]string{"DATABASE_URL": url, "TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue}
	gates := []*harness.Gate{harness.NewGate(t, address, "ForgetBatch"), harness.NewGate(t, address, "ForgetBatch")}
	settings["TEMPORAL_ADDRESS"] = gates[0].Address
	victim := harness.StartProcess(t, settings)
	run, preview := startForget(t, h, inBatches(forgetRequest(p, "", schema.Selector{All: true})))
	confirmForget(t, h, p, preview)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	for i, gate := range gates {
		require.NoError(t, gate.WaitHeld(ctx), victim.Output())
		victim.Kill()
		requireForgottenOnce(t, h, 50*(i+1))
		status, err := h.Store.ForgetStatus(ctx, p, uuid.MustParse(preview.RunID))
		require.NoError(t, err)
		require.Equal(t, []int{50 * (i + 1), 120 - 50*(i+1)}, []int{status.Forgotten, status.Remaining})
		settings["TEMPORAL_ADDRESS"] = address
		if i+1 < len(gates) {
			settings["TEMPORAL_ADDRESS"] = gates[i+1].Address
		}
		victim = harness.StartProcess(t, settings)
	}
	receipt := receiptOf(t, run)
	require.Equal(t, 120, receipt.Forgotten)
	require.Empty(t, receipt.Skipped)
	requireForgottenOnce(t, h, 120)
	value, err := c.QueryWorkflow(ctx, run.GetID(), "", api.QueryProgress)
	require.NoError(t, err)
	var progress schema.ForgetReceipt
	require.NoError(t, value.Get(&progress))
	require.Equal(t, []int{120, 0}, []int{progress.Forgotten, progress.Remaining})
}

// A pipeline's workflow id may belong to another tenant's run by the time that it would be stopped.
func TestForgetStopsNoForeignRun(t *testing.T) {
	t.Parallel()
	g := gated{reached: make(chan struct{}), release: make(chan struct{}), stopped: make(chan struct{})}
	h := harness.New(t, func(d *workflows.Dependencies) {
		g.Extractor = d.Brain.Extractor
		d.Brain.Extractor = g
	})
	p, victim := testkit.Principal(), testkit.Principal()
	victim.Tenant = p.Tenant + "-victim"
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	known(t, h, victim, "The victim's tea is served hot.")
	waiting, _ := startForget(t, h, forgetRequest(victim, "", schema.Selector{Query: "tea"}))
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue,
		testkit.Request(p, schema.SourceUserInput, "The "+canary+" came by."))
	require.NoError(t, err)
	<-g.reached
	_, err = testkit.Owner(t, h.DatabaseURL).Exec(ctx, `UPDATE jobs SET workflow_id = $2 WHERE tenant = $1`, p.Tenant,
		waiting.GetID())
	require.NoError(t, err)
	req := forgetRequest(p, "", schema.Selector{IDs: started.Ack.MemoryIDs})
	req.Execute = true
	run, _ := startForget(t, h, req)
	receipt := receiptOf(t, run)
	require.Equal(t, 1, receipt.Forgotten)
	require.Zero(t, receipt.Stopped)
	close(g.release)
	require.NoError(t, started.Run.Get(ctx, nil))
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, h.Temporal, waiting.GetID()))
}

// A run that is cancelled while it selects is closed after the selection has been written.
func TestForgetCancelledWhileItSelects(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	known(t, h, p, "Tea is served hot.")
	h.StopWorker()
	reached, release := make(chan struct{}), make(chan struct{})
	h.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
		out, err := run()
		if name == "SelectForget" {
			close(reached)
			<-release
		}
		return out, err
	}))
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue, forgetRequest(p, "", schema.Selector{Query: "tea"}))
	require.NoError(t, err)
	<-reached
	require.NoError(t, h.Temporal.CancelWorkflow(ctx, run.GetID(), ""))
	require.NoError(t, testkit.Eventually(ctx, func() error { // the workflow has seen the cancellation
		described, err := h.Temporal.DescribeWorkflowExecution(ctx, run.GetID(), "")
		if err != nil {
			return err
		}
		pending := described.GetPendingActivities()
		if described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING &&
			(len(pending) == 0 || pending[0].GetState() != enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED) {
			return errors.New("not yet")
		}
		return nil
	}))
	close(release)
	var receipt schema.ForgetReceipt
	require.NoError(t, run.Get(ctx, &receipt))
	require.Equal(t, schema.ForgetCancelled, receipt.State)
	require.Equal(t, []string{"cancelled"},
		testkit.Strings(t, testkit.Owner(t, h.DatabaseURL), `SELECT state FROM forget_runs`))
}
