package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// held is a worker in which the first execution of one activity blocks, before or after its work, until it is released.
type held struct {
	*harness.Harness
	t       *testing.T
	reached chan struct{} // closed when the activity blocks
	release func()
}

func newHeld(t *testing.T, activity string, after bool) *held {
	t.Helper()
	h := &held{Harness: harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil), t: t,
		reached: make(chan struct{})}
	released := make(chan struct{})
	h.release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(h.release)
	var once sync.Once
	hold := func() { once.Do(func() { close(h.reached); <-released }) }
	h.StartWorkerWith(t,
		worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: func(_ context.Context, name string,
			run func() (any, error)) (any, error) {
			if name == activity && !after {
				hold()
			}
			out, err := run()
			if name == activity && after {
				hold()
			}
			return out, err
		}}}})
	return h
}

// endReached waits until a run is closed, or its worker has processed the request to cancel it.
func (h *held) endReached(ctx context.Context, id, runID string) {
	h.t.Helper()
	require.NoError(h.t, testkit.Eventually(ctx, func() error {
		described, err := h.Temporal.DescribeWorkflowExecution(ctx, id, runID)
		if err != nil {
			return err
		}
		if described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return nil
		}
		requested := false
		for _, e := range rawHistory(h.t, h.Temporal, id, runID) {
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
				requested = true
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
				if requested {
					return nil
				}
			}
		}
		return errors.New("the worker has not processed the request")
	}))
}

// A decision that a run has accepted is carried out once, even if that run is renewed (as by an erasure), cancelled or
// terminated.
func TestAnAcceptedDecisionSurvivesItsRun(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, *held, schema.Principal, api.IngestResult) error{
		"renewed": func(ctx context.Context, h *held, p schema.Principal, r api.IngestResult) error {
			return workflows.RenewReview(ctx, h.Temporal, h.TaskQueue, p.Tenant, r.BatchID)
		},
		"cancelled": func(ctx context.Context, h *held, _ schema.Principal, r api.IngestResult) error {
			return h.Temporal.CancelWorkflow(ctx, r.ReviewID, "")
		},
		"terminated": func(ctx context.Context, h *held, _ schema.Principal, r api.IngestResult) error {
			return h.Temporal.TerminateWorkflow(ctx, r.ReviewID, "", "by a person")
		},
	} {
		for moment, after := range map[string]bool{"before it is carried out": false, "before its answer": true} {
			t.Run(name+" "+moment, func(t *testing.T) {
				t.Parallel()
				h := newHeld(t, "DecideProposal", after)
				p := testkit.Principal()
				result, item := moved(t, h.Harness, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
				ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
				defer cancel()
				var decided schema.ReviewResult
				var err error
				var answered sync.WaitGroup
				answered.Go(func() {
					decided, err = mneme.Decide(ctx, h.Temporal, h.TaskQueue, decision(p, item, schema.DecisionApprove),
						result.BatchID)
				})
				<-h.reached
				runID := runOf(t, h.Temporal, result.ReviewID)
				require.NoError(t, end(ctx, h, p, result))
				h.endReached(ctx, result.ReviewID, runID)
				h.release()
				answered.Wait()
				require.NoError(t, err)
				require.Equal(t, schema.ReviewApplied, decided.Status)
				db := testkit.Owner(t, h.DatabaseURL)
				require.Equal(t, 1, testkit.Rows(t, db, "memory_history",
					"changed_by = 'operator:rita' AND event = 'modified'"), "once")
				require.Zero(t, testkit.Rows(t, db, "staged_requests", ""), "no pending decision is left")
			})
		}
	}
}

// A confirmation that Postgres has committed is answered, even if the run is cancelled at that moment.
func TestAnAcceptedConfirmationIsAnswered(t *testing.T) {
	t.Parallel()
	h := newHeld(t, "ConfirmForget", true)
	p := testkit.Principal()
	known(t, h.Harness, p, "Tea is served hot.")
	run, preview := startForget(t, h.Harness, forgetRequest(p, "", schema.Selector{Query: "tea"}))
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	token := forgetToken(t, h.Harness, p, preview)
	var approval schema.ForgetApproval
	var err error
	var answered sync.WaitGroup
	answered.Go(func() {
		approval, err = mneme.ConfirmForget(ctx, h.Temporal, run.GetID(), schema.ForgetConfirmation{Token: token})
	})
	<-h.reached
	require.NoError(t, h.Temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
	h.endReached(ctx, run.GetID(), run.GetRunID())
	h.release()
	answered.Wait()
	require.NoError(t, err)
	require.Equal(t, schema.ForgetConfirmed, approval.State)
	receiptOf(t, run)
}

// A client that waits for the staging of a run restarts the run if it was terminated in the meantime; candidates are
// staged once.
func TestAnAcceptedStagingSurvivesItsRun(t *testing.T) {
	t.Parallel()
	h := newHeld(t, "StageCandidates", true)
	p := testkit.Principal()
	req := testkit.Request(p, schema.SourceMemory, "Tea is served hot.")
	req.IdempotencyKey = "k"
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	var started mneme.Started
	var err error
	var answered sync.WaitGroup
	answered.Go(func() { started, err = mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req) })
	<-h.reached
	require.NoError(t, h.Temporal.TerminateWorkflow(ctx, api.IngestWorkflowID(req), "", "by a person"))
	h.release()
	answered.Wait()
	require.NoError(t, err)
	require.Zero(t, harness.Wait(t, started.Run).Dead)
	require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "ingest_batches", ""))
}
