package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

func forgetRequest(p schema.Principal, mode schema.ForgetMode, sel schema.Selector) schema.ForgetRequest {
	return schema.ForgetRequest{Operation: schema.Operation{Principal: p, Actor: "person:mia",
		Reason: "not wanted any more"}, Mode: mode, Selector: sel}
}

// inBatches lowers the batch size, so that a test needs few memories for three batches.
func inBatches(req schema.ForgetRequest) schema.ForgetRequest {
	req.BatchSize = 50
	return req
}

// startForget starts a run and returns its preview.
func startForget(t testing.TB, h *harness.Harness,
	req schema.ForgetRequest) (client.WorkflowRun, schema.ForgetPreview) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	preview, err := mneme.ForgetPreview(ctx, h.Temporal, run)
	require.NoError(t, err)
	return run, preview
}

func forgetToken(t testing.TB, h *harness.Harness, p schema.Principal, preview schema.ForgetPreview) string {
	t.Helper()
	token, err := h.Store.ForgetToken(context.Background(), p, uuid.MustParse(preview.RunID), time.Now())
	require.NoError(t, err)
	return token
}

func confirmForget(t testing.TB, h *harness.Harness, p schema.Principal, preview schema.ForgetPreview) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	_, err := mneme.ConfirmForget(ctx, h.Temporal, preview.WorkflowID,
		schema.ForgetConfirmation{Token: forgetToken(t, h, p, preview), Actor: "person:bo"})
	require.NoError(t, err)
}

func receiptOf(t testing.TB, run client.WorkflowRun) schema.ForgetReceipt {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	receipt, err := mneme.Outcome[schema.ForgetReceipt](ctx, run)
	require.NoError(t, err)
	return receipt
}

func TestForgetWaitsForItsConfirmation(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ids := known(t, h, p, "The old project used Subversion.", "The old project had no tests.", "Tea is served hot.")
	run, preview := startForget(t, h, forgetRequest(p, "", schema.Selector{Query: "old project"}))
	require.Equal(t, 2, preview.Total)
	require.ElementsMatch(t, ids[:2], preview.Sample)
	require.Empty(t, preview.ConfirmToken)
	_, again := startForget(t, h, forgetRequest(p, "", schema.Selector{Query: "old project"}))
	require.Equal(t, preview, again, "the same request joins the waiting run")
	_, other := startForget(t, h, forgetRequest(p, "", schema.Selector{Query: "tea"}))
	ctx := context.Background()
	for token, want := range map[string]error{"x": schema.ErrTokenMalformed,
		forgetToken(t, h, p, other): schema.ErrTokenOther} {
		_, err := mneme.ConfirmForget(ctx, h.Temporal, run.GetID(), schema.ForgetConfirmation{Token: token})
		require.ErrorIs(t, err, want)
		require.NotContains(t, err.Error(), token+"x")
	}
	db := testkit.Owner(t, h.DatabaseURL)
	require.Zero(t, testkit.Rows(t, db, "memories", "deleted_at IS NOT NULL"), "a preview changes nothing")

	// Four confirmations at once: one of them is accepted.
	token := forgetToken(t, h, p, preview)
	var wg sync.WaitGroup
	var first, failed atomic.Int32
	for range 4 {
		wg.Go(func() {
			out, err := mneme.ConfirmForget(ctx, h.Temporal, run.GetID(), schema.ForgetConfirmation{Token: token})
			var ended *serviceerror.NotFound
			switch {
			case errors.As(err, &ended):
			case err != nil:
				failed.Add(1)
			case !out.Already:
				first.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, first.Load())
	require.Zero(t, failed.Load())
	receipt := receiptOf(t, run)
	require.Equal(t, schema.ForgetDone, receipt.State)
	require.Equal(t, 2, receipt.Forgotten)
	require.Equal(t, 2, receipt.Removed["vectors/pgvector"])
	require.Equal(t, 2, testkit.Rows(t, db, "memory_history", "event = 'deleted' AND changed_by = 'person:mia'"))
	require.Zero(t, testkit.Rows(t, db, "index_outbox", "op = 'delete'"))
	_, err := mneme.ConfirmForget(ctx, h.Temporal, run.GetID(), schema.ForgetConfirmation{Token: token})
	var ended *serviceerror.NotFound
	require.ErrorAs(t, err, &ended)

	// A signal returns no answer.
	require.NoError(t, h.Temporal.SignalWorkflow(ctx, other.WorkflowID, "", api.SignalConfirm,
		schema.ForgetConfirmation{Token: token}))
	require.NoError(t, h.Temporal.SignalWorkflow(ctx, other.WorkflowID, "", api.SignalConfirm,
		schema.ForgetConfirmation{Token: forgetToken(t, h, p, other)}))
	require.Equal(t, 1, receiptOf(t, h.Temporal.GetWorkflow(ctx, other.WorkflowID, "")).Forgotten)
}

func TestForgetOfFewIDsNeedsNoConfirmation(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ids := known(t, h, p, "Tea is served hot.", "The kettle is made of copper.")
	req := forgetRequest(p, "", schema.Selector{IDs: append(ids, uuid.NewString())})
	req.Execute, req.OperationID = true, "op-1"
	run, preview := startForget(t, h, req)
	require.Equal(t, schema.ForgetConfirmed, preview.State)
	receipt := receiptOf(t, run)
	require.Equal(t, 2, receipt.Forgotten)
	require.Equal(t, map[string]int{lifecycle.OutcomeNotFound: 1}, receipt.Skipped)
	again, _ := startForget(t, h, req)
	require.Equal(t, receipt, receiptOf(t, again), "the operation returns its first result")
}

func TestForgetIsRefused(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) { d.Policy.Mode = schema.ModeFrozen })
	p := testkit.Principal()
	ctx := context.Background()
	run, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue, forgetRequest(p, "", schema.Selector{All: true}))
	require.NoError(t, err)
	_, err = mneme.ForgetPreview(ctx, h.Temporal, run)
	require.ErrorContains(t, err, proposals.ReasonMutationsFrozen)
	var app *temporal.ApplicationError
	require.ErrorAs(t, run.Get(ctx, nil), &app)
	require.Equal(t, api.ErrTypeFrozen, app.Type())

	_, err = mneme.StartForget(ctx, h.Temporal, h.TaskQueue,
		forgetRequest(p, "gone", schema.Selector{IDs: []string{canary}}))
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.NotContains(t, err.Error(), canary)
	plain, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: h.TaskQueue}, workflows.Forget,
		schema.ForgetRequest{})
	require.NoError(t, err)
	_, err = mneme.Outcome[schema.ForgetReceipt](ctx, plain)
	require.ErrorAs(t, err, &invalid)
}

