package activities

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/vector"
)

// Forgetting forgets memories and erases their content.
type Forgetting struct {
	Store    *store.Store
	Index    vector.Index
	Embedder inference.Embedder // names the embedding space whose points are removed
	Policy   proposals.WritePolicy
	ReviewID func(tenant, batchID string) string // the workflow id of a batch's review
	// RenewReview starts a new run of a batch's review, in place of the waiting one.
	RenewReview func(ctx context.Context, c client.Client, taskQueue, tenant, batchID string) error
	// Approve confirms a run of Forget with the token of the run's id. An empty token means that the run is already
	// confirmed.
	Approve func(ctx context.Context, c client.Client, workflowID, actor string,
		token func(runID string) (string, error)) error
	// SweepMemoryIndex removes events from a memory index outside Postgres that the ledger no longer has. It is nil if
	// there is no such index.
	SweepMemoryIndex func(ctx context.Context, tenant string) (int, error)
	Now              func() time.Time
}

// ForgetRef names a run.
type ForgetRef struct {
	Tenant string `json:"tenant"`
	RunID  string `json:"run_id"`
}

// id parses the run's id. A malformed id is not retried.
func (r ForgetRef) id() (uuid.UUID, error) {
	id, err := uuid.Parse(r.RunID)
	if err != nil {
		return uuid.Nil, temporal.NewNonRetryableApplicationError("run_id is not an id", api.ErrTypeInvalidRequest, nil)
	}
	return id, nil
}

// frozen is the failure for a policy that forbids changing what is stored (document 002
// "Soft-Delete and Recovery"), or nil.
func (a *Forgetting) frozen() error {
	if !a.Policy.MutationsFrozen() {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(proposals.ReasonMutationsFrozen, api.ErrTypeFrozen, nil)
}

// SelectForget selects the memories that an accepted request would forget. It returns ids and counts, but not the
// token.
func (a *Forgetting) SelectForget(ctx context.Context, ref schema.OperationRef) (schema.ForgetPreview, error) {
	ctx, stop := step.HeartbeatLong(ctx)
	defer stop()
	if err := a.frozen(); err != nil {
		return schema.ForgetPreview{}, err
	}
	var req schema.ForgetRequest
	if _, err := a.Store.Accepted(ctx, ref, &req); err != nil {
		return schema.ForgetPreview{}, step.Fail(err)
	}
	preview, err := a.Store.SelectForget(ctx, ref, req, step.Now(a.Now))
	return preview, step.Fail(err)
}

// ConfirmForgetRequest is a confirmation of a run.
type ConfirmForgetRequest struct {
	Run          ForgetRef                 `json:"run"`
	Confirmation schema.ForgetConfirmation `json:"confirmation"`
}

// ConfirmForget confirms a run. A wrong token fails with ErrTypeTokenRefused.
func (a *Forgetting) ConfirmForget(ctx context.Context, in ConfirmForgetRequest) (schema.ForgetApproval, error) {
	id, err := in.Run.id()
	if err != nil {
		return schema.ForgetApproval{}, err
	}
	if err := a.frozen(); err != nil {
		return schema.ForgetApproval{}, err
	}
	in.Confirmation.DropUnread() // only a signal can have unknown fields here: an update with them was refused
	if err := in.Confirmation.Validate(); err != nil {
		return schema.ForgetApproval{}, step.Fail(err)
	}
	out, err := a.Store.ConfirmForget(ctx, in.Run.Tenant, id, in.Confirmation, step.Now(a.Now))
	if reason := api.TokenReason(err); reason != "" {
		return out, temporal.NewNonRetryableApplicationError(api.TokenError(reason).Error(),
			api.ErrTypeTokenRefused, nil, reason)
	}
	return out, step.Fail(err)
}

// ForgetBatchRequest is a request for a run's next batch.
type ForgetBatchRequest struct {
	ForgetRef
	BatchSize int `json:"batch_size,omitempty"` // memories; 0: schema.MaxForgetBatch
}

// ForgetBatch forgets the next memories of a confirmed run and stops pipelines that have nothing left to do. After a
// statement that timed out it forgets them in smaller transactions. A repeated delivery continues where the run
// stopped.
func (a *Forgetting) ForgetBatch(ctx context.Context, in ForgetBatchRequest) (schema.ForgetReceipt, error) {
	id, err := in.id()
	if err != nil {
		return schema.ForgetReceipt{}, err
	}
	pace, ctx := step.StartPace(ctx, 0, cmp.Or(in.BatchSize, forgetting.ForgetBatchSize))
	defer pace.Stop()
	out, stop, err := a.forgetBatch(ctx, in.Tenant, id, cmp.Or(in.BatchSize, forgetting.ForgetBatchSize), pace)
	if err != nil {
		// The next attempt does not return the pipelines of committed transactions again.
		err = step.Fail(step.Stalled(ctx, err))
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if _, noteErr := a.stopPipelines(ctx, in.Tenant, id, stop); noteErr != nil {
			activity.GetLogger(ctx).Warn("stopped pipelines not noted", "error", noteErr)
		}
		return schema.ForgetReceipt{}, err
	}
	stopped, err := a.stopPipelines(ctx, in.Tenant, id, stop)
	out.Stopped += stopped
	return out, step.Fail(err)
}

// stopWithin limits stopping pipelines after a failed batch, whose attempt may have been cancelled.
const stopWithin = 10 * time.Second

// stopPipelines cancels the workflows that are still running, and notes their number in the receipt. Stopping a
// pipeline only saves model calls: it would write nothing. So a failure to stop it is only logged.
func (a *Forgetting) stopPipelines(ctx context.Context, tenant string, run uuid.UUID, workflows []string) (stopped int,
	err error) {
	d := runDeleter{client: activity.GetClient(ctx), tenant: tenant}
	for _, workflowID := range workflows {
		latest, err := d.describe(ctx, workflowID, "")
		if err == nil && latest.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			if err = d.client.CancelWorkflow(ctx, workflowID, latest.GetExecution().GetRunId()); err == nil {
				stopped++
			}
		}
		if err != nil && !isGone(err) {
			activity.GetLogger(ctx).Warn("pipeline not stopped", "error", err)
		}
	}
	if stopped == 0 {
		return 0, nil
	}
	return stopped, a.Store.NoteForget(ctx, tenant, run, forgetting.ForgetNote{Stopped: stopped}, step.Now(a.Now))
}

