package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// callingAgents are workflows of another program, in their own namespace.
type callingAgents struct {
	temporal  client.Client
	namespace string
	queue     string
	endpoint  string
}

// nexusCall is one operation that an agent's workflow calls.
type nexusCall struct {
	Endpoint  string          `json:"endpoint"`
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input"`
}

// callMneme calls one operation and returns its result.
func callMneme(ctx workflow.Context, in nexusCall) (json.RawMessage, error) {
	var out json.RawMessage
	mneme := workflow.NewNexusClient(in.Endpoint, api.NexusService)
	err := mneme.ExecuteOperation(ctx, in.Operation, in.Input,
		workflow.NexusOperationOptions{ScheduleToCloseTimeout: 2 * time.Minute}).Get(ctx, &out)
	return out, err
}

// diary is the input of keepDiary.
type diary struct {
	Endpoint string           `json:"endpoint"`
	By       schema.Principal `json:"by"`
	Text     string           `json:"text"`
	Question string           `json:"question"`
}

type diaryResult struct {
	Learned api.IngestResult      `json:"learned"`
	Known   schema.RecallResponse `json:"known"`
	Receipt schema.ForgetReceipt  `json:"receipt"`
	Left    schema.RecallResponse `json:"left"`
}

// keepDiary remembers, recalls, forgets, and recalls again.
func keepDiary(ctx workflow.Context, in diary) (out diaryResult, err error) {
	mneme := workflow.NewNexusClient(in.Endpoint, api.NexusService)
	options := workflow.NexusOperationOptions{ScheduleToCloseTimeout: 2 * time.Minute}
	err = mneme.ExecuteOperation(ctx, api.Remembering, schema.IngestRequest{Principal: in.By,
		Candidates: []schema.Candidate{{Content: in.Text, SourceKind: schema.SourceMemory}}},
		options).Get(ctx, &out.Learned)
	question := schema.RecallRequest{Principal: in.By, Query: in.Question}
	if err == nil {
		err = mneme.ExecuteOperation(ctx, api.Recalling, question, options).Get(ctx, &out.Known)
	}
	if err == nil {
		err = mneme.ExecuteOperation(ctx, api.Forgetting,
			schema.ForgetRequest{Operation: schema.Operation{Principal: in.By, Reason: "the diary is closed"},
				Selector: schema.Selector{IDs: out.Learned.MemoryIDs}, Execute: true}, options).Get(ctx, &out.Receipt)
	}
	if err == nil {
		err = mneme.ExecuteOperation(ctx, api.Recalling, question, options).Get(ctx, &out.Left)
	}
	return out, err
}

// newAgents starts the worker of the agents, and creates an endpoint for a task queue of Mneme's.
func newAgents(t testing.TB, served client.Client, namespace, taskQueue string) *callingAgents {
	t.Helper()
	return newAgentsWith(t, served, namespace, taskQueue, func(*client.Options) {})
}

// newAgentsWith is newAgents with client options.
func newAgentsWith(t testing.TB, served client.Client, namespace, taskQueue string,
	change func(*client.Options)) *callingAgents {
	t.Helper()
	address := testkit.TemporalAddress(t)
	a := &callingAgents{namespace: harness.NewNamespace(t, address), queue: "agents", endpoint: "t-" + uuid.NewString()}
	a.temporal = harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = a.namespace; change(o) })
	made, changed, err := mneme.EnsureNexusEndpoint(context.Background(), served,
		mneme.Endpoint{Name: a.endpoint, Namespace: namespace, TaskQueue: taskQueue}, false)
	require.NoError(t, err)
	require.True(t, changed)
	t.Cleanup(func() {
		_, _ = served.OperatorService().DeleteNexusEndpoint(context.Background(),
			&operatorservice.DeleteNexusEndpointRequest{Id: made.ID, Version: made.Version})
	})
	w := worker.New(a.temporal, a.queue, worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterWorkflow(callMneme)
	w.RegisterWorkflow(keepDiary)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return a
}