// cellsHolding lists the columns, of any type, in which a row contains the word.
func cellsHolding(t testing.TB, h *harness.Harness, word string) []string {
	t.Helper()
	db := testkit.Owner(t, h.DatabaseURL)
	out := []string{}
	for _, column := range testkit.Strings(t, db,
		`SELECT format('%I %I', c.relname, a.attname) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0
			AND NOT a.attisdropped`) {
		table, name, _ := strings.Cut(column, " ")
		if n := testkit.Strings(t, db, `SELECT count(*)::text FROM `+table+` WHERE lower(`+name+`::text) LIKE ANY($1)`,
			[]string{"%" + word + "%", fmt.Sprintf("%%%x%%", word)}); n[0] != "0" { // bytea is shown as hex
			out = append(out, table+"."+name)
		}
	}
	return out
}

// No table, and no history of a run that wrote it, contains an erased text.
func TestEraseLeavesNoTrace(t *testing.T) {
	t.Parallel()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	h := harness.NewAt(t, testkit.DatabaseURL(t), c, nil)
	p := testkit.Principal()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()

	req := testkit.Request(p, schema.SourceUserInput, "I live in "+canary+" and work at Acme.",
		"Tea is served hot in Porto.")
	req.Candidates[0].Speaker = "Ana " + canary
	req.Candidates[0].Refs = []schema.Ref{{Kind: "event", Ref: "ref-" + canary}}
	started, _ := h.Ingest(t, req)
	var put schema.PutResult
	var record schema.MemoryRecord
	require.NoError(t,
		record.UnmarshalJSON([]byte(`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "`+canary+`",
		"predicate": "is_near", "object": "the sea", "validity": {"mode": "global"}}}`)))
	putRun, err := mneme.StartPut(ctx, c, h.TaskQueue,
		schema.PutRequest{Operation: schema.Operation{Principal: p}, Records: []schema.MemoryRecord{record}})
	require.NoError(t, err)
	require.NoError(t, putRun.Get(ctx, &put))
	require.Equal(t, schema.PutCreated, put.Items[0].Status)
	plain := known(t, h, p, "The kettle is made of copper.")
	words := "The kettle comes from " + canary + "."
	_, modified := modify(t, h, modifyRequest(p, schema.Patch{ID: plain[0], Content: &words}))
	require.Equal(t, schema.PatchUpdated, modified.Results[0].Status)
	// A soft forget by a query that quotes the word: its request contains the word.
	soft, preview := startForget(t, h, forgetRequest(p, "", schema.Selector{Query: "kettle " + canary}))
	require.Equal(t, 1, preview.Total)
	confirmForget(t, h, p, preview)
	receiptOf(t, soft)
	require.Greater(t, len(cellsHolding(t, h, canary)), 10, "the test covers all tables")
	db := testkit.Owner(t, h.DatabaseURL)

	ids := []string{started.Ack.MemoryIDs[0], put.Items[0].ID, plain[0]}
	run, preview := startForget(t, h,
		forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: ids, IncludeDerived: true}))
	require.GreaterOrEqual(t, preview.Total, 3)
	confirmForget(t, h, p, preview)
	receipt := receiptOf(t, run)
	require.Equal(t, preview.Total, receipt.Forgotten)
	require.Empty(t, receipt.Pending)
	require.Equal(t, 5, receipt.Removed["temporal_runs"], "ingest, put, ingest, modify and forget: %v", receipt.Removed)
	require.Empty(t, cellsHolding(t, h, canary))

	require.NoError(t, testkit.Eventually(ctx, func() error { // the server deletes asynchronously
		for _, gone := range []string{started.ID, putRun.GetID(), soft.GetID()} {
			_, err := c.DescribeWorkflowExecution(ctx, gone, "")
			var missing *serviceerror.NotFound
			if !errors.As(err, &missing) {
				return fmt.Errorf("%s still exists: %v", strings.SplitN(gone, "/", 2)[0], err)
			}
		}
		return nil
	}))
	require.NoError(t, testkit.Eventually(ctx, func() error {
		left := 0
		for token := []byte(nil); ; {
			page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace,
				NextPageToken: token})
			if err != nil {
				return err
			}
			for _, e := range page.GetExecutions() {
				id := e.GetExecution()
				iter := c.GetWorkflowHistory(ctx, id.GetWorkflowId(), id.GetRunId(), false,
					enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
				for iter.HasNext() {
					event, err := iter.Next()
					if err != nil {
						break // deleted in the meantime
					}
					if bares(t, event, canary) {
						return fmt.Errorf("still in a history: %s", strings.SplitN(id.GetWorkflowId(), "/", 2)[0])
					}
				}
				left++
			}
			if token = page.GetNextPageToken(); len(token) == 0 {
				break
			}
		}
		if left == 0 {
			return errors.New("no run was listed")
		}
		return nil
	}))

	// The erased rows and their history still exist. Other memories are unchanged.
	require.Equal(t, receipt.Forgotten,
		testkit.Rows(t, db, "memories", "erased_at IS NOT NULL AND content = '' AND payload = '{}'"))
	for _, id := range ids {
		require.Equal(t, 1, testkit.Rows(t, db, "memory_history",
			"memory_id = $1 AND action = 'erase' AND changed_by = 'person:bo' AND reason = 'not wanted any more'", id))
		require.NotZero(t, testkit.Rows(t, db, "memory_history",
			"memory_id = $1 AND event = 'created' AND erased_at IS NOT NULL", id))
	}
	require.Equal(t, 2, testkit.Rows(t, db, "memories", "live AND content = 'Tea is served hot in Porto.'"),
		"still stored")
	requireExactGraph(t, h)
}

