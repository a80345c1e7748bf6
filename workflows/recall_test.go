package workflows_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// recallBy recalls through the workflow.
func recallBy(t testing.TB, h *harness.Harness, req schema.RecallRequest) (client.WorkflowRun, schema.RecallResponse) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartRecall(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	out, err := mneme.Outcome[schema.RecallResponse](ctx, run)
	require.NoError(t, err)
	return run, out
}

func TestRecallWorkflow(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	id := known(t, h, p, "The "+canary+" sleeps in the attic.")[0]
	run, out := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "who sleeps in the attic"})
	require.Len(t, out.Results, 1)
	require.Equal(t, id, out.Results[0].ID)
	require.Contains(t, out.Results[0].Content, canary)
	require.True(t, strings.HasPrefix(run.GetID(), "recall/"+p.Tenant+"/"+p.Agent+"/"), run.GetID())
	require.Equal(t, []string{enumspb.EVENT_TYPE_MARKER_RECORDED.String(),
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED.String()},
		barers(t, h.Temporal, run.GetID(), run.GetRunID(), canary), "the content is in the history, as documented")
	described, err := h.Temporal.DescribeWorkflowExecution(context.Background(), run.GetID(), run.GetRunID())
	require.NoError(t, err)
	require.False(t, bares(t, described, canary))
	require.Contains(t, described.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields(),
		mneme.AttrOutcome.GetName())

	_, repeated := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "who sleeps in the attic"})
	require.NotEqual(t, out.RetrievalID, repeated.RetrievalID, "a repeated request is another retrieval")
	_, others := recallBy(t, h, schema.RecallRequest{Principal: testkit.Principal(), Query: "who sleeps in the attic"})
	require.Empty(t, others.Results)
}

// With ids_only an answer adds no content to the history.
func TestRecallOfIDsOnly(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	req := testkit.Request(p, schema.SourceMemory, "The "+canary+" sleeps in the attic.")
	req.Candidates[0].Tags, req.Candidates[0].Speaker = []string{"tag" + canary}, "Speaker "+canary
	req.Candidates[0].Refs = []schema.Ref{{Kind: "event", Ref: "ref-" + canary}}
	started, _ := h.Ingest(t, req)
	run, out := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "who sleeps in the attic", IDsOnly: true})
	require.Len(t, out.Results, 1)
	require.Equal(t, started.Ack.MemoryIDs[0], out.Results[0].ID)
	require.Positive(t, out.Results[0].Score)
	require.Empty(t, barers(t, h.Temporal, run.GetID(), run.GetRunID(), canary))
}

func TestRecallOfAnInvalidRequest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	for field, req := range map[string]schema.RecallRequest{
		"principal.tenant": {Principal: schema.Principal{Agent: "a"}, Query: "x"},
		"query":            {Principal: testkit.Principal(), Query: canary + "\x00"},
		"read_policy":      {Principal: testkit.Principal(), Query: canary, ReadPolicy: schema.ReadPolicy(canary)},
	} {
		var invalid *schema.ValidationError
		_, err := mneme.StartRecall(context.Background(), h.Temporal, h.TaskQueue, req)
		require.ErrorAs(t, err, &invalid)

		// As a client in another language starts it.
		run, err := h.Temporal.ExecuteWorkflow(context.Background(),
			client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(), TaskQueue: h.TaskQueue}, "Recall", req)
		require.NoError(t, err)
		_, err = mneme.Outcome[schema.RecallResponse](context.Background(), run)
		require.ErrorAs(t, err, &invalid)
		require.Len(t, invalid.Fields, 1)
		require.Equal(t, field, invalid.Fields[0].Field)
		require.NotContains(t, err.Error(), canary)
		var app *temporal.ApplicationError
		require.ErrorAs(t, run.Get(context.Background(), nil), &app)
		require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
		described, err := h.Temporal.DescribeWorkflow(context.Background(), run.GetID(), run.GetRunID())
		require.NoError(t, err)
		tenant, _ := described.TypedSearchAttributes.GetKeyword(mneme.AttrTenant)
		require.Equal(t, req.Principal.Tenant, tenant, "an erasure finds it")
	}
}

// accesses returns how often a memory has been returned, as far as it was tracked.
func accesses(t testing.TB, h *harness.Harness, id string) int {
	t.Helper()
	var n int
	require.NoError(t, testkit.Owner(t, h.DatabaseURL).QueryRow(context.Background(),
		"SELECT coalesce(sum(access_count), 0) FROM memory_access WHERE memory_id = $1", id).Scan(&n))
	return n
}

// An activity whose acknowledgement is lost runs the recall again; it counts as one retrieval and one access.
func TestRecallIsTrackedOnce(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
	p := testkit.Principal()
	id := known(t, h, p, "Tea is served hot.")[0]
	_, out := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "tea"})
	require.Len(t, out.Results, 1)
	require.Equal(t, 1, accesses(t, h, id))
	require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "retrievals", "id = $1", out.RetrievalID))
	recallBy(t, h, schema.RecallRequest{Principal: p, Query: "tea"})
	require.Equal(t, 2, accesses(t, h, id))
}

