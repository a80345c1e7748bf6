package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

// renewWait is how long to wait for a session to continue with a new history.
const renewWait = 5 * time.Second

// EraseEventsResult has the erased events, and the sessions whose histories may contain them.
type EraseEventsResult struct {
	Events   int      `json:"events"`
	Sessions []string `json:"sessions,omitempty"`
	Episodes []string `json:"episodes,omitempty"`
	Unknown  []string `json:"unknown,omitempty"` // ids without an event
	// Shown also deletes the runs that may have shown the events. Runs of EraseEvents that began before this field
	// existed continue without it.
	Shown bool `json:"shown,omitempty"`
	// Owners has the agents' episodes, if these are to be erased too.
	Owners []EpisodesOf `json:"owners,omitempty"`
}

// EraseEvents empties events permanently.
func (a *Forgetting) EraseEvents(ctx context.Context, in api.EraseEventsRequest) (EraseEventsResult, error) {
	if err := in.Validate(); err != nil {
		return EraseEventsResult{}, step.Fail(err)
	}
	if err := a.frozen(); err != nil {
		return EraseEventsResult{}, err
	}
	erased, err := a.Store.EraseEvents(ctx, a.eraseInput(ctx, in))
	if err != nil {
		return EraseEventsResult{}, step.Fail(err)
	}
	out := erasedOf(erased)
	out.Shown = slices.ContainsFunc(in.IDs, func(id string) bool { return !slices.Contains(erased.Unknown, id) })
	if in.Everywhere && len(erased.Episodes) > 0 {
		if out.Owners, err = a.ownersOf(ctx, in.Tenant, in.User, erased.Episodes); err != nil {
			return EraseEventsResult{}, step.Fail(err)
		}
	}
	return out, nil
}

// eraseInput returns the input of a step that erases events. The step is carried out once: if its result is lost, the
// next attempt returns the same.
func (a *Forgetting) eraseInput(ctx context.Context, in api.EraseEventsRequest) sessions.EraseInput {
	info := activity.GetInfo(ctx)
	return sessions.EraseInput{Tenant: in.Tenant, User: in.User, IDs: in.IDs, Now: step.Now(a.Now),
		Receipt:   ledger.Receipt{By: in.Actor, Reason: in.Reason, Run: info.WorkflowExecution.ID},
		Operation: "erase-events/" + info.WorkflowExecution.RunID + "/" + info.ActivityID}
}

// erasedOf returns the result of a step that has erased events.
func erasedOf(erased sessions.Erased) EraseEventsResult {
	out := EraseEventsResult{Events: erased.Events, Sessions: erased.Workflows, Unknown: erased.Unknown}
	for _, id := range erased.Episodes {
		out.Episodes = append(out.Episodes, id.String())
	}
	return out
}

// EraseUserEventsResult is the result of one step of erasing all events of a user.
type EraseUserEventsResult struct {
	EraseEventsResult
	// Stream and Seq are the place of the last event of the step.
	Stream string `json:"stream,omitempty"`
	Seq    int64  `json:"seq,omitempty"`
	More   bool   `json:"more,omitempty"` // there may be events after that place
}

// EraseUserEvents empties events of a user's streams permanently: at most ledger.MaxAppend after the place in the
// request's state. The first pass includes events that are erased already, because an earlier run may have ended before
// it deleted the histories. Later passes include only events that arrived since.
func (a *Forgetting) EraseUserEvents(ctx context.Context, in api.EraseEventsRequest) (EraseUserEventsResult, error) {
	if err := in.Validate(); err != nil {
		return EraseUserEventsResult{}, step.Fail(err)
	}
	if err := a.frozen(); err != nil {
		return EraseUserEventsResult{}, err
	}
	page := events.UserPage{Limit: ledger.MaxAppend}
	if in.State != nil {
		page.After, page.Left = events.Place{Stream: in.State.Stream, Seq: in.State.Seq}, in.State.Passes > 0
	}
	erased, err := a.Store.EraseUserPage(ctx, a.eraseInput(ctx, in), page)
	if err != nil {
		return EraseUserEventsResult{}, step.Fail(err)
	}
	if erased.Read == 0 {
		return EraseUserEventsResult{}, nil
	}
	out := EraseUserEventsResult{EraseEventsResult: erasedOf(erased.Erased), Stream: erased.Last.Stream,
		Seq: erased.Last.Seq, More: erased.Read == ledger.MaxAppend}
	out.Shown, out.Unknown = true, nil // an id is unknown only if retention removed its event meanwhile
	return out, nil
}

