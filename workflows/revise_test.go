package workflows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/workflows"
)

// prefers returns document 004's preference record; conditions may be empty.
func prefers(language, conditions string) schema.MemoryRecord {
	validity := `{"mode":"global"}`
	if conditions != "" {
		validity = `{"mode":"conditional","conditions":` + conditions + `}`
	}
	return schema.MemoryRecord{Type: schema.TypeSemantic, Content: "The user prefers " + language + ".",
		Confidence: 0.9, Importance: 0.8, Salience: 1, SourceTrust: 1,
		Provenance: schema.Provenance{Sources: []schema.Ref{{Kind: "event", Ref: "evt://1"}}},
		Payload:    json.RawMessage(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"user","predicate":"prefers_backend_language","object":"` + language + `","validity":` + validity + `}`)}
}

// putRecord puts a record through its workflow and returns its id.
func putRecord(t testing.TB, c client.Client, queue string, p schema.Principal, m schema.MemoryRecord) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartPut(ctx, c, queue,
		schema.PutRequest{Operation: schema.Operation{Principal: p}, Records: []schema.MemoryRecord{m}})
	require.NoError(t, err)
	result, err := mneme.Outcome[schema.PutResult](ctx, run)
	require.NoError(t, err)
	require.Equal(t, schema.PutCreated, result.Items[0].Status)
	return result.Items[0].ID
}

func reviseRequest(p schema.Principal, action schema.ReviseAction, record *schema.MemoryRecord,
	targets ...schema.Target) schema.ReviseRequest {
	return schema.ReviseRequest{Operation: schema.Operation{Principal: p, Actor: "person:mia", Reason: "said so later"},
		Action: action, Record: record,
		Targets: targets, Evidence: []schema.Ref{{Kind: "event", Ref: "evt://2"}}}
}

func revise(t testing.TB, c client.Client, queue string,
	req schema.ReviseRequest) (client.WorkflowRun, schema.ReviseResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartRevise(ctx, c, queue, req)
	require.NoError(t, err)
	result, err := mneme.Outcome[schema.ReviseResult](ctx, run)
	require.NoError(t, err)
	return run, result
}

// The preference example of document 004 §7: Go for backend services; later evidence shows Python for data science.
// Both coexist, and the context selects.
func TestPreferenceIsForked(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	golang := putRecord(t, h.Temporal, h.TaskQueue, p, prefers("go", ""))
	python := prefers("python", `{"project_kind":"data_science"}`)
	req := reviseRequest(p, schema.ReviseFork, &python, schema.Target{ID: golang, IfVersion: 1})
	_, result := revise(t, h.Temporal, h.TaskQueue, req)
	require.Equal(t, schema.ReviseOverlap, result.Status, "a preference without conditions excludes another one")
	req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional,
		Conditions: json.RawMessage(`{"project_kind":"backend_service"}`)}
	req.OperationID = "fork-1"
	run, result := revise(t, h.Temporal, h.TaskQueue, req)
	require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
	require.Len(t, result.Created, 2)

	ctx := context.Background()
	for kind, want := range map[string][]string{
		`{"project_kind":"data_science"}`:    {"The user prefers python."},
		`{"project_kind":"backend_service"}`: {"The user prefers go."},
		`{"project_kind":"game"}`:            {}, `{}`: {"The user prefers go.", "The user prefers python."},
	} {
		page, err := h.Store.List(ctx, pg.Filter{Principal: p, Context: json.RawMessage(kind)}, pg.Page{})
		require.NoError(t, err)
		found := []string{}
		for _, m := range page {
			found = append(found, m.Content)
		}
		slices.Sort(found)
		require.Equal(t, want, found, kind)
	}
	db := testkit.Owner(t, h.DatabaseURL)
	testkit.CheckInvariants(t, db)
	require.Zero(t, testkit.Rows(t, db, "index_outbox", ""), "the index is updated")
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
	require.Equal(t, 2, testkit.Rows(t, db, "memory_embeddings", "memory_id = ANY($1)", result.Created))

	// Started again, the operation returns its first result, whatever the run.
	again, same := revise(t, h.Temporal, h.TaskQueue, req)
	require.Equal(t, run.GetRunID(), again.GetRunID())
	require.Equal(t, result, same)
	second, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: run.GetID(), TaskQueue: h.TaskQueue},
		workflows.Revise, req)
	require.NoError(t, err)
	require.NotEqual(t, run.GetRunID(), second.GetRunID())
	same, err = mneme.Outcome[schema.ReviseResult](ctx, second)
	require.NoError(t, err)
	require.Equal(t, result, same)

	req.Evidence = nil
	_, err = mneme.StartRevise(ctx, h.Temporal, h.TaskQueue, req)
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "evidence", invalid.Fields[0].Field)
}

// The request's content is in the history once, in the workflow's input.
func TestReviseKeepsContentOutOfItsHistory(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	id := putRecord(t, h.Temporal, h.TaskQueue, p, prefers("go", ""))
	canary := prefers("canary-7f3a", "")
	run, result := revise(t, h.Temporal, h.TaskQueue,
		reviseRequest(p, schema.ReviseReconcile, &canary, schema.Target{ID: id, IfVersion: 1}))
	require.Equal(t, schema.ReviseApplied, result.Status)
	require.Equal(t, schema.ReviseSupersede, result.Action)
	events := h.Temporal.GetWorkflowHistory(context.Background(), run.GetID(), run.GetRunID(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if event.EventType == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED {
			continue
		}
		encoded, err := json.Marshal(event)
		require.NoError(t, err)
		require.False(t, bytes.Contains(encoded, []byte("canary")), event.EventType.String())
		require.NotContains(t, fmt.Sprint(event.String()), "canary", event.EventType.String())
	}
}

// Without an embedder a revision is not delayed.
func TestReviseWhileTheEmbedderIsDown(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.Embedder = testkit.BrokenEmbedder{Embedder: d.Brain.Embedder}
	})
	p := testkit.Principal()
	// The embedding is added later; this run does not wait for it.
	id, err := uuid.Parse(putRecord(t, h.Temporal, h.TaskQueue, p, prefers("go", "")))
	require.NoError(t, err)
	_, result := revise(t, h.Temporal, h.TaskQueue,
		reviseRequest(p, schema.ReviseRetract, nil, schema.Target{ID: id.String(), IfVersion: 1}))
	require.Equal(t, schema.ReviseApplied, result.Status)
}

// A worker is killed after the revision has been committed and before the acknowledgement.
func TestReviseWorkerKilledBeforeAcknowledgement(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	address := testkit.TemporalAddress(t)
	gate := harness.NewGate(t, address, "Revise")
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	url := testkit.DatabaseURL(t)
	queue := "test-" + uuid.NewString()
	settings := func(temporal string) map[string]string {
		return map[string]string{"DATABASE_URL": url, "TEMPORAL_ADDRESS": temporal, "TEMPORAL_NAMESPACE": namespace,
			"MNEME_TASK_QUEUE": queue}
	}
	victim := harness.StartProcess(t, settings(gate.Address))
	p := testkit.Principal()
	id := putRecord(t, c, queue, p, prefers("go", ""))
	python := prefers("python", "")
	run, err := mneme.StartRevise(ctx, c, queue,
		reviseRequest(p, schema.ReviseSupersede, &python, schema.Target{ID: id, IfVersion: 1}))
	require.NoError(t, err)
	require.NoError(t, gate.WaitHeld(ctx), victim.Output())
	victim.Kill()
	db := testkit.Owner(t, url)
	require.Equal(t, 1, testkit.Rows(t, db, "memories", "status = 'superseded'"), "it is committed")
	history := testkit.Rows(t, db, "memory_history", "")

	harness.StartProcess(t, settings(address))
	result, err := mneme.Outcome[schema.ReviseResult](ctx, run)
	require.NoError(t, err)
	require.Equal(t, schema.ReviseApplied, result.Status)
	require.Equal(t, 2, testkit.Rows(t, db, "memories", ""))
	require.Equal(t, history, testkit.Rows(t, db, "memory_history", ""), "it had one effect")
	require.Equal(t, []schema.RevisedMemory{{ID: id, Version: 2, Status: schema.StatusSuperseded}}, result.Targets)
	testkit.CheckInvariants(t, db)
}
