package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
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
	"github.com/mneme/mneme/schema"
)

// canary is a word that occurs only in content.
const canary = "xqcanaryxq"

// badRequests are requests with one bad field each, by the path of that field. Each is derived from a valid one, as
// plain JSON.
func badRequests() map[string]map[string]any {
	set := func(path string, value any) map[string]any {
		req := map[string]any{
			"principal": map[string]any{"tenant": "t-" + uuid.NewString(), "agent": "a"},
			"candidates": []any{map[string]any{"content": "The " + canary + " is a good candidate."},
				map[string]any{"content": "Another " + canary + "."}},
		}
		var at any = req
		steps := strings.Split(path, "/")
		for i, step := range steps {
			last := i == len(steps)-1
			switch node := at.(type) {
			case map[string]any:
				if last {
					node[step] = value
				}
				at = node[step]
			case []any:
				var n int
				_, _ = fmt.Sscan(step, &n)
				at = node[n]
			}
		}
		return req
	}
	long := strings.Repeat("x", 600)
	many := func(n int, v any) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = v
		}
		return out
	}
	out := map[string]map[string]any{
		"principal.tenant":              set("principal/tenant", ""),
		"principal.agent":               set("principal/agent", "  "),
		"principal.project":             set("principal/project", long),
		"principal.scope":               set("principal/scope", "a\x00b"),
		"principal.policy_group":        set("visibility", "group"),
		"visibility":                    set("visibility", "everyone"),
		"mode":                          set("mode", "yolo"),
		"min_fact_confidence":           set("min_fact_confidence", 1.5),
		"idempotency_key":               set("idempotency_key", long),
		"candidates":                    set("candidates", []any{}),
		"candidates[1].content":         set("candidates/1/content", " \n "),
		"candidates[0].content":         set("candidates/0/content", canary+"\x00"),
		"candidates[1].source_kind":     set("candidates/1/source_kind", "rumour"),
		"candidates[1].category":        set("candidates/1/category", "gossip"),
		"candidates[1].sensitivity":     set("candidates/1/sensitivity", "secret"),
		"candidates[1].importance":      set("candidates/1/importance", -0.1),
		"candidates[1].speaker":         set("candidates/1/speaker", long),
		"candidates[1].session":         set("candidates/1/session", long),
		"candidates[1].idempotency_key": set("candidates/1/idempotency_key", long),
		"candidates[1].tags":            set("candidates/1/tags", many(40, "tag")),
		"candidates[1].tags[0]":         set("candidates/1/tags", []any{" "}),
		"candidates[1].refs": set("candidates/1/refs",
			many(40, map[string]any{"kind": "event", "ref": "r"})),
		"candidates[1].refs[0].kind": set("candidates/1/refs", []any{map[string]any{"kind": "hearsay", "ref": "r"}}),
		"candidates[1].refs[0].ref":  set("candidates/1/refs", []any{map[string]any{"kind": "event", "ref": ""}}),
		"candidates[1].refs[0].hash": set("candidates/1/refs",
			[]any{map[string]any{"kind": "event", "ref": "r", "hash": long}}),
	}
	out["candidates[2].content"] = set("candidates",
		[]any{map[string]any{"content": "one"}, map[string]any{"content": "two"},
			map[string]any{"content": strings.Repeat("x", schema.MaxContentBytes+1)}})
	return out
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	db := testkit.Owner(t, h.DatabaseURL)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	runs := map[string]client.WorkflowRun{}
	for field, raw := range badRequests() {
		// The client validates the request itself and starts no run.
		encoded, err := json.Marshal(raw)
		require.NoError(t, err)
		var req schema.IngestRequest
		require.NoError(t, json.Unmarshal(encoded, &req))
		_, err = mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req)
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid, field)
		require.Len(t, invalid.Fields, 1, field)
		require.Equal(t, field, invalid.Fields[0].Field)
		require.NotContains(t, err.Error(), canary)
		_, err = h.Temporal.DescribeWorkflowExecution(ctx, api.IngestWorkflowID(req), "")
		require.Error(t, err, "a run was started")

		// A client that does not validate.
		id := "raw/" + uuid.NewString()
		runs[field], err = h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: h.TaskQueue},
			"Ingest", raw)
		require.NoError(t, err)
	}
	for field, run := range runs {
		err := run.Get(ctx, nil)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app, field)
		require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
		require.True(t, app.NonRetryable())
		require.Contains(t, app.Message(), field+":")
		require.NotContains(t, err.Error(), canary)
		var invalid schema.ValidationError
		require.NoError(t, app.Details(&invalid))
		require.Equal(t, field, invalid.Fields[0].Field)
	}
	require.Empty(t, testkit.RowCounts(t, db), "something was written")
}