// forgetBatch forgets at most the given number of memories, in transactions of the pace's size, until its time is over.
// It returns the pipelines of the committed transactions even if it fails.
func (a *Forgetting) forgetBatch(ctx context.Context, tenant string, run uuid.UUID, most int,
	pace *step.Pace) (receipt schema.ForgetReceipt, stop []string, err error) {
	until := time.Now().Add(partialAfter)
	for taken := 0; ; {
		size := min(pace.Size(), most-taken)
		out, err := a.Store.ForgetBatch(ctx, tenant, run, size, step.Now(a.Now))
		if err != nil {
			if pace.Slower(ctx, min(size, out.Taken), err) {
				continue
			}
			return receipt, stop, err
		}
		pace.Faster()
		receipt, stop, taken = out.Receipt, append(stop, out.Stop...), taken+size
		if taken >= most || receipt.Remaining == 0 || receipt.State != schema.ForgetConfirmed ||
			!time.Now().Before(until) {
			return receipt, stop, nil
		}
	}
}

// isGone reports whether Temporal has no such workflow, or it has ended.
func isGone(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}

// CloseForgetRequest ends a run.
type CloseForgetRequest struct {
	Run   ForgetRef          `json:"run"`
	State schema.ForgetState `json:"state"` // done, expired or cancelled
	// Pending names places that could not be reached.
	Pending []string `json:"pending,omitempty"`
}

// CloseForget ends a run and returns its receipt; the receipt's state says how it has ended.
func (a *Forgetting) CloseForget(ctx context.Context, in CloseForgetRequest) (schema.ForgetReceipt, error) {
	id, err := in.Run.id()
	if err != nil {
		return schema.ForgetReceipt{}, err
	}
	if len(in.Pending) > 0 {
		if err := a.Store.NoteForget(ctx, in.Run.Tenant, id, forgetting.ForgetNote{Pending: in.Pending},
			step.Now(a.Now)); err != nil {
			return schema.ForgetReceipt{}, step.Fail(err)
		}
	}
	receipt, err := a.Store.CloseForget(ctx, in.Run.Tenant, id, in.State, step.Now(a.Now))
	return receipt, step.Fail(err)
}

