package workflows_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func feedback(t testing.TB, h *harness.Harness,
	req schema.FeedbackRequest) (client.WorkflowRun, schema.FeedbackResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartFeedback(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	result, err := mneme.Outcome[schema.FeedbackResult](ctx, run)
	return run, result, err
}

// An agent meets an error for which two procedures are known. It gives feedback on each, and the next recall ranks the
// working one first. In the last round every activity runs twice, and every verdict counts once.
func TestFeedbackTeachesWhichProcedureWorks(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	_, _, put := runPut(t, h, putRequest(t, p, putSkill("clear_cache", "Clear the cache"),
		putSkill("reinstall", "Reinstall the toolchain")))
	works, fails := put.Items[1].ID, put.Items[0].ID
	recalled := func() schema.RecallResponse {
		_, answer := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "the linker fails",
			Task:    &schema.Task{ErrorSignature: "ld: cache mismatch"},
			Context: []byte(`{"os":"macos"}`)})
		require.Len(t, answer.Selections, 1)
		require.Len(t, answer.Selections[0].Candidates, 2)
		return answer
	}
	require.Empty(t, recalled().Selections[0].Selected, "neither has been tried")
	const rounds = 3
	for round := range rounds {
		answer := recalled()
		if round == rounds-1 {
			h.StopWorker()
			h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
		}
		req := schema.FeedbackRequest{Operation: schema.Operation{Principal: p, OperationID: uuid.NewString()},
			RetrievalID: answer.RetrievalID,
			Items: []schema.FeedbackItem{{MemoryID: fails, Verdict: schema.VerdictFailed},
				{MemoryID: works, Verdict: schema.VerdictSucceeded}}}
		run, result, err := feedback(t, h, req)
		require.NoError(t, err)
		require.Equal(t, []schema.FeedbackStatus{schema.FeedbackPenalised, schema.FeedbackReinforced},
			[]schema.FeedbackStatus{result.Items[0].Status, result.Items[1].Status})
		again, same, err := feedback(t, h, req)
		require.NoError(t, err)
		require.Equal(t, []any{run.GetRunID(), result}, []any{again.GetRunID(), same},
			"a repeated request returns the first result")
	}
	h.StopWorker()
	h.StartWorkerWith(t, worker.Options{})
	answer := recalled()
	require.Equal(t, works, answer.Selections[0].Selected)
	require.Equal(t, []int64{rounds, 0, 0, rounds},
		[]int64{answer.Selections[0].Candidates[0].Successes, answer.Selections[0].Candidates[0].Failures,
			answer.Selections[0].Candidates[1].Successes, answer.Selections[0].Candidates[1].Failures})

	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 2*rounds, testkit.Rows(t, db, "memory_history", "action IN ('reinforce', 'penalise')"))
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
	testkit.CheckInvariants(t, db)
}

