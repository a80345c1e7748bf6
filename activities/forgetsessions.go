package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// renewWait is how long a session is waited for that was asked to go on with a new history.
const renewWait = 5 * time.Second

// EraseEventsResult is what Postgres has erased, and which sessions may carry it in their histories.
type EraseEventsResult struct {
	Events   int      `json:"events"`
	Sessions []string `json:"sessions,omitempty"`
	Episodes []string `json:"episodes,omitempty"`
}

// EraseEvents empties events for good.
func (a *Forgetting) EraseEvents(ctx context.Context, in api.EraseEventsRequest) (EraseEventsResult, error) {
	if in.Tenant == "" || len(in.IDs) == 0 || len(in.IDs) > ledger.MaxAppend {
		return EraseEventsResult{}, step.Fail(&schema.ValidationError{Fields: []schema.FieldError{{Field: "ids",
			Problem: fmt.Sprintf("must hold 1 to %d ids of a tenant", ledger.MaxAppend)}}})
	}
	if err := a.frozen(); err != nil {
		return EraseEventsResult{}, err
	}
	erased, err := a.Store.EraseEvents(ctx, in.Tenant, in.IDs, step.Now(a.Now))
	if err != nil {
		return EraseEventsResult{}, step.Fail(err)
	}
	out := EraseEventsResult{Events: erased.Events, Sessions: erased.Workflows}
	for _, id := range erased.Episodes {
		out.Episodes = append(out.Episodes, id.String())
	}
	return out, nil
}

// ForgetSessionsRequest asks to delete the histories of sessions, which go on with new ones.
type ForgetSessionsRequest struct {
	Tenant   string   `json:"tenant"`
	Sessions []string `json:"sessions"` // workflow ids
	// The attempts after which a session that does not renew its history is cancelled, and terminated. 0 means never.
	CancelAfter    int32 `json:"cancel_after"`
	TerminateAfter int32 `json:"terminate_after"`
}

// ForgetSessionsResult counts the runs that were deleted.
type ForgetSessionsResult struct {
	Deleted int  `json:"deleted"`
	More    bool `json:"more,omitempty"` // the time of the attempt was over
}

// ForgetSessions deletes the histories of sessions. One that is under way is asked to go on with a new history first,
// and is waited for by failing.
func (a *Forgetting) ForgetSessions(ctx context.Context, in ForgetSessionsRequest) (ForgetSessionsResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	d := runDeleter{client: activity.GetClient(ctx), tenant: in.Tenant, cancelAfter: in.CancelAfter,
		terminateAfter: in.TerminateAfter, until: time.Now().Add(partialAfter)}
	for _, workflowID := range in.Sessions {
		err := d.renewSession(ctx, workflowID)
		if errors.Is(err, errTimeIsOver) {
			return ForgetSessionsResult{Deleted: d.deleted, More: true}, nil
		}
		if err != nil {
			return ForgetSessionsResult{}, step.Stalled(ctx, err)
		}
	}
	if d.running > 0 {
		attempt := int(activity.GetInfo(ctx).Attempt)
		return ForgetSessionsResult{}, step.PendingError(d.running, lifecycle.RetryDelay(attempt, step.RetryKey(ctx)), "")
	}
	return ForgetSessionsResult{Deleted: d.deleted}, nil
}

// renewSession deletes the runs of a session, and of the recording of it. A run holds nothing that is not in Postgres
// but events that wait to be appended: one that is open appends them and goes on as a new run.
func (d *runDeleter) renewSession(ctx context.Context, workflowID string) error {
	latest, err := d.describe(ctx, workflowID, "")
	if err != nil {
		return err
	}
	if latest.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		runID := latest.GetExecution().GetRunId()
		renewed, err := d.renewed(ctx, workflowID, runID)
		if err != nil {
			return err
		}
		if !renewed {
			d.running++
			return d.end(ctx, workflowID, activity.GetInfo(ctx).Attempt)
		}
	}
	if err := d.deleteRuns(ctx, workflowID, latest); err != nil {
		return err
	}
	return d.delete(ctx, api.RecordIDOf(workflowID))
}

// renewed asks a run of a session to go on as a new one, and reports whether it did so soon.
func (d *runDeleter) renewed(ctx context.Context, workflowID, runID string) (bool, error) {
	err := d.client.SignalWorkflow(ctx, workflowID, runID, api.SignalRenew, nil)
	if err != nil && !isGone(err) {
		return false, fmt.Errorf("renew session: %w", err)
	}
	for deadline := time.Now().Add(renewWait); ; {
		run, err := d.describe(ctx, workflowID, runID)
		if err != nil {
			return false, err
		}
		if run.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return true, nil
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
