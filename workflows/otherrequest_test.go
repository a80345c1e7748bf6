package workflows_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

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

// refusedField requires that an error is a refusal of one field.
func refusedField(t testing.TB, err error, field, problem string) {
	t.Helper()
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, []schema.FieldError{{Field: field, Problem: problem}}, invalid.Fields)
}

const ofAnotherRequest = "is that of another request"

// A key that belongs to other content is refused. The first acknowledgement would suggest that the content was stored.
func TestAnIdempotencyKeyOfOtherContentIsRefused(t *testing.T) {
	t.Parallel()
	h := newHeld(t, "ExtractFacts", false)
	p := testkit.Principal()
	request := func(text string, at time.Time) schema.IngestRequest {
		req := testkit.Request(p, schema.SourceMemory, text)
		req.Candidates[0].OccurredAt, req.IdempotencyKey = &at, "conversation-7"
		return req
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	start := func(req schema.IngestRequest) (mneme.Started, error) {
		return mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req)
	}
	now := time.Now()
	first, err := start(request("Rome is nice in May.", now))
	require.NoError(t, err)
	<-h.reached // the run is open
	for _, state := range []string{"open", "ended"} {
		_, err = start(request("Paris is nice in June.", now))
		refusedField(t, err, "idempotency_key", ofAnotherRequest)
		again, err := start(request("Rome is nice in May.", now.Add(time.Minute)))
		require.NoError(t, err, "the same content is the same request, even at another time (%s)", state)
		require.Equal(t, first.Ack, again.Ack, state)
		require.Equal(t, first.RunID, again.RunID, state)
		h.release()
		harness.Wait(t, first.Run)
	}

	// Temporal no longer has the run, but Postgres has the key.
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: first.ID, TaskQueue: h.TaskQueue},
		workflows.Ingest, request("Paris is nice in June.", now))
	require.NoError(t, err)
	_, err = mneme.Outcome[api.IngestResult](ctx, run)
	refusedField(t, err, "idempotency_key", ofAnotherRequest)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "ingest_batches", ""))
	run, err = h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: first.ID, TaskQueue: h.TaskQueue},
		workflows.Ingest, request("Rome is nice in May.", now.Add(time.Hour)))
	require.NoError(t, err)
	result, err := mneme.Outcome[api.IngestResult](ctx, run)
	require.NoError(t, err)
	require.Equal(t, first.Ack, result.IngestAck)
}

// An operation id that belongs to another request is refused, whether the run of that request is open or has ended. Its
// receipt would suggest that the memories of this request were forgotten.
func TestStartsRefuseAnOperationIDOfAnotherRequest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ids := known(t, h, p, "Rome is nice in May.", "Paris is nice in June.")
	forget := func(id string, execute bool) schema.ForgetRequest {
		req := forgetRequest(p, "", schema.Selector{IDs: []string{id}})
		req.OperationID, req.Execute = "op-1", execute
		return req
	}
	waits := forget(ids[0], false)
	open, _ := startForget(t, h, waits)
	_, err := mneme.StartForget(t.Context(), h.Temporal, h.TaskQueue, forget(ids[1], false))
	refusedField(t, err, "operation_id", ofAnotherRequest)
	again, _ := startForget(t, h, waits)
	require.Equal(t, open.GetRunID(), again.GetRunID())

	done := forget(ids[0], true)
	done.OperationID = "op-2"
	run, _ := startForget(t, h, done)
	require.Equal(t, 1, receiptOf(t, run).Forgotten)
	other := forget(ids[1], true)
	other.OperationID = "op-2"
	_, err = mneme.StartForget(t.Context(), h.Temporal, h.TaskQueue, other)
	refusedField(t, err, "operation_id", ofAnotherRequest)
	again, _ = startForget(t, h, done)
	require.Equal(t, run.GetRunID(), again.GetRunID())

	patch := func(tag string) schema.ModifyRequest {
		req := modifyRequest(p, schema.Patch{ID: ids[1], Tags: &[]string{tag}})
		req.OperationID = "op-3"
		return req
	}
	modify(t, h, patch("travel"))
	_, err = mneme.StartModify(t.Context(), h.Temporal, h.TaskQueue, patch("food"))
	refusedField(t, err, "operation_id", ofAnotherRequest)
	_, result := modify(t, h, patch("travel"))
	require.Equal(t, 2, result.Results[0].NewVersion)

	put := putRequest(t, p, putSkill("paint", "Mix the <colours> & wait"))
	put.OperationID = "op-4"
	_, runID, _ := runPut(t, h, put)
	_, repeated, _ := runPut(t, h, put)
	require.Equal(t, runID, repeated)
	rust := prefers("rust", "") // a record that decoding completes
	revise := reviseRequest(p, schema.ReviseSupersede, &rust, schema.Target{ID: putRecord(t, h.Temporal, h.TaskQueue, p,
		prefers("go", "")), IfVersion: 1})
	revise.OperationID = "op-5"
	for range 2 {
		run, err := mneme.StartRevise(t.Context(), h.Temporal, h.TaskQueue, revise)
		require.NoError(t, err)
		_, err = mneme.Outcome[schema.ReviseResult](t.Context(), run)
		require.NoError(t, err)
	}
	put = putRequest(t, p, putSkill("draw", "Sharpen the pencil"))
	put.OperationID = "op-4"
	_, err = mneme.StartPut(t.Context(), h.Temporal, h.TaskQueue, put)
	refusedField(t, err, "operation_id", ofAnotherRequest)
}