// requireExactGraph recomputes the counts of the graph.
func requireExactGraph(t testing.TB, h *harness.Harness) {
	t.Helper()
	db := testkit.Owner(t, h.DatabaseURL)
	require.Zero(t, testkit.Rows(t, db, "entities",
		"mentions <> (SELECT count(*) FROM memory_entity_mentions m WHERE m.tenant = entities.tenant AND m.entity_id "+
			"= entities.id)"))
	require.Zero(t, testkit.Rows(t, db, "entity_relations",
		`mentions <> (SELECT count(*) FROM entity_relation_sources m WHERE m.tenant = entity_relations.tenant
		AND (m.source_id, m.relationship, m.target_id) = (entity_relations.source_id, entity_relations.relationship, entity_relations.target_id))`))
}

var forgettingOf *activities.Forgetting

// forgetEnv is a Forget run with mocked activities: total memories, in batches of 500.
type forgetEnv struct {
	*testsuite.TestWorkflowEnvironment
	receipt schema.ForgetReceipt
	closed  []schema.ForgetState
	batches int
}

func newForgetEnv(t *testing.T, total int) *forgetEnv {
	t.Helper()
	s := &forgetEnv{TestWorkflowEnvironment: harness.Environment()}
	workflows.Register(s.TestWorkflowEnvironment, workflows.Dependencies{})
	s.receipt = schema.ForgetReceipt{State: schema.ForgetPreviewed, RunID: uuid.NewString(), Mode: schema.ForgetSoft,
		Total: total, Remaining: total}
	var accepting *activities.Accepting
	s.OnActivity(accepting.Accept, mock.Anything, mock.Anything).Return(activities.Refusal{}, nil).Maybe()
	s.OnActivity(forgettingOf.SelectForget, mock.Anything, mock.Anything).Return(func(context.Context,
		schema.OperationRef) (schema.ForgetPreview, error) {
		return schema.ForgetPreview{RunID: s.receipt.RunID, Mode: schema.ForgetSoft, State: schema.ForgetPreviewed,
			Total: total, ExpiresAt: s.Now().Add(24 * time.Hour)}, nil
	}).Maybe()
	s.OnActivity(forgettingOf.ConfirmForget, mock.Anything, mock.Anything).Return(func(context.Context,
		activities.ConfirmForgetRequest) (schema.ForgetApproval, error) {
		s.receipt.State = schema.ForgetConfirmed
		return schema.ForgetApproval{State: schema.ForgetConfirmed}, nil
	}).Maybe()
	s.OnActivity(forgettingOf.ForgetBatch, mock.Anything, mock.Anything).Return(func(context.Context,
		activities.ForgetBatchRequest) (schema.ForgetReceipt, error) {
		s.batches++
		n := min(500, s.receipt.Remaining)
		s.receipt.Forgotten, s.receipt.Remaining = s.receipt.Forgotten+n, s.receipt.Remaining-n
		return s.receipt, nil
	}).Maybe()
	s.OnActivity(forgettingOf.ForgetVectors, mock.Anything, mock.Anything).Return(nil).Maybe()
	s.OnActivity(forgettingOf.CloseForget, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.CloseForgetRequest) (schema.ForgetReceipt, error) {
		s.closed = append(s.closed, in.State)
		if in.State != schema.ForgetExpired || s.receipt.State == schema.ForgetPreviewed {
			s.receipt.State = in.State
		}
		s.receipt.Pending = append(s.receipt.Pending, in.Pending...)
		return s.receipt, nil
	}).Maybe()
	return s
}