// start has an agent call an operation.
func (a *callingAgents) start(t testing.TB, operation string, input any) client.WorkflowRun {
	t.Helper()
	encoded, err := json.Marshal(input)
	require.NoError(t, err)
	run, err := a.temporal.ExecuteWorkflow(context.Background(),
		client.StartWorkflowOptions{ID: "agent/" + uuid.NewString(), TaskQueue: a.queue},
		callMneme, nexusCall{Endpoint: a.endpoint, Operation: operation, Input: encoded})
	require.NoError(t, err)
	return run
}

// within waits for the end of a run.
func within(t testing.TB, run client.WorkflowRun, out any) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	return run.Get(ctx, out)
}

func TestNexusMemory(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	p := testkit.Principal()
	run, err := a.temporal.ExecuteWorkflow(context.Background(),
		client.StartWorkflowOptions{ID: "diary/" + uuid.NewString(), TaskQueue: a.queue},
		keepDiary, diary{Endpoint: a.endpoint, By: p, Text: "The copper kettle stands in the attic.",
			Question: "where is the kettle"})
	require.NoError(t, err)
	var out diaryResult
	require.NoError(t, within(t, run, &out))
	require.Equal(t, 1, out.Learned.Indexed.Upserted)
	require.Len(t, out.Known.Results, 1)
	require.Equal(t, out.Learned.MemoryIDs[0], out.Known.Results[0].ID)
	require.Equal(t, "The copper kettle stands in the attic.", out.Known.Results[0].Content)
	require.Equal(t, schema.ForgetDone, out.Receipt.State)
	require.Equal(t, 1, out.Receipt.Forgotten)
	require.Empty(t, out.Left.Results)
	require.Equal(t, 1, accesses(t, h, out.Learned.MemoryIDs[0]))
}

// Two users keep diaries with the same words and the same key: every operation affects only its own user.
func TestNexusMemoryOfUsers(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	const text, question = "The copper kettle stands in the attic.", "where is the kettle"
	p := testkit.Principal()
	ids := map[string]string{}
	for _, user := range []string{"maya", "tom"} {
		p.User = user
		req := testkit.Request(p, schema.SourceMemory, text)
		req.IdempotencyKey = "import/1"
		var learned api.IngestResult
		require.NoError(t, within(t, a.start(t, api.OperationRemember, req), &learned))
		require.Empty(t, learned.Deduped)
		ids[user] = learned.MemoryIDs[0]
	}
	require.NotEqual(t, ids["maya"], ids["tom"])
	recallFor := func(user string) schema.RecallResponse {
		p.User = user
		var out schema.RecallResponse
		require.NoError(t, within(t, a.start(t, api.OperationRecall,
			schema.RecallRequest{Principal: p, Query: question}), &out))
		_, by := recallBy(t, h, schema.RecallRequest{Principal: p, Query: question}) // and through the workflow
		require.Equal(t, len(out.Results), len(by.Results))
		return out
	}
	answer := recallFor("maya")
	require.Len(t, answer.Results, 1)
	require.Equal(t, ids["maya"], answer.Results[0].ID)
	require.Empty(t, recallFor("").Results)

	// Tom can neither rate nor forget Maya's memories, by any reference.
	p.User = "tom"
	err := within(t, a.start(t, api.OperationFeedback,
		schema.FeedbackRequest{Operation: schema.Operation{Principal: p}, RetrievalID: answer.RetrievalID,
			Outcome: schema.OutcomeSuccess}), nil)
	require.Error(t, err)
	var receipt schema.ForgetReceipt
	require.NoError(t, within(t, a.start(t, api.OperationForget,
		schema.ForgetRequest{Operation: schema.Operation{Principal: p, Reason: "mine"},
			Selector: schema.Selector{IDs: []string{ids["maya"]}}, Execute: true}), &receipt))
	require.Zero(t, receipt.Forgotten)
	require.Len(t, recallFor("maya").Results, 1)

	p.User, p.Scope = "maya", "kitchen"
	err = within(t, a.start(t, api.OperationRecall, schema.RecallRequest{Principal: p, Query: question}), nil)
	require.ErrorContains(t, err, "BAD_REQUEST")
}

