package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

var (
	reviewingOf *activities.Reviewing
	acceptingOf *activities.Accepting
)

func TestIngestStartsAReviewAndDoesNotWait(t *testing.T) {
	t.Parallel()
	for waiting, started := range map[int]int{0: 0, 3: 1} {
		s := newStage(t, nil)
		s.toReview = waiting
		var reviews []api.ReviewInput
		s.OnWorkflow(workflows.Review, mock.Anything, mock.Anything).Return(func(_ workflow.Context,
			in api.ReviewInput) (api.ReviewProgress, error) {
			reviews = append(reviews, in)
			return api.ReviewProgress{}, errors.New("this is nothing to an ingest")
		}).Maybe()
		result, err := s.run(t, 1)
		require.NoError(t, err)
		require.Equal(t, waiting, result.ToReview)
		require.Len(t, reviews, started)
		if started > 0 {
			require.Equal(t, api.ReviewWorkflowID("t", result.BatchID), result.ReviewID)
			require.Equal(t, api.ReviewInput{Tenant: "t", BatchID: result.BatchID}, reviews[0])
		}
	}
}

// The first version of Ingest starts no review.
func TestIngestOfTheFirstVersionStartsNoReview(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.toReview = 1
	s.OnGetVersion("lean-history", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	s.OnGetVersion("start-review", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	result, err := s.run(t, 1)
	require.NoError(t, err)
	require.Empty(t, result.ReviewID)
}

// moved ingests a fact and another that replaces it, which the default policy leaves to a reviewer.
func moved(t *testing.T, h *harness.Harness, p schema.Principal,
	texts ...string) (api.IngestResult, schema.ReviewItem) {
	t.Helper()
	h.Ingest(t, testkit.Request(p, schema.SourceMemory, texts[0]))
	req := testkit.Request(p, schema.SourceMemory, texts[1])
	req.NoUpdateDelete = true // a certain change would be applied
	_, result := h.Ingest(t, req)
	require.Zero(t, result.Dead)
	require.Equal(t, 1, result.ToReview)
	require.Equal(t, api.ReviewWorkflowID(p.Tenant, result.BatchID), result.ReviewID)
	items, err := h.Store.ListReviews(context.Background(), p, pipeline.ReviewFilter{}, pg.Page{})
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Equal(t, result.BatchID, items[0].BatchID)
	return result, items[0]
}

func decision(p schema.Principal, item schema.ReviewItem, d schema.Decision) schema.ReviewRequest {
	return schema.ReviewRequest{Operation: schema.Operation{Principal: p, Actor: "operator:rita",
		Reason: "she told me herself"}, ProposalID: item.ProposalID, Decision: d}
}

func decide(t *testing.T, h *harness.Harness, req schema.ReviewRequest, batch string) schema.ReviewResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	result, err := mneme.Decide(ctx, h.Temporal, h.TaskQueue, req, batch)
	require.NoError(t, err)
	return result
}

func statusOf(t *testing.T, c client.Client, id string) enumspb.WorkflowExecutionStatus {
	t.Helper()
	described, err := c.DescribeWorkflowExecution(context.Background(), id, "")
	require.NoError(t, err)
	return described.GetWorkflowExecutionInfo().GetStatus()
}

func reviewEnds(t *testing.T, h *harness.Harness, id string) api.ReviewProgress {
	t.Helper()
	return runEnds(t, h, id, "")
}

func runEnds(t *testing.T, h *harness.Harness, id, runID string) api.ReviewProgress {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	var p api.ReviewProgress
	require.NoError(t, h.Temporal.GetWorkflow(ctx, id, runID).Get(ctx, &p))
	return p
}

// reviewWaits waits until a run has its one open proposal.
func reviewWaits(t *testing.T, h *harness.Harness, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	require.NoError(t, testkit.Eventually(ctx, func() error {
		answer, err := h.Temporal.QueryWorkflow(ctx, id, "", api.QueryProgress)
		if err != nil {
			return err
		}
		var p api.ReviewProgress
		if err := answer.Get(&p); err != nil || p.Open != 1 || p.NextAt == nil {
			return errors.Join(err, fmt.Errorf("%+v", p))
		}
		return nil
	}))
}

// batchRun is the workflow id of the ingest of a batch.
func batchRun(t *testing.T, h *harness.Harness, p schema.Principal, batch string) string {
	t.Helper()
	b, err := h.Store.Batch(context.Background(), p.Tenant, uuid.MustParse(batch))
	require.NoError(t, err)
	return b.WorkflowID
}

// runOf returns the current run of a workflow id.
func runOf(t *testing.T, c client.Client, id string) string {
	t.Helper()
	described, err := c.DescribeWorkflowExecution(context.Background(), id, "")
	require.NoError(t, err)
	return described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// A changed preference waits for review; after the approval the new one is recalled and the old one is not, and history
// names the reviewer (document 002 "Decision Engine", document 004 §7).
func TestAChangedPreferenceWaitsForApproval(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"updates are off": {"Dana prefers Go for backend services.", "Dana prefers Rust for backend services."},
		"the target is pinned": {"critical: Dana prefers Go for backend services.",
			"Dana prefers Rust for backend services."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, nil)
			p, ctx := testkit.Principal(), context.Background()
			result, item := moved(t, h, p, texts...)
			require.Equal(t, schema.ActionUpdate, item.Action)
			require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, h.Temporal, result.ReviewID),
				"the ingest did not wait for it")
			runID := runOf(t, h.Temporal, result.ReviewID)
			reviewWaits(t, h, result.ReviewID)
			for _, event := range rawHistory(t, h.Temporal, batchRun(t, h, p, result.BatchID), "") {
				require.NotContains(t, event.GetEventType().String(), "Cancel", "the child is abandoned")
			}
			r := h.Recaller()
			recalled := func() (out []string) {
				answer, err := r.Recall(ctx, schema.RecallRequest{Principal: p,
					Query: "What does Dana prefer for backend services?"})
				require.NoError(t, err)
				for _, found := range answer.Results {
					out = append(out, found.Content)
				}
				return out
			}
			require.Len(t, recalled(), 2, "until then both are active")

			decided := decide(t, h, decision(p, item, schema.DecisionApprove), result.BatchID)
			require.Equal(t, schema.ReviewApplied, decided.Status)
			require.Equal(t, []string{"Dana prefers Rust for backend services."}, recalled())
			steps := testkit.History(t, h.Store, p, uuid.MustParse(item.TargetID))
			last := steps[len(steps)-1]
			require.Equal(t, []string{"operator:rita", "she told me herself"}, []string{last.ChangedBy, last.Reason})
			old, err := h.Store.Get(ctx, p, uuid.MustParse(item.TargetID))
			require.NoError(t, err)
			require.Equal(t, schema.StatusSuperseded, old.Status)
			successor, err := h.Store.Get(ctx, p, uuid.MustParse(decided.MemoryID))
			require.NoError(t, err)
			require.Equal(t, old.Lifecycle.Pinned, successor.Lifecycle.Pinned)

			require.Equal(t, api.ReviewProgress{Approved: 1}, runEnds(t, h, result.ReviewID, runID),
				"decided by the run that the ingest started")
			// The run has ended; a decision is still answered.
			again := decide(t, h, decision(p, item, schema.DecisionReject), result.BatchID)
			require.Equal(t, schema.ReviewDecided, again.Status)
			require.Equal(t, "applied by operator:rita", again.Why)
			db := testkit.Owner(t, h.DatabaseURL)
			require.Zero(t, testkit.Rows(t, db, "index_outbox", ""), "the index is updated")
			require.Zero(t, testkit.Rows(t, db, "staged_requests", ""), "no pending decision is left")
		})
	}
}