// An operation of Nexus with the key of another request fails at once.
func TestNexusRefusesAKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	p := testkit.Principal()
	req := testkit.Request(p, schema.SourceMemory, "Tea is served hot.")
	req.IdempotencyKey = "import/1"
	_, first := h.Ingest(t, req)
	req.Candidates[0].Content = "Tea is served cold."
	refused := func(err error, field string) {
		t.Helper()
		require.ErrorContains(t, err, "BAD_REQUEST")
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		var invalid schema.ValidationError
		require.NoError(t, app.Details(&invalid))
		refusedField(t, &invalid, field, ofAnotherRequest)
	}
	refused(within(t, a.start(t, api.OperationRemember, req), nil), "idempotency_key")

	tea, rome := first.MemoryIDs[0], known(t, h, p, "Rome is nice in May.")[0]
	forget := func(id string, execute bool) schema.ForgetRequest {
		req := forgetRequest(p, "", schema.Selector{IDs: []string{id}})
		req.OperationID, req.Execute = fmt.Sprintf("op-%t", execute), execute
		return req
	}
	startForget(t, h, forget(tea, false)) // waits
	refused(within(t, a.start(t, api.OperationForget, forget(rome, false)), nil), "operation_id")
	run, _ := startForget(t, h, forget(tea, true))
	receipt := receiptOf(t, run)
	require.Equal(t, 1, receipt.Forgotten)
	refused(within(t, a.start(t, api.OperationForget, forget(rome, true)), nil), "operation_id")
	var again schema.ForgetReceipt
	require.NoError(t, within(t, a.start(t, api.OperationForget, forget(tea, true)), &again))
	require.Equal(t, receipt, again)
}