// Where two agents read the procedures, the verdicts of one change its own selection, and that of the other once.
func TestFeedbackOnSharedProceduresTeachesItsAgent(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	other := p
	other.Agent = "other"
	put := putRequest(t, p, putSkill("clear_cache", "Clear the cache"), putSkill("reinstall", "Reinstall the toolchain"))
	for i := range put.Records {
		put.Records[i].Visibility = schema.VisibilityShared
	}
	_, _, stored := runPut(t, h, put)
	works, fails := stored.Items[1].ID, stored.Items[0].ID
	recalled := func(p schema.Principal) schema.RecallResponse {
		_, answer := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "the linker fails",
			Task: &schema.Task{ErrorSignature: "ld: cache mismatch"}, ReadPolicy: schema.ReadShared,
			Context: []byte(`{"os":"macos"}`)})
		require.Len(t, answer.Selections, 1)
		return answer
	}
	const rounds = 3
	for round := range rounds {
		_, result, err := feedback(t, h, schema.FeedbackRequest{
			Operation:   schema.Operation{Principal: p, OperationID: uuid.NewString()},
			RetrievalID: recalled(p).RetrievalID,
			Items: []schema.FeedbackItem{{MemoryID: fails, Verdict: schema.VerdictFailed},
				{MemoryID: works, Verdict: schema.VerdictSucceeded}}})
		require.NoError(t, err)
		want := [][]any{{schema.ReachAll, schema.ReportHeld("")}, {schema.ReachOwn, schema.HeldRepeated}}[min(round, 1)]
		for _, item := range result.Items {
			require.Equal(t, want, []any{item.CountsFor, item.Held})
		}
	}
	own, others := recalled(p).Selections[0], recalled(other).Selections[0]
	require.Equal(t, works, own.Selected)
	require.Equal(t, []int64{rounds, rounds}, []int64{own.Candidates[0].Successes, own.Candidates[1].Failures})
	require.Less(t, others.Confidence, own.Confidence)
	require.Equal(t, []int64{1, 1}, []int64{others.Candidates[0].Successes, others.Candidates[1].Failures})
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// Feedback on a retrieval of another principal, or on an unknown one, fails at once and stores nothing.
func TestFeedbackOnAnothersRetrievalFails(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	known(t, h, p, "Tea is served hot.")
	_, answer := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "tea"})
	other := p
	other.Agent = "stranger"
	for _, req := range []schema.FeedbackRequest{
		{Operation: schema.Operation{Principal: other}, RetrievalID: answer.RetrievalID,
			Outcome: schema.OutcomeSuccess},
		{Operation: schema.Operation{Principal: p}, RetrievalID: uuid.NewString(), Outcome: schema.OutcomeSuccess},
	} {
		_, _, err := feedback(t, h, req)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, []any{api.ErrTypeNotFound, true}, []any{app.Type(), app.NonRetryable()})
	}
	db := testkit.Owner(t, h.DatabaseURL)
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
	require.Zero(t, testkit.Rows(t, db, "retrieval_feedback", ""))
	_, err := mneme.StartFeedback(context.Background(), h.Temporal, h.TaskQueue, schema.FeedbackRequest{})
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
}

// Feedback through Nexus has one effect, however often it is delivered, and only on the caller's own retrieval.
func TestNexusFeedback(t *testing.T) {
	t.Parallel()
	lossy := &unheard{}
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{lossy}})
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	p := testkit.Principal()
	id := known(t, h, p, "Tea is served hot.")[0]
	var answer schema.RecallResponse
	require.NoError(t, within(t, a.start(t, api.OperationRecall, schema.RecallRequest{Principal: p, Query: "tea"}),
		&answer))
	req := schema.FeedbackRequest{Operation: schema.Operation{Principal: p}, RetrievalID: answer.RetrievalID,
		Items: []schema.FeedbackItem{{MemoryID: id, Verdict: schema.VerdictPartly}}}
	var result schema.FeedbackResult
	require.NoError(t, within(t, a.start(t, api.OperationFeedback, req), &result))
	require.Equal(t, schema.FeedbackReinforced, result.Items[0].Status)
	require.Positive(t, lossy.lost.Load())
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "action = 'reinforce'"))

	req.Principal.Agent = "stranger"
	for retrieval, wanted := range map[string]string{answer.RetrievalID: api.ErrTypeNotFound,
		"x": api.ErrTypeInvalidRequest} {
		req.RetrievalID = retrieval
		var app *temporal.ApplicationError
		require.ErrorAs(t, within(t, a.start(t, api.OperationFeedback, req), nil), &app)
		require.Equal(t, wanted, app.Type())
	}
}

// recordFeedback records accepted feedback, and feedback on an unknown retrieval.
func recordFeedback(t *testing.T, h *harness.Harness) {
	p := testkit.Principal()
	id := known(t, h, p, "Tea is served hot.")[0]
	_, answer := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "tea"})
	for name, retrieval := range map[string]string{"feedback": answer.RetrievalID,
		"feedback-refused": uuid.NewString()} {
		run, _, err := feedback(t, h, schema.FeedbackRequest{Operation: schema.Operation{Principal: p},
			RetrievalID: retrieval,
			Items:       []schema.FeedbackItem{{MemoryID: id, Verdict: schema.VerdictSucceeded}}})
		require.Equal(t, name == "feedback", err == nil)
		record(t, h, name, run.GetID(), run.GetRunID())
	}
}
