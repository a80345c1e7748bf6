package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// longKey makes ids longer than MaxIDLength bytes, and shorter than Temporal's limit.
var longKey = strings.Repeat("k", 180)

// startUnbounded starts a run as versions without a bound on ids did, and waits for its result.
func startUnbounded[R any](t *testing.T, h *harness.Harness, kind string, p schema.Principal, fn, in any) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	id := kind + "/" + p.Tenant + "/" + p.Agent + "/" + longKey
	require.Greater(t, len(id), api.MaxIDLength)
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: h.TaskQueue}, fn, in)
	require.NoError(t, err)
	result, err := mneme.Outcome[R](ctx, run)
	require.NoError(t, err)
	return result
}

// An operation that was carried out under an id from before MaxIDLength is not carried out again under the hashed id,
// and the reverse.
func TestOperationsWithLongKeysAreCarriedOutOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	db := testkit.Owner(t, h.DatabaseURL)
	live := func() int { return testkit.Rows(t, db, "memories", "live") }

	put := putRequest(t, p, putSkill("paint", "Mix the colours"))
	put.OperationID = longKey
	created := startUnbounded[schema.PutResult](t, h, api.KindPut, p, workflows.Put, put)
	require.Equal(t, schema.PutCreated, created.Items[0].Status)
	deletion := forgetRequest(p, "", schema.Selector{IDs: []string{created.Items[0].ID}})
	deletion.Execute = true
	deleted, _ := startForget(t, h, deletion)
	require.Equal(t, 1, receiptOf(t, deleted).Forgotten)
	other := putRequest(t, p, putSkill("cook", "Boil the water"))
	other.OperationID = longKey
	run, err := mneme.StartPut(t.Context(), h.Temporal, h.TaskQueue, other)
	require.NoError(t, err)
	_, err = mneme.Outcome[schema.PutResult](t.Context(), run)
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid, "the key belongs to another request")
	_, _, again := runPut(t, h, put)
	require.Equal(t, created, again)
	require.Zero(t, live(), "a memory deleted in the meantime stays deleted")

	id := known(t, h, p, "Tea is served hot.")[0]
	cold, warm := "Tea is served cold.", "Tea is served warm."
	first := modifyRequest(p, schema.Patch{ID: id, Content: &cold})
	first.OperationID = longKey
	_, hashed := modify(t, h, first)
	require.Equal(t, 2, hashed.Results[0].NewVersion)
	modify(t, h, modifyRequest(p, schema.Patch{ID: id, Content: &warm}))
	by := startUnbounded[schema.ModifyResult](t, h, api.KindModify, p, workflows.Modify, first)
	require.Equal(t, hashed, by, "delivered again by an older client")
	m, err := h.Store.Get(t.Context(), p, uuid.MustParse(id), policy.UpTo(schema.SensitivityHyper))
	require.NoError(t, err)
	require.Equal(t, warm, m.Content)

	req := testkit.Request(p, schema.SourceMemory, "The kettle is made of copper.")
	req.IdempotencyKey = longKey
	ingested := startUnbounded[api.IngestResult](t, h, api.KindIngest, p, workflows.Ingest, req)
	_, result := h.Ingest(t, req)
	require.Equal(t, ingested.IngestAck, result.IngestAck)
	require.Empty(t, result.Deduped)

	forget := forgetRequest(p, "", schema.Selector{IDs: result.MemoryIDs})
	forget.OperationID, forget.Execute = longKey, true
	gone := startUnbounded[schema.ForgetReceipt](t, h, api.KindForget, p, workflows.Forget, forget)
	require.Equal(t, 1, gone.Forgotten)
	rerun, _ := startForget(t, h, forget)
	require.Equal(t, gone.RunID, receiptOf(t, rerun).RunID)
	require.Equal(t, 2, testkit.Rows(t, db, "forget_runs", ""), "one for each request")
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
	testkit.CheckInvariants(t, db)
}

// The key of a decision contains the id of its update, which older versions did not bound.
func TestADecisionWithALongKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	req := decision(p, item, schema.DecisionApprove)
	req.OperationID = longKey
	handle, err := h.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: result.ReviewID, UpdateName: api.UpdateDecide, UpdateID: longKey + "/" + req.ProposalID,
		Args: []any{req}, WaitForStage: client.WorkflowUpdateStageCompleted})
	require.NoError(t, err)
	var first schema.ReviewResult
	require.NoError(t, handle.Get(t.Context(), &first))
	require.Equal(t, schema.ReviewApplied, first.Status)
	require.Equal(t, first, decide(t, h, req, result.BatchID))
}
