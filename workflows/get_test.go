package workflows_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// getBy reads by id through the workflow.
func getBy(t testing.TB, h *harness.Harness, req schema.GetRequest) client.WorkflowRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartGet(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	return run
}

// A client without Go finds a procedure and reads its steps: from a recall with payloads, from the workflow that reads
// by id, from a query, and from an agent's workflow in another namespace.
func TestAClientWithoutGoGetsARecipe(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx := context.Background()
	p := testkit.Principal()
	plain := func(workflow string, in map[string]any) client.WorkflowRun {
		run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "plain/" + uuid.NewString(),
			TaskQueue: h.TaskQueue}, workflow, in)
		require.NoError(t, err)
		return run
	}
	who := map[string]any{"tenant": p.Tenant, "agent": p.Agent}
	var put struct {
		Items []struct{ ID, Status string }
	}
	require.NoError(t, plain("Put",
		map[string]any{"principal": who, "reason": "taught",
			"records": []any{map[string]any{"type": "competence", "confidence": 0.9,
				"content": "How to fix a linker cache mismatch",
				"payload": map[string]any{"kind": "competence", "skill_name": "fix_linker",
					"triggers": []any{map[string]any{"signal": "linker cache mismatch"}},
					"recipe": []any{map[string]any{"step": "clear the cache", "tool": "rm"},
						map[string]any{"step": "link again"}}}}}}).
		Get(ctx, &put))
	require.Len(t, put.Items, 1)
	id := put.Items[0].ID

	type recipe struct {
		ID      string
		Payload struct {
			Recipe []struct{ Step string }
		}
	}
	steps := func(r recipe) {
		t.Helper()
		require.Equal(t, id, r.ID)
		require.Len(t, r.Payload.Recipe, 2)
		require.Equal(t, "clear the cache", r.Payload.Recipe[0].Step)
	}
	var recalled struct{ Results []recipe }
	require.NoError(t, plain("Recall",
		map[string]any{"principal": who, "query": "linker cache mismatch", "payload": true}).Get(ctx, &recalled))
	require.Len(t, recalled.Results, 1)
	steps(recalled.Results[0])

	var read struct {
		Records []recipe
		Missing []string
	}
	unknown := uuid.NewString()
	run := plain("Get", map[string]any{"principal": who, "ids": []string{id, unknown}})
	require.NoError(t, run.Get(ctx, &read))
	require.Len(t, read.Records, 1)
	steps(read.Records[0])
	require.Equal(t, []string{unknown}, read.Missing)

	value, err := h.Temporal.QueryWorkflow(ctx, run.GetID(), run.GetRunID(), api.QueryRecord, id)
	require.NoError(t, err)
	var one recipe
	require.NoError(t, value.Get(&one))
	steps(one)
	_, err = h.Temporal.QueryWorkflow(ctx, run.GetID(), run.GetRunID(), api.QueryRecord, unknown)
	require.Error(t, err)

	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	read.Records = nil
	require.NoError(t, within(t, a.start(t, api.OperationGet, map[string]any{"principal": who, "ids": []string{id}}),
		&read))
	require.Len(t, read.Records, 1)
	steps(read.Records[0])

	// Other principals do not see a private record or learn that it exists.
	other := p
	other.Agent = "other"
	out, err := mneme.Outcome[schema.GetResponse](ctx, getBy(t, h,
		schema.GetRequest{Principal: other, IDs: []string{id, unknown}, ReadPolicy: schema.ReadShared}))
	require.NoError(t, err)
	require.Empty(t, out.Records)
	require.Equal(t, []string{id, unknown}, out.Missing)
	whole, err := mneme.Outcome[schema.GetResponse](ctx, getBy(t, h,
		schema.GetRequest{Principal: p, IDs: []string{id}}))
	require.NoError(t, err)
	stored, err := h.Store.Get(ctx, p, uuid.MustParse(id))
	require.NoError(t, err)
	require.JSONEq(t, string(stored.Payload), string(whole.Records[0].Payload))
	require.NotEmpty(t, whole.Records[0].AuditLog)
}