func TestADecisionNeedsNoRun(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	require.NoError(t, h.Temporal.TerminateWorkflow(context.Background(), result.ReviewID, "", "a careless operator"))
	req := decision(p, item, schema.DecisionReject)
	req.OperationID = "op-1"
	first := decide(t, h, req, result.BatchID)
	require.Equal(t, schema.ReviewRejected, first.Status)
	require.Equal(t, api.ReviewProgress{Rejected: 1}, reviewEnds(t, h, result.ReviewID))
	require.Equal(t, first, decide(t, h, req, result.BatchID), "repeated in another run")

	// So is a decision on an unknown proposal.
	missing := item
	missing.ProposalID = uuid.NewString()
	require.Equal(t, schema.ReviewNotFound,
		decide(t, h, decision(p, missing, schema.DecisionReject), uuid.NewString()).Status)
	var invalid *schema.ValidationError
	_, err := mneme.Decide(context.Background(), h.Temporal, h.TaskQueue, decision(p, item, "perhaps"), result.BatchID)
	require.ErrorAs(t, err, &invalid)
	_, err = mneme.Decide(context.Background(), h.Temporal, h.TaskQueue, decision(p, item, schema.DecisionReject), "x")
	require.ErrorAs(t, err, &invalid)
}

// Concurrent decisions on all proposals of a batch, while the run of its review ends.
func TestManyDecideAtOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	const reviewers = 8
	results := make(chan schema.ReviewResult, reviewers)
	errs := make(chan error, reviewers)
	for i := range reviewers {
		go func() {
			req := decision(p, item, schema.DecisionApprove)
			req.Actor = fmt.Sprintf("operator:%d", i)
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			r, err := mneme.Decide(ctx, h.Temporal, h.TaskQueue, req, result.BatchID)
			results <- r
			errs <- err
		}()
	}
	count := map[schema.ReviewStatus]int{}
	for range reviewers {
		require.NoError(t, <-errs)
		count[(<-results).Status]++
	}
	require.Equal(t, map[schema.ReviewStatus]int{schema.ReviewApplied: 1, schema.ReviewDecided: reviewers - 1}, count)
}