// When a client sends the update with the start, the update and the run fail with the same error.
func TestBadRequestWithUpdate(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	raw := badRequests()["candidates[1].category"]
	start := h.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
		TaskQueue:                h.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL}, "Ingest", raw)
	handle, err := h.Temporal.UpdateWithStartWorkflow(ctx,
		client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{UpdateName: api.UpdateStaged,
				WaitForStage: client.WorkflowUpdateStageCompleted}})
	require.NoError(t, err)
	err = handle.Get(ctx, nil)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
	run, err := start.Get(ctx)
	require.NoError(t, err)
	require.Error(t, run.Get(ctx, nil))
	require.Empty(t, testkit.RowCounts(t, testkit.Owner(t, h.DatabaseURL)))
}

// With values of the wrong type, or without any request, the run fails at once, instead of retrying its task forever,
// and nothing is written.
func TestRequestsOfTheWrongShape(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	candidate := func(field string, value any) map[string]any {
		return map[string]any{"principal": map[string]any{"tenant": "t", "agent": "a"},
			"candidates": []any{map[string]any{"content": "A good candidate.", field: value}}}
	}
	for field, raw := range map[string]any{
		"importance": candidate("importance", canary),
		"tags":       candidate("tags", canary),
		"content":    candidate("content", []any{canary}),
		"principal":  map[string]any{"principal": canary, "candidates": []any{}},
		"candidates": map[string]any{"principal": map[string]any{"tenant": "t", "agent": "a"},
			"candidates": canary},
		"principal.tenant": map[string]any{},
		"":                 canary,
	} {
		run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
			TaskQueue: h.TaskQueue}, "Ingest", raw)
		require.NoError(t, err)
		err = run.Get(ctx, nil)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app, field)
		require.Contains(t, err.Error(), field)
		require.NotContains(t, err.Error(), canary)
	}
	require.Empty(t, testkit.RowCounts(t, testkit.Owner(t, h.DatabaseURL)))
}

// startRaw starts a run with an invalid request, as a client that does not validate.
func startRaw(t *testing.T, h *harness.Harness, raw map[string]any) (id, runID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, "Ingest", raw)
	require.NoError(t, err)
	require.Error(t, run.Get(ctx, nil))
	return run.GetID(), run.GetRunID()
}