func TestGetOfAnInvalidRequest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	for field, in := range map[string]any{
		"principal.tenant": schema.GetRequest{Principal: schema.Principal{Agent: "a"}, IDs: []string{uuid.NewString()}},
		"ids":              schema.GetRequest{Principal: testkit.Principal()},
		"ids[1]":           schema.GetRequest{Principal: testkit.Principal(), IDs: []string{uuid.NewString(), canary}},
	} {
		run, err := h.Temporal.ExecuteWorkflow(context.Background(),
			client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(), TaskQueue: h.TaskQueue}, "Get", in)
		require.NoError(t, err)
		_, err = mneme.Outcome[schema.GetResponse](context.Background(), run)
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Fields[0].Field)
		require.NotContains(t, err.Error(), canary)
		var app *temporal.ApplicationError
		require.ErrorAs(t, run.Get(context.Background(), nil), &app)
		require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
	}
}

// The content of an erased memory is in no history of a read by id, and no query returns it.
func TestEraseReachesReadsByID(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	id := known(t, h, p, "The "+canary+" sleeps in the attic.")[0]
	run := getBy(t, h, schema.GetRequest{Principal: p, IDs: []string{id}})
	out, err := mneme.Outcome[schema.GetResponse](context.Background(), run)
	require.NoError(t, err)
	require.Len(t, out.Records, 1)
	require.Equal(t, []string{enumspb.EVENT_TYPE_MARKER_RECORDED.String(),
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED.String()},
		barers(t, h.Temporal, run.GetID(), run.GetRunID(), canary), "the content is in the history, as documented")
	listed(t, h.Temporal, run.GetID())
	erase, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: []string{id}}))
	confirmForget(t, h, p, preview)
	require.Equal(t, 2, receiptOf(t, erase).Removed["temporal_runs"], "the ingest and the read")
	gone(t, h.Temporal, run.GetID(), run.GetRunID())
}

// When the answer is too large for Temporal, whole records are left out, and their ids are listed.
func TestGetLargerThanTemporalsLimit(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	var ids []string
	for i := range 10 {
		long := make([]byte, 230<<10)
		for k := range long {
			long[k] = "abcdefghij "[(k*7+i)%11]
		}
		ids = append(ids, known(t, h, p, string(long))...)
	}
	out, err := mneme.Outcome[schema.GetResponse](context.Background(),
		getBy(t, h, schema.GetRequest{Principal: p, IDs: ids}))
	require.NoError(t, err)
	require.NotEmpty(t, out.Records)
	require.NotEmpty(t, out.LeftOut)
	require.Empty(t, out.Missing)
	require.Len(t, ids, len(out.Records)+len(out.LeftOut))
	encoded, err := json.Marshal(out)
	require.NoError(t, err)
	require.LessOrEqual(t, len(encoded), activities.MaxAnswerBytes+1<<10)
}

// The audit log of a record has the latest changes and the number of those before, so that a record with a long history
// fits into an answer.
func TestGetOfARecordWithALongHistory(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	db := testkit.Owner(t, h.DatabaseURL)
	read := func(content, reason string) (entries []schema.AuditEntry, omitted int) {
		id := known(t, h, p, content)[0]
		_, err := db.Exec(t.Context(), `
			INSERT INTO memory_history (tenant, id, memory_id, event, action, changed_by, reason, created_at)
			SELECT $1, gen_random_uuid(), $2, 'modified', 'modify', 'mia', $3 || n, now()
			FROM generate_series(1, 10000) n`, p.Tenant, id, reason)
		require.NoError(t, err)
		out, err := mneme.Outcome[schema.GetResponse](t.Context(),
			getBy(t, h, schema.GetRequest{Principal: p, IDs: []string{id}}))
		require.NoError(t, err)
		require.Empty(t, out.LeftOut)
		require.Len(t, out.Records, 1)
		entries, omitted = out.Records[0].AuditLog, out.Records[0].AuditOmitted
		require.Equal(t, testkit.Rows(t, db, "memory_history", "action IS NOT NULL AND memory_id = '"+id+"'"),
			len(entries)+omitted)
		require.Equal(t, reason+"10000", entries[len(entries)-1].Rationale)
		require.Equal(t, reason+strconv.Itoa(10001-len(entries)), entries[0].Rationale)
		return entries, omitted
	}
	entries, _ := read("Tea is served hot.", strings.Repeat("why ", 240))
	require.Len(t, entries, schema.MaxAuditEntries)
	entries, _ = read(strings.Repeat("Tea is < served. ", 12<<10), strings.Repeat("<", 990)) // 6 bytes each in JSON
	require.Greater(t, len(entries), 10)
	require.Less(t, len(entries), schema.MaxAuditEntries)
}