// The acknowledgement of every activity is lost once.
func TestADecisionWhoseAcknowledgementIsLost(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	decided := decide(t, h, decision(p, item, schema.DecisionApprove), result.BatchID)
	require.Equal(t, schema.ReviewApplied, decided.Status)
	require.Equal(t, api.ReviewProgress{Approved: 1}, reviewEnds(t, h, result.ReviewID))
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "changed_by = 'operator:rita' AND event = 'modified'"))
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "changed_by = 'operator:rita' AND event = 'none'"))
}

// The worker is killed while a review waits; another one continues it days later.
func TestAReviewSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	h := harness.NewIdle(t, testkit.DatabaseURL(t), c, nil)
	settings := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": address,
		"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue}
	victim := harness.StartProcess(t, settings)
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	victim.Kill()
	runID := runOf(t, c, result.ReviewID)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, c, result.ReviewID))
	harness.StartProcess(t, settings)
	require.Equal(t, schema.ReviewApplied,
		decide(t, h, decision(p, item, schema.DecisionApprove), result.BatchID).Status)
	require.Equal(t, api.ReviewProgress{Approved: 1}, runEnds(t, h, result.ReviewID, runID))
}

// A replayed dead job joins the existing review of its batch.
func TestAReplayedJobKeepsTheReviewOfItsBatch(t *testing.T) {
	t.Parallel()
	cured := false
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Kind == testkit.Decision {
			if offered := call.Offered().Candidates; len(offered) > 0 {
				return testkit.DecisionOf(schema.ActionUpdate, offered[0].ID)
			}
			return testkit.DecisionOf(schema.ActionAdd, "")
		}
		if call.Data == "A poison candidate." && !cured {
			return testkit.ModelReply{Status: 400}
		}
		return testkit.FactsOf("It is known that " + call.Data)
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	p, ctx := testkit.Principal(), context.Background()
	h.Ingest(t, testkit.Request(p, schema.SourceObservation, "A candidate that was known before."))
	_, result := h.Ingest(t, testkit.Request(p, schema.SourceObservation, "A good candidate.", "A poison candidate."))
	require.Equal(t, 1, result.Dead)
	require.Equal(t, 1, result.ToReview)
	jobs, err := h.Store.Jobs(ctx, p.Tenant, pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	cured = true
	replayed, err := resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: jobs[0].ID, Actor: "operator:test"})
	require.NoError(t, err)
	require.Equal(t, 1, replayed.ToReview)
	require.Equal(t, result.ReviewID, replayed.ReviewID)
	items, err := h.Store.ListReviews(ctx, p, pipeline.ReviewFilter{}, pg.Page{})
	require.NoError(t, err)
	require.Len(t, items, 2)
	for _, item := range items {
		require.Equal(t, schema.ReviewRejected,
			decide(t, h, decision(p, item, schema.DecisionReject), result.BatchID).Status)
	}
	require.Equal(t, 2, reviewEnds(t, h, result.ReviewID).Rejected)
}

// The history of a review contains no content of memories; the reviewer's comment is in it once.
func TestAReviewKeepsContentOutOfItsHistory(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Old"+canary+".", "Dana lives in New"+canary+".")
	req := decision(p, item, schema.DecisionApprove)
	const words = "quietword"
	req.Reason = words
	require.Equal(t, schema.ReviewApplied, decide(t, h, req, result.BatchID).Status)
	reviewEnds(t, h, result.ReviewID)
	require.Empty(t, barers(t, h.Temporal, result.ReviewID, "", canary))
	require.Equal(t, []string{"WorkflowExecutionUpdateAccepted"}, barers(t, h.Temporal, result.ReviewID, "", words))
}
