package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

func putRequest(t testing.TB, p schema.Principal, records ...string) schema.PutRequest {
	t.Helper()
	req := schema.PutRequest{Operation: schema.Operation{Principal: p, Reason: "known elsewhere"}}
	for _, text := range records {
		var m schema.MemoryRecord
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		req.Records = append(req.Records, m)
	}
	return req
}

func putSkill(name, step string) string {
	return fmt.Sprintf(`{"type": "competence", "confidence": 0.7, "payload": {"kind": "competence", "skill_name": %q,
		"triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": "macos"}}], "recipe": [{"step": %q, "tool": "shell"}]}}`, name, step)
}

func runPut(t testing.TB, h *harness.Harness, req schema.PutRequest) (id, runID string, result schema.PutResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartPut(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	result, err = mneme.Outcome[schema.PutResult](ctx, run)
	require.NoError(t, err)
	return run.GetID(), run.GetRunID(), result
}

// A record that was put can be recalled, its content is only in the event that delivered it, and repeating the
// operation returns the same run.
func TestPutEndToEnd(t *testing.T) {
	t.Parallel()
	down := &atomic.Bool{}
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.Embedder = switchable{Embedder: d.Brain.Embedder, down: down}
	})
	p := testkit.Principal()
	req := putRequest(t, p, putSkill("fix_"+canary, "Clear the "+canary+" cache"), putSkill("paint", "Mix the colours"))
	req.OperationID = "op-1"
	id, runID, result := runPut(t, h, req)
	require.Equal(t, schema.PutCreated, result.Items[0].Status)
	require.Equal(t, schema.PutCreated, result.Items[1].Status)
	require.Equal(t, []string{enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED.String()},
		barers(t, h.Temporal, id, runID, canary))

	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 2, testkit.Rows(t, db, "memory_embeddings", "true"))
	require.Equal(t, 0, testkit.Rows(t, db, "index_outbox", "true"), "the index is updated")
	require.Equal(t, 0, testkit.Rows(t, db, "staged_requests", "true"))
	testkit.CheckInvariants(t, db)
	recaller := h.Recaller()
	found, err := recaller.Recall(context.Background(),
		schema.RecallRequest{Principal: p, Query: canary + " cache mismatch"})
	require.NoError(t, err)
	require.NotEmpty(t, found.Results)
	require.Equal(t, result.Items[0].ID, found.Results[0].ID)

	again, againRun, same := runPut(t, h, req)
	require.Equal(t, []any{id, runID, result}, []any{again, againRun, same})
	req.OperationID = ""
	_, _, repeated := runPut(t, h, req)
	require.Equal(t, schema.PutItem{ID: result.Items[0].ID, Status: schema.PutDuplicate}, repeated.Items[0])

	down.Store(true) // embeddings are added later
	later := putRequest(t, p, putSkill("cook", "Boil the water"))
	_, _, result = runPut(t, h, later)
	require.Equal(t, schema.PutCreated, result.Items[0].Status)
	require.Equal(t, 2, testkit.Rows(t, db, "memory_embeddings", "true"))
	require.Equal(t, 1, testkit.Rows(t, db, "index_outbox", "memory_id = $1", result.Items[0].ID))
}

func TestPutOfAnInvalidRequestFailsAtOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	req := putRequest(t, p, putSkill("s", "x"),
		`{"type": "semantic", "confidence": 1, "payload": {"kind": "working", "thread_id": "`+canary+
			`", "state": "planning"}}`)
	_, err := mneme.StartPut(context.Background(), h.Temporal, h.TaskQueue, req)
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "records[1].payload.kind", invalid.Fields[0].Field)

	run, err := h.Temporal.ExecuteWorkflow(context.Background(),
		client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(), TaskQueue: h.TaskQueue}, workflows.Put, req)
	require.NoError(t, err)
	err = run.Get(context.Background(), nil)
	var failure *temporal.ApplicationError
	require.True(t, errors.As(err, &failure), err)
	require.Equal(t, api.ErrTypeInvalidRequest, failure.Type())
	require.NotContains(t, err.Error(), canary)
}

// The mode of the worker applies, whatever the request asks for.
func TestPutInTheWorkersMode(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Policy = proposals.WritePolicy{Mode: schema.ModeFrozen}
	})
	req := putRequest(t, testkit.Principal(), putSkill("s", "x"))
	req.Mode = schema.ModeControlled
	_, _, result := runPut(t, h, req)
	require.Equal(t, schema.PutFrozen, result.Items[0].Status)
	require.Equal(t, "refused", result.Summary())
	require.Empty(t, result.Changed())
}