// ForgetVectors removes the points of forgotten memories from the vector index. If texts were erased, it also removes
// from the text statistics the words that no live memory contains.
func (a *Forgetting) ForgetVectors(ctx context.Context, in ForgetRef) error {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	id, err := in.id()
	if err != nil {
		return err
	}
	for {
		entries, err := a.Store.ForgottenVectors(ctx, in.Tenant, id, indexing.OutboxPage)
		if err != nil {
			return step.Fail(step.Stalled(ctx, err))
		}
		if len(entries) == 0 {
			break
		}
		if err := indexing.RemovePoints(ctx, a.Store, a.Index, in.Tenant, entries); err != nil {
			return step.Stalled(ctx, err)
		}
		if err := a.Store.SettleOutbox(ctx, in.Tenant, entries, step.Now(a.Now)); err != nil {
			return step.Fail(step.Stalled(ctx, err))
		}
		note := forgetting.ForgetNote{Removed: map[string]int{"vectors/" + a.Index.Name(): len(entries)}}
		if err := a.Store.NoteForget(ctx, in.Tenant, id, note, step.Now(a.Now)); err != nil {
			return step.Fail(step.Stalled(ctx, err))
		}
		step.Advance(ctx)
	}
	removed, err := a.Store.ForgetRemoved(ctx, in.Tenant, id)
	if err != nil || !removed {
		return step.Fail(step.Stalled(ctx, err))
	}
	swept, err := a.Store.SweepLexemes(ctx, in.Tenant, step.Now(a.Now))
	if err == nil && swept > 0 {
		err = a.Store.NoteForget(ctx, in.Tenant, id,
			forgetting.ForgetNote{Removed: map[string]int{"lexeme_stats": swept}},
			step.Now(a.Now))
	}
	return step.Fail(step.Stalled(ctx, err))
}

// ForgetRunsRequest is a request to delete the workflow runs that carried forgotten memories, for the run's items
// from an ordinal on.
type ForgetRunsRequest struct {
	Run  ForgetRef `json:"run"`
	From int       `json:"from"`
	// CancelAfter and TerminateAfter are the numbers of attempts after which an open workflow is cancelled and then
	// terminated. The caller's retry policy limits the attempts. 0 means never.
	CancelAfter    int32 `json:"cancel_after"`
	TerminateAfter int32 `json:"terminate_after"`
}

// ForgetRunsResult has the ordinal to continue with; 0 when nothing is left, -1 for the first ordinal again.
type ForgetRunsResult struct {
	Next int `json:"next"`
}

// ForgetRuns deletes workflow executions whose input contained an erased text. A run that also contained other texts is
// deleted too: its history is temporary, and its effect is stored in Postgres. If a run is still open, ForgetRuns
// fails so that it is retried later; in the end it cancels and then terminates the run. It does not wait for a
// review, which may take weeks; the review continues as a new run. The runs of Recall are deleted last. Runs of other
// tenants are not touched. After partialAfter it returns, and is called again with the same cursor.
func (a *Forgetting) ForgetRuns(ctx context.Context, in ForgetRunsRequest) (ForgetRunsResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	id, err := in.Run.id()
	if err != nil {
		return ForgetRunsResult{}, err
	}
	carriers, err := a.Store.ForgottenWorkflows(ctx, in.Run.Tenant, id, in.From, forgetting.ForgetBatchSize)
	if err != nil {
		return ForgetRunsResult{}, step.Fail(err)
	}
	d := runDeleter{client: activity.GetClient(ctx), tenant: in.Run.Tenant, cancelAfter: in.CancelAfter,
		terminateAfter: in.TerminateAfter,
		until:          time.Now().Add(partialAfter)}
	for _, workflowID := range carriers.Workflows {
		if err == nil {
			err = d.delete(ctx, workflowID)
		}
	}
	for _, workflowID := range carriers.Sessions {
		if err == nil {
			err = d.renewSession(ctx, workflowID)
		}
	}
	for _, batch := range carriers.Batches {
		if err == nil && d.running == 0 { // once, when no run has to be tried again
			err = d.renew(ctx, a.ReviewID(in.Run.Tenant, batch.String()), func() error {
				return a.RenewReview(ctx, d.client, activity.GetInfo(ctx).TaskQueue, in.Run.Tenant, batch.String())
			})
		}
	}
	if err == nil && carriers.Next == 0 && d.running == 0 {
		if err = d.deleteRecalls(ctx); err == nil {
			_, err = a.sweepMemoryIndex(ctx, in.Run.Tenant)
		}
	}
	if d.deleted > 0 { // the receipt lists deleted runs even if the rest must be retried
		note := forgetting.ForgetNote{Removed: map[string]int{"temporal_runs": d.deleted}}
		if noteErr := a.Store.NoteForget(ctx, in.Run.Tenant, id, note, step.Now(a.Now)); noteErr != nil {
			return ForgetRunsResult{}, step.Fail(noteErr)
		}
	}
	if errors.Is(err, errTimeIsOver) {
		// deleted runs are not found again; 0 would end the step
		return ForgetRunsResult{Next: cmp.Or(in.From, -1)}, nil
	}
	if err != nil {
		return ForgetRunsResult{}, step.Stalled(ctx, err)
	}
	if d.running > 0 {
		attempt := int(activity.GetInfo(ctx).Attempt)
		return ForgetRunsResult{}, step.PendingError(d.running, lifecycle.RetryDelay(attempt, step.RetryKey(ctx)), "")
	}
	return ForgetRunsResult{Next: carriers.Next}, nil
}