// ForgetSessionsRequest is a request to delete the histories of sessions. The sessions continue with new histories.
type ForgetSessionsRequest struct {
	Tenant   string   `json:"tenant"`
	Sessions []string `json:"sessions"` // workflow ids
	// Shown also deletes the runs of Context, Recall, Get, Advise and Report of the tenant, and removes events from a
	// memory index outside Postgres that the ledger no longer has.
	Shown bool `json:"shown,omitempty"`
	// CancelAfter and TerminateAfter are the numbers of attempts after which a session that does not renew its
	// history is cancelled and then terminated. 0 means never.
	CancelAfter    int32 `json:"cancel_after"`
	TerminateAfter int32 `json:"terminate_after"`
}

// ForgetSessionsResult counts the runs that were deleted.
type ForgetSessionsResult struct {
	Deleted int  `json:"deleted"`
	Indexed int  `json:"indexed,omitempty"` // events that were removed from a memory index outside of Postgres
	More    bool `json:"more,omitempty"`    // the time of the attempt was over
}

// ForgetSessions deletes the histories of sessions and, if requested, of runs that may have shown their events. An
// open session is first asked to continue with a new history; until it has, the step fails and is retried.
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
	if in.Shown && d.running == 0 {
		err := d.deleteRecalls(ctx)
		if errors.Is(err, errTimeIsOver) {
			return ForgetSessionsResult{Deleted: d.deleted, More: true}, nil
		}
		if err != nil {
			return ForgetSessionsResult{}, step.Stalled(ctx, err)
		}
	}
	if d.running > 0 {
		attempt := int(activity.GetInfo(ctx).Attempt)
		return ForgetSessionsResult{}, step.PendingError(d.running, lifecycle.RetryDelay(attempt, step.RetryKey(ctx)),
			"")
	}
	out := ForgetSessionsResult{Deleted: d.deleted}
	if in.Shown {
		var err error
		if out.Indexed, err = a.sweepMemoryIndex(ctx, in.Tenant); err != nil {
			return ForgetSessionsResult{}, step.Stalled(ctx, err)
		}
	}
	return out, nil
}

// sweepMemoryIndex removes events from a memory index outside Postgres that the ledger no longer has. It fails and is
// retried while the index does not answer.
func (a *Forgetting) sweepMemoryIndex(ctx context.Context, tenant string) (int, error) {
	if a.SweepMemoryIndex == nil {
		return 0, nil
	}
	n, err := a.SweepMemoryIndex(ctx, tenant)
	if err != nil {
		return n, fmt.Errorf("remove erased events from the memory index: %w", err)
	}
	return n, nil
}

// renewSession deletes the runs of a session, and of its recording. Except for events that wait to be appended,
// everything that a run holds is in Postgres. An open run appends these events and continues as a new run.
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

// renewed asks a run of a session to continue as new, and reports whether it did so within renewWait.
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

// EpisodesOf are episodes of one agent that repeat erased events.
type EpisodesOf struct {
	Principal schema.Principal `json:"principal"`
	IDs       []string         `json:"ids"`
}

// ApproveErasureRequest names a run of Forget that the erasure of events has started.
type ApproveErasureRequest struct {
	Principal  schema.Principal `json:"principal"`
	WorkflowID string           `json:"workflow_id"`
	Actor      string           `json:"actor,omitempty"`
}

// ApproveErasure confirms such a run. The token is read and used here, so that it is in no history. A repeated
// delivery finds the run confirmed. For a run that has failed or was cancelled it does nothing: its result has the
// reason.
func (a *Forgetting) ApproveErasure(ctx context.Context, in ApproveErasureRequest) error {
	ctx, stop := step.HeartbeatLong(ctx)
	defer stop()
	token := func(runID string) (string, error) {
		id, err := uuid.Parse(runID)
		if err != nil {
			return "", err
		}
		return a.Store.ForgetToken(ctx, in.Principal, id, step.Now(a.Now))
	}
	d := runDeleter{client: activity.GetClient(ctx), tenant: in.Principal.Tenant}
	err := a.Approve(ctx, d.client, in.WorkflowID, in.Actor, token)
	if err == nil {
		return nil
	}
	run, describeErr := d.describe(ctx, in.WorkflowID, "")
	if describeErr == nil && run.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil
	}
	return step.Fail(err)
}

// ownersOf groups episodes by the agent to whom they belong. The owners act for the user, if there is one.
func (a *Forgetting) ownersOf(ctx context.Context, tenant, user string, episodes []uuid.UUID) ([]EpisodesOf, error) {
	owners, err := a.Store.EpisodeOwners(ctx, tenant, episodes)
	if err != nil {
		return nil, err
	}
	out := make([]EpisodesOf, 0, len(owners))
	for _, o := range owners {
		of := EpisodesOf{Principal: schema.Principal{Tenant: tenant, Agent: o.Agent, User: user}}
		for _, id := range o.IDs {
			of.IDs = append(of.IDs, id.String())
		}
		out = append(out, of)
	}
	return out, nil
}