// Whatever is wrong with a request, even if it cannot be decoded, the update that is sent with its start returns the
// error.
func TestUpdatesSayWhatIsWrongWithTheRequest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	whose := `"principal": {"tenant": "t", "agent": "a"}`
	for _, test := range []struct{ workflow, update, request, field, problem string }{
		{"Ingest", api.UpdateStaged, `{` + whose + `, "candidates": [{"content": "x", "importance": "` + canary +
			`"}]}`, "candidates[0].importance", "must be a number"},
		{"Ingest", api.UpdateStaged, `{` + whose + `, "candidates": [{"content": "x", "CONTENT": "` + canary + `"}]}`,
			"candidates[0].CONTENT", "is given twice"},
		{"Forget", api.UpdateSelected,
			`{` + whose + `, "reason": "r", "selector": {"all": true, "unles": "` + canary + `"}}`, "selector.unles",
			"unknown field"},
		{"Ingest", api.UpdateStaged, `["` + canary + `"]`, "(json)", "must be an object"},
		{"Forget", api.UpdateSelected, `{` + whose + `, "reason": "r", "selector": {"ids": "` + canary + `"}}`,
			"selector.ids", "must be a list"},
		{"Forget", api.UpdateSelected, `{` + whose + `, "selector": {"all": true}}`, "reason", "is required"},
	} {
		start := h.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
			TaskQueue:                h.TaskQueue,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL}, test.workflow, raw(test.request))
		handle, err := h.Temporal.UpdateWithStartWorkflow(ctx,
			client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start,
				UpdateOptions: client.UpdateWorkflowOptions{UpdateName: test.update,
					WaitForStage: client.WorkflowUpdateStageCompleted}})
		require.NoError(t, err, test.request)
		err = handle.Get(ctx, nil)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app, test.request)
		require.Equal(t, api.ErrTypeInvalidRequest, app.Type(), "%s: %v", test.request, err)
		var invalid schema.ValidationError
		require.NoError(t, app.Details(&invalid))
		require.Equal(t, []schema.FieldError{{Field: test.field, Problem: test.problem}}, invalid.Fields)
		require.NotContains(t, err.Error(), canary)
	}
	require.Empty(t, testkit.RowCounts(t, testkit.Owner(t, h.DatabaseURL)))
}

// A newer client may set a field that this worker does not know: the run ignores it and reports it. Where an unknown
// field may guard a change, the request is refused before anything is changed.
func TestFieldsOfNewerClients(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	p := testkit.Principal()
	whose := map[string]any{"tenant": p.Tenant, "agent": p.Agent, "team": "new"}
	start := func(workflow string, in any, out any) error {
		run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
			TaskQueue: h.TaskQueue}, workflow, in)
		require.NoError(t, err)
		return run.Get(ctx, out)
	}
	var ingested api.IngestResult
	require.NoError(t, start("Ingest",
		map[string]any{"principal": whose,
			"candidates": []any{map[string]any{"content": "Tea is served hot.", "mood": canary}}}, &ingested))
	require.ElementsMatch(t, []string{"principal.team", "candidates[0].mood"}, ingested.Ignored)
	require.Len(t, ingested.MemoryIDs, 1)
	var answer schema.RecallResponse
	require.NoError(t, start("Recall", map[string]any{"principal": whose, "query": "tea", "tone": canary}, &answer))
	require.ElementsMatch(t, []string{"principal.team", "tone"}, answer.Meta.Ignored)
	require.NotEmpty(t, answer.Results)
	var judged schema.FeedbackResult
	require.NoError(t, start("Feedback",
		map[string]any{"principal": whose, "retrieval_id": answer.RetrievalID, "outcome": "success", "stars": 5},
		&judged))
	require.NotEmpty(t, judged.Items)

	db := testkit.Owner(t, h.DatabaseURL)
	before := testkit.Digest(t, db, "memories", "true")
	guarded := map[string]any{"principal": map[string]any{"tenant": p.Tenant, "agent": p.Agent}, "reason": "r",
		"only_if": canary}
	for workflow, more := range map[string]map[string]any{
		"Forget":  {"selector": map[string]any{"ids": ingested.MemoryIDs}, "execute": true},
		"Modify":  {"patches": []any{map[string]any{"id": ingested.MemoryIDs[0], "pinned": true}}},
		"Recover": {"targets": []any{map[string]any{"id": ingested.MemoryIDs[0]}}},
	} {
		in := maps.Clone(guarded)
		maps.Copy(in, more)
		err := start(workflow, in, nil)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app, workflow)
		require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
		require.Contains(t, app.Message(), "only_if: unknown field")
		require.NotContains(t, err.Error(), canary)
	}
	require.Equal(t, before, testkit.Digest(t, db, "memories", "true"))
}