func TestUnconfirmedForgetExpires(t *testing.T) {
	t.Parallel()
	s := newForgetEnv(t, 10)
	s.ExecuteWorkflow(workflows.Forget,
		forgetRequest(schema.Principal{Tenant: "t", Agent: "a"}, "", schema.Selector{All: true}))
	var receipt schema.ForgetReceipt
	require.NoError(t, s.GetWorkflowResult(&receipt))
	require.Equal(t, schema.ForgetExpired, receipt.State)
	require.Equal(t, 10, receipt.Remaining)
	require.Zero(t, s.batches)
}

// The confirmation reaches the database in time and the workflow too late. The run continues.
func TestForgetConfirmedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	s := newForgetEnv(t, 10)
	s.receipt.State = schema.ForgetConfirmed
	s.ExecuteWorkflow(workflows.Forget,
		forgetRequest(schema.Principal{Tenant: "t", Agent: "a"}, "", schema.Selector{All: true}))
	var receipt schema.ForgetReceipt
	require.NoError(t, s.GetWorkflowResult(&receipt))
	require.Equal(t, schema.ForgetDone, receipt.State)
	require.Equal(t, 10, receipt.Forgotten)
}

func TestLongForgetContinuesAsNew(t *testing.T) {
	t.Parallel()
	s := newForgetEnv(t, 400*500+700)
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalConfirm, schema.ForgetConfirmation{Token: "t"}) },
		time.Hour)
	s.ExecuteWorkflow(workflows.Forget,
		forgetRequest(schema.Principal{Tenant: "t", Agent: "a"}, "", schema.Selector{Query: canary}))
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, s.GetWorkflowError(), &next)
	require.Equal(t, "ContinueForget", next.WorkflowType.Name)
	require.NotContains(t, next.Input.String(), canary)

	rest := newForgetEnv(t, 400*500+700)
	rest.receipt = s.receipt
	rest.ExecuteWorkflow(workflows.ContinueForget,
		api.ForgetRest{Tenant: "t", Preview: schema.ForgetPreview{RunID: s.receipt.RunID}, Receipt: s.receipt})
	var receipt schema.ForgetReceipt
	require.NoError(t, rest.GetWorkflowResult(&receipt))
	require.Equal(t, schema.ForgetDone, receipt.State)
	require.Equal(t, 400*500+700, receipt.Forgotten)
	require.Equal(t, []int{400, 2}, []int{s.batches, rest.batches})
}

// An unreachable index does not delay the run, and the receipt reports it.
func TestForgetReportsAnUnreachableIndex(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	known(t, h, p, "Tea is served hot.")
	h.StopWorker()
	h.StartWorkerWith(t,
		worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: func(_ context.Context, name string,
			run func() (any, error)) (any, error) {
			if name == "ForgetVectors" {
				return nil, temporal.NewNonRetryableApplicationError("the index cannot be reached", "Unreachable", nil)
			}
			return run()
		}}}})
	run, preview := startForget(t, h, forgetRequest(p, "", schema.Selector{All: true}))
	confirmForget(t, h, p, preview)
	receipt := receiptOf(t, run)
	require.Equal(t, []string{"index"}, receipt.Pending)
	require.Equal(t, 1, receipt.Forgotten)
}