// A decision with the operation id of another decision is refused, whether its review is open or has ended. The first
// result would suggest that the proposal was decided as asked.
func TestADecisionRefusesTheOperationIDOfAnother(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	of := func(operation string, d schema.Decision) schema.ReviewRequest {
		req := decision(p, item, d)
		req.OperationID = operation
		return req
	}
	refused := func(req schema.ReviewRequest) {
		t.Helper()
		_, err := mneme.Decide(t.Context(), h.Temporal, h.TaskQueue, req, result.BatchID)
		refusedField(t, err, "operation_id", ofAnotherRequest)
	}
	late := of("op-1", schema.DecisionApprove)
	late.TargetVersion = 99
	first := decide(t, h, late, result.BatchID)
	require.Equal(t, schema.ReviewVersionConflict, first.Status, "the review stays open")
	refused(of("op-1", schema.DecisionApprove))
	refused(of("op-1", schema.DecisionReject))
	require.Equal(t, first, decide(t, h, late, result.BatchID))
	// So is one of a client that chooses the ids of its updates.
	handle, err := h.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: result.ReviewID,
		UpdateID: "mine", UpdateName: api.UpdateDecide, Args: []any{of("op-1", schema.DecisionReject)},
		WaitForStage: client.WorkflowUpdateStageCompleted})
	require.NoError(t, err)
	require.ErrorContains(t, handle.Get(t.Context(), nil), "operation_id: "+ofAnotherRequest)

	rejected := decide(t, h, of("op-2", schema.DecisionReject), result.BatchID)
	require.Equal(t, schema.ReviewRejected, rejected.Status)
	reviewEnds(t, h, result.ReviewID)
	refused(of("op-2", schema.DecisionApprove))
	require.Equal(t, rejected, decide(t, h, of("op-2", schema.DecisionReject), result.BatchID))
}

// A client without Mneme's Go package computes the digest of an ingest as documented, or asks a run about its request.
func TestAPlainClientLearnsThatARunIsOfAnotherRequest(t *testing.T) {
	t.Parallel()
	h := newHeld(t, "ExtractFacts", false)
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	principal := map[string]any{"tenant": "acme-" + uuid.NewString(), "agent": "bot"}
	ingest := func(text, at string) map[string]any {
		return map[string]any{"principal": principal, "idempotency_key": "7", "candidates": []any{
			map[string]any{"content": text, "source_kind": "memory", "occurred_at": at}}}
	}
	const id, text, at, later = "ingest/acme/bot/7", "Rome is nice in Mai, très.", "2026-11-02T10:00:00Z",
		"2026-11-02T10:01:00Z"
	digest := func(contents ...string) string {
		sum := sha256.New()
		for _, content := range contents {
			sum.Write(append([]byte{0, 0, 0, 0, 0, 0, 0, byte(len(content))}, content...))
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	remember := func(request map[string]any, digest string) (ack schema.IngestAck, err error) {
		handle, err := h.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: h.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{ID: id,
				TaskQueue: h.TaskQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
				api.WorkflowIngest, request),
			UpdateOptions: client.UpdateWorkflowOptions{UpdateName: api.UpdateStaged, Args: []any{digest},
				WaitForStage: client.WorkflowUpdateStageCompleted}})
		if err == nil {
			err = handle.Get(ctx, &ack)
		}
		return ack, err
	}
	isOf := func(id string, request any) (same bool) {
		answer, err := h.Temporal.QueryWorkflow(ctx, id, "", api.QueryRequest, request)
		require.NoError(t, err)
		require.NoError(t, answer.Get(&same))
		return same
	}
	first, err := remember(ingest(text, at), digest(text))
	require.NoError(t, err)
	<-h.reached // the run is open
	for _, state := range []string{"open", "ended"} {
		_, err = remember(ingest("Other.", at), digest("Other."))
		require.ErrorContains(t, err, "idempotency_key: "+ofAnotherRequest, state)
		if state == "open" {
			require.True(t, isOf(id, ingest(text, later)))
			require.False(t, isOf(id, ingest("Other.", at)))
		}
		again, err := remember(ingest(text, later), digest(text))
		require.NoError(t, err, state)
		require.Equal(t, first, again, state)
		h.release()
		require.NoError(t, h.Temporal.GetWorkflow(ctx, id, "").Get(ctx, nil))
	}

	put := func(content string) map[string]any {
		return map[string]any{"principal": principal, "operation_id": "8", "records": []any{
			json.RawMessage(putSkill("brew", content))}}
	}
	const putID = "put/acme/bot/8"
	_, err = h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: putID, TaskQueue: h.TaskQueue},
		api.WorkflowPut, put("tea"))
	require.NoError(t, err)
	require.NoError(t, h.Temporal.GetWorkflow(ctx, putID, "").Get(ctx, nil))
	require.True(t, isOf(putID, put("tea")))
	require.False(t, isOf(putID, put("coffee")))
	require.False(t, isOf(putID, 7))
}