// An idempotency key returns the first result, even after its run has ended.
func TestNexusRememberWithAKey(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	req := testkit.Request(testkit.Principal(), schema.SourceMemory, "Tea is served hot.")
	req.IdempotencyKey = "import/1"
	started, first := h.Ingest(t, req) // not through Nexus
	var got api.IngestResult
	require.NoError(t, within(t, a.start(t, api.OperationRemember, req), &got))
	require.Equal(t, first, got)
	described, err := h.Temporal.DescribeWorkflowExecution(context.Background(), started.ID, "")
	require.NoError(t, err)
	require.Equal(t, started.RunID, described.GetWorkflowExecutionInfo().GetExecution().GetRunId())
}

func TestNexusInvalidInput(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	p := testkit.Principal()
	for operation, cases := range map[string]map[string]any{
		api.OperationRemember: {"candidates[1].content": badRequests()["candidates[1].content"],
			"candidates[0].colour": map[string]any{"principal": p,
				"candidates": []any{map[string]any{"content": "x", "colour": canary}}}},
		api.OperationFeedback: {"colour": map[string]any{"principal": p, "retrieval_id": uuid.NewString(),
			"outcome": "success", "colour": canary}},
		api.OperationRecall: {"limt": map[string]any{"principal": p, "query": "x", "limt": canary},
			"query":           schema.RecallRequest{Principal: p, Query: canary + "\x00"},
			"principal.agent": schema.RecallRequest{Principal: schema.Principal{Tenant: "t"}, Query: canary}},
		api.OperationGet: {"id": map[string]any{"principal": p, "ids": []string{uuid.NewString()}, "id": canary},
			"ids[0]": schema.GetRequest{Principal: p, IDs: []string{canary}}, "ids": schema.GetRequest{Principal: p}},
		api.OperationForget: {"reason": schema.ForgetRequest{Operation: schema.Operation{Principal: p},
			Selector: schema.Selector{Query: canary}},
			"selector.ids[0]": forgetRequest(p, "", schema.Selector{IDs: []string{canary}})},
	} {
		for field, input := range cases {
			run := a.start(t, operation, input)
			err := within(t, run, nil)
			var bad *nexus.HandlerError
			require.ErrorAs(t, err, &bad, operation)
			require.Equal(t, nexus.HandlerErrorTypeBadRequest, bad.Type)
			var app *temporal.ApplicationError
			require.True(t, errors.As(bad, &app), "%v", bad)
			require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
			var invalid schema.ValidationError
			require.NoError(t, app.Details(&invalid))
			require.Len(t, invalid.Fields, 1)
			require.Equal(t, field, invalid.Fields[0].Field)
			for _, event := range barers(t, a.temporal, run.GetID(), run.GetRunID(), canary) {
				require.NotContains(t, event, "Failed", operation)
			}
		}
	}
	require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "memories", ""))
}

