package workflows_test

import (
	"context"
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
	"github.com/mneme/mneme/workflows"
)

// refusedPlainly starts a workflow as a client without this package would, and returns the fields of its validation
// error.
func refusedPlainly(t testing.TB, h *harness.Harness, id string, fn, request any) []schema.FieldError {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: h.TaskQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE}, fn, request)
	require.NoError(t, err)
	err = run.Get(ctx, nil)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeInvalidRequest, app.Type(), err.Error())
	var invalid schema.ValidationError
	require.NoError(t, app.Details(&invalid))
	return invalid.Fields
}

func TestOperationIDOfAnotherRequest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	req := putRequest(t, p, putSkill("paint", "Mix the colours"))
	req.OperationID = "op-1"
	id, _, result := runPut(t, h, req)
	db := testkit.Owner(t, h.DatabaseURL)
	before := testkit.Digest(t, db, "memories", "true")

	patch := schema.ModifyRequest{Operation: req.Operation,
		Patches: []schema.Patch{{ID: result.Items[0].ID, Tags: &[]string{"x"}}}}
	another := []schema.FieldError{{Field: "operation_id", Problem: "is that of another request"}}
	require.Equal(t, another, refusedPlainly(t, h, id, workflows.Modify, patch))
	other := putRequest(t, p, putSkill("draw", "Sharpen the pencil"))
	other.OperationID = "op-1"
	require.Equal(t, another, refusedPlainly(t, h, id, workflows.Put, other))
	require.Equal(t, before, testkit.Digest(t, db, "memories", "true"))
	require.Equal(t, 0, testkit.Rows(t, db, "staged_requests", "true"))
	testkit.CheckInvariants(t, db)
}

// The size of the JSON counts: Temporal would refuse the start without naming a field.
func TestOperationTooLargeAsJSON(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	common := schema.Operation{Principal: p, Reason: "because"}
	text := strings.Repeat("<", 250<<10)
	modify := schema.ModifyRequest{Operation: common}
	ingest := schema.IngestRequest{Principal: p}
	for range 4 {
		modify.Patches = append(modify.Patches, schema.Patch{ID: uuid.NewString(), Content: &text})
		ingest.Candidates = append(ingest.Candidates, schema.Candidate{Content: text})
	}
	put := putRequest(t, p, putSkill("paint", text))
	put.Records[0].Content = text
	revise := schema.ReviseRequest{Operation: common, Action: schema.ReviseSupersede,
		Targets:  []schema.Target{{ID: uuid.NewString(), IfVersion: 1}},
		Evidence: []schema.Ref{{Kind: "human", Ref: "x"}}, Record: &put.Records[0]}
	ctx := context.Background()
	for field, start := range map[string]func() error{
		"patches":    func() error { _, err := mneme.StartModify(ctx, h.Temporal, h.TaskQueue, modify); return err },
		"candidates": func() error { _, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, ingest); return err },
		"records":    func() error { _, err := mneme.StartPut(ctx, h.Temporal, h.TaskQueue, put); return err },
		"record":     func() error { _, err := mneme.StartRevise(ctx, h.Temporal, h.TaskQueue, revise); return err },
	} {
		var invalid *schema.ValidationError
		require.ErrorAs(t, start(), &invalid, field)
		require.Equal(t, field, strings.Split(invalid.Fields[0].Field, "[")[0][:len(field)], field)
		t.Log(invalid.Error())
	}
}