// When the answer is too large for Temporal, the last results are left out, and the response says so.
func TestRecallLargerThanTemporalsLimit(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	const each = 230 << 10
	var want int
	for i := range 10 {
		text := "Kettle " + strings.Repeat(string(rune('a'+i)), 20) + strings.Repeat(" "+strings.Repeat("z", 99),
			each/100)
		want += len(known(t, h, p, text))
	}
	run, out := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "kettle"})
	require.NotEmpty(t, out.Results)
	require.Less(t, len(out.Results), want)
	require.Contains(t, out.Meta.Degraded, "size")
	require.NotEmpty(t, run.GetRunID())
}

// An erased text is left in no history of a recall, of advice or of a report on advice.
func TestEraseReachesRecalls(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	id := known(t, h, p, "The "+canary+" sleeps in the attic.")[0]
	run, out := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "attic"})
	require.Len(t, out.Results, 1)
	victim := testkit.Principal()
	victim.Tenant = p.Tenant + "-victim"
	foreign, _ := recallBy(t, h, schema.RecallRequest{Principal: victim, Query: "attic"})
	advice, err := mneme.StartAdvise(context.Background(), h.Temporal, h.TaskQueue,
		api.AdviseRequest{Principal: p, Task: "clean the attic"})
	require.NoError(t, err)
	advised, err := mneme.Outcome[api.AdviseResponse](context.Background(), advice)
	require.NoError(t, err)
	report, err := mneme.StartReport(context.Background(), h.Temporal, h.TaskQueue,
		api.ReportRequest{Principal: p, AdviceID: advised.AdviceID, Outcome: schema.OutcomeFailure,
			Steps: []api.StepReport{{Error: "the " + canary + " does not sleep in the attic"}}})
	require.NoError(t, err)
	listed(t, h.Temporal, report.GetID())
	listed(t, h.Temporal, run.GetID())
	listed(t, h.Temporal, advice.GetID())
	listed(t, h.Temporal, foreign.GetID())

	erase, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: []string{id}}))
	confirmForget(t, h, p, preview)
	receipt := receiptOf(t, erase)
	require.Equal(t, 4, receipt.Removed["temporal_runs"], "the ingest, the recall, the advice and the report")
	gone(t, h.Temporal, report.GetID(), report.GetRunID())
	gone(t, h.Temporal, run.GetID(), run.GetRunID())
	gone(t, h.Temporal, advice.GetID(), advice.GetRunID())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, statusOf(t, h.Temporal, foreign.GetID()))
}

// listed waits until a completed run is found by a query, because visibility is eventually consistent.
func listed(t testing.TB, c client.Client, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	require.NoError(t, testkit.Eventually(ctx, func() error {
		found, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: harness.Namespace,
			Query: "WorkflowId = '" + id + "' AND ExecutionStatus = 'Completed'"})
		if err == nil && found.GetCount() == 0 {
			err = errors.New("not listed")
		}
		return err
	}))
}

// With a payload key nothing of a recall can be read in its history, nor in the history of a Nexus caller that uses the
// same key.
func TestPayloadKeyHidesRecalls(t *testing.T) {
	t.Parallel()
	key := make([]byte, 32)
	_, err := rand.Read(key)
	require.NoError(t, err)
	seal := func(o *client.Options) { require.NoError(t, config.Encrypt(o, key)) }
	h := harness.NewAt(t, testkit.DatabaseURL(t), harness.DialTemporal(t, testkit.TemporalAddress(t), seal), nil)
	p := testkit.Principal()
	known(t, h, p, "The "+canary+" sleeps in the attic.")
	req := schema.RecallRequest{Principal: p, Query: "where does the " + canary + " sleep"}
	run, out := recallBy(t, h, req)
	require.Len(t, out.Results, 1)
	require.Empty(t, barers(t, harness.Temporal(t), run.GetID(), run.GetRunID(), canary))

	a := newAgentsWith(t, h.Temporal, harness.Namespace, h.TaskQueue, seal)
	call := a.start(t, api.OperationRecall, req)
	require.NoError(t, within(t, call, &out))
	require.Contains(t, out.Results[0].Content, canary)
	anyone := harness.DialTemporal(t, testkit.TemporalAddress(t), func(o *client.Options) { o.Namespace = a.namespace })
	require.Empty(t, barers(t, anyone, call.GetID(), call.GetRunID(), canary))
}

func TestRecallWithoutAChannel(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Recall.Without, d.Recall.With = []string{"vector"}, []string{"expand_query"}
	})
	_, out := recallBy(t, h, schema.RecallRequest{Principal: testkit.Principal(), Query: "kestrel"})
	require.NotContains(t, out.Meta.TimingsMS, "vector")
	require.Contains(t, out.Meta.TimingsMS, "text")
}