// Where callers are bound to tenants, the tenant in the payload is not trusted.
func TestNexusCallersAreBound(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	foreign := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	p := testkit.Principal()
	var err error
	h.Deps.Callers, err = workflows.ParseCallers("namespace:" + a.namespace + "=" + p.Tenant)
	require.NoError(t, err)
	h.StartWorker(t)
	known(t, h, p, "Tea is served hot.")
	recallFor := func(by *callingAgents, tenant string) (schema.RecallResponse, error) {
		var out schema.RecallResponse
		err := within(t, by.start(t, api.OperationRecall,
			schema.RecallRequest{Principal: schema.Principal{Tenant: tenant, Agent: p.Agent}, Query: "tea"}), &out)
		return out, err
	}
	for _, tenant := range []string{p.Tenant, ""} { // a caller bound to one tenant need not name it
		out, err := recallFor(a, tenant)
		require.NoError(t, err)
		require.Len(t, out.Results, 1)
	}
	for tenant, by := range map[string]*callingAgents{p.Tenant: foreign, "tenant-of-others": a} {
		_, err := recallFor(by, tenant)
		var refused *nexus.HandlerError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, nexus.HandlerErrorTypeUnauthorized, refused.Type)
		require.NotContains(t, err.Error(), tenant)
	}
	for operation, input := range map[string]any{api.OperationRemember: testkit.Request(p, schema.SourceMemory,
		"Coffee is cold."),
		api.OperationForget: forgetRequest(p, "", schema.Selector{All: true})} {
		var refused *nexus.HandlerError
		require.ErrorAs(t, within(t, foreign.start(t, operation, input), nil), &refused)
		require.Equal(t, nexus.HandlerErrorTypeUnauthorized, refused.Type)
	}
	require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "memories", ""))
}

// pointing is an index that returns one id for every query.
type pointing struct {
	vector.Index
	id uuid.UUID
}

func (p pointing) Search(context.Context, pg.Filter, pg.Embedding, int) ([]search.Hit, error) {
	return []search.Hit{{ID: p.id, Score: 0.9}}, nil
}

// A recall that takes longer than a handler's deadline continues as a workflow, and the caller gets its answer.
func TestNexusRecallTakesLong(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	at := &pointing{Index: h.Deps.Index}
	h.Deps.Index = at
	h.StartWorker(t)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	p := testkit.Principal()
	id := known(t, h, p, "Tea is served hot.")[0]
	at.id = uuid.MustParse(id)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	db := testkit.Owner(t, h.DatabaseURL)
	_, err := db.Exec(ctx, "BEGIN")
	require.NoError(t, err)
	_, err = db.Exec(ctx, "LOCK TABLE memories IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	req := schema.RecallRequest{Principal: p, Query: "tea"}
	run := a.start(t, api.OperationRecall, req)
	_, err = waitFor(ctx, h.Temporal, api.RecallWorkflowID(req))
	require.NoError(t, err)
	_, err = db.Exec(ctx, "ROLLBACK")
	require.NoError(t, err)
	var out schema.RecallResponse
	require.NoError(t, within(t, run, &out))
	require.Len(t, out.Results, 1)
	require.Equal(t, id, out.Results[0].ID)
	require.Equal(t, 1, accesses(t, h, id))
}

func TestEnsureNexusEndpoint(t *testing.T) {
	t.Parallel()
	c := harness.Temporal(t)
	ctx := context.Background()
	want := mneme.Endpoint{Name: "t-" + uuid.NewString(), Namespace: harness.Namespace, TaskQueue: "q1"}
	made, changed, err := mneme.EnsureNexusEndpoint(ctx, c, want, false)
	require.NoError(t, err)
	require.True(t, changed)
	t.Cleanup(func() {
		last, _, _ := mneme.NexusEndpointNamed(ctx, c, want.Name)
		_, _ = c.OperatorService().DeleteNexusEndpoint(ctx, &operatorservice.DeleteNexusEndpointRequest{Id: last.ID,
			Version: last.Version})
	})
	again, changed, err := mneme.EnsureNexusEndpoint(ctx, c, want, false)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, made, again)
	want.TaskQueue = "q2"
	_, _, err = mneme.EnsureNexusEndpoint(ctx, c, want, false)
	require.ErrorIs(t, err, mneme.ErrEndpointElsewhere)
	moved, changed, err := mneme.EnsureNexusEndpoint(ctx, c, want, true)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, "q2", moved.TaskQueue)
	require.Equal(t, made.ID, moved.ID)
}