// A client in another language may send unknown members or wrong types: they are refused with their field, and no run
// retries forever.
func TestOperationsRefuseUnknownFields(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	whose := `"principal": {"tenant": "t", "agent": "a"}`
	principal := whose + `, "reason": "r"`
	target := `{"id": "` + uuid.NewString() + `", "if_version": 1}`
	for name, c := range map[string]struct {
		name    string
		request string
		want    schema.FieldError
	}{
		"modify, unknown": {"Modify",
			`{` + principal + `, "patches": [{"id": "x", "pinned": true, "visibility": "global"}]}`,
			schema.FieldError{Field: "patches[0].visibility", Problem: "unknown field"}},
		"modify, twice": {"Modify",
			`{` + principal + `, "patches": [{"id": "x", "pinned": true, "pinned": false}]}`,
			schema.FieldError{Field: "patches[0].pinned", Problem: "is given twice"}},
		"modify, wrong type": {"Modify", `{` + principal + `, "patches": {}}`,
			schema.FieldError{Field: "patches", Problem: "must be a list"}},
		"modify, not an object": {"Modify", `[]`, schema.FieldError{Field: "(json)", Problem: "must be an object"}},
		"put, unknown": {"Put", `{` + principal + `, "records": [], "dry_run": true}`,
			schema.FieldError{Field: "dry_run", Problem: "unknown field"}},
		"put, twice": {"Put", `{` + principal + `, "records": [], "Records": []}`,
			schema.FieldError{Field: "Records", Problem: "is given twice"}},
		"revise, unknown": {"Revise",
			`{` + principal + `, "action": "retract", "targets": [` + target + `], "evidence": [], "force": true}`,
			schema.FieldError{Field: "force", Problem: "unknown field"}},
		"recover, unknown": {"Recover", `{` + principal + `, "targets": [` + target + `], "force": true}`,
			schema.FieldError{Field: "force", Problem: "unknown field"}},
		"forget, unknown": {"Forget", `{` + principal + `, "selector": {"ids": ["x"], "secret text": 1}}`,
			schema.FieldError{Field: "selector.(other)", Problem: "unknown field"}},
		"forget, a bad time": {"Forget", `{` + principal + `, "selector": {"since": "yesterday"}}`,
			schema.FieldError{Field: "selector.since", Problem: "must be a time in RFC 3339"}},
		"ingest, wrong type": {"Ingest", `{` + whose + `, "candidates": [{"content": "x", "importance": "high"}]}`,
			schema.FieldError{Field: "candidates[0].importance", Problem: "must be a number"}},
		"ingest, a bad time": {"Ingest", `{` + whose + `, "candidates": [{"content": "x", "occurred_at": "noon"}]}`,
			schema.FieldError{Field: "candidates[0].occurred_at", Problem: "must be a time in RFC 3339"}},
		"ingest, twice": {"Ingest", `{` + whose + `, "candidates": [{"content": "x", "content": "y"}]}`,
			schema.FieldError{Field: "candidates[0].content", Problem: "is given twice"}},
		"ingest, not an object": {"Ingest", `"x"`, schema.FieldError{Field: "(json)", Problem: "must be an object"}},
		"recall, wrong type": {"Recall", `{` + whose + `, "query": "x", "limit": "5"}`,
			schema.FieldError{Field: "limit", Problem: "must be a whole number"}},
		"drift, wrong type": {"DriftCheck", `{"look_only": "yes"}`,
			schema.FieldError{Field: "look_only", Problem: "must be true or false"}},
		"reindex, twice": {"Reindex", `{"model": "x", "Model": "y"}`,
			schema.FieldError{Field: "Model", Problem: "is given twice"}},
		"resume, wrong type": {"ResumeIngest", `{"tenant": "t", "job_id": 7}`,
			schema.FieldError{Field: "job_id", Problem: "must be a string"}},
		"review, wrong type": {"Review", `{"tenant": "t", "batch_id": "x", "expires_after_seconds": "5"}`,
			schema.FieldError{Field: "expires_after_seconds", Problem: "must be a whole number"}},
		"purge, wrong type": {"RetentionPurge", `{"tenant": 7}`,
			schema.FieldError{Field: "tenant", Problem: "must be a string"}},
		"forget, given twice": {"Forget", `{` + principal + `, "selector": {"all": false, "all": true}}`,
			schema.FieldError{Field: "selector.all", Problem: "is given twice"}},
	} {
		require.Equal(t, []schema.FieldError{c.want},
			refusedPlainly(t, h, "plain/"+uuid.NewString(), c.name, raw(c.request)), name)
	}
}

// raw is unparsed JSON.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }
