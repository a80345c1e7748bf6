package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// ErrNoSession means that the session has no open run: it is closed or was never open.
var ErrNoSession = errors.New("the session is not running")

// SessionStart returns the options of a Session run.
func SessionStart(taskQueue string, r api.SessionRef) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       api.SessionWorkflowID(r),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            fmt.Sprintf("session of %s of %s", r.Principal.Agent, r.Principal.Tenant),
		TypedSearchAttributes:    OfPrincipal(r.Principal),
	}
}

// AppendEvents adds events of a session to the ledger and returns their places. It starts the session if necessary. For
// repeated events it returns their existing places. It returns a *schema.ValidationError for invalid events.
//
// The ledger recognises repeated events by their ids and contents. Each call is an update of its own, because a run
// would answer a second update with the same id without looking at its events, also after it had refused the first.
func AppendEvents(ctx context.Context, c client.Client, taskQueue string,
	req api.AppendRequest) (api.AppendResult, error) {
	req.Events = req.Fill(req.Events, time.Now())
	if err := req.Validate(); err != nil {
		return api.AppendResult{}, err
	}
	if err := schema.CheckEncoded("events", req); err != nil {
		return api.AppendResult{}, err
	}
	var out api.AppendResult
	err := updateSession(ctx, c, taskQueue, api.SessionInput{SessionRef: req.SessionRef, Settings: req.Settings},
		client.UpdateWorkflowOptions{UpdateName: api.UpdateAppend, UpdateID: uuid.NewString(),
			Args: []any{api.AppendSignal{Events: req.Events}}}, &out)
	if err != nil {
		return api.AppendResult{}, fmt.Errorf("append events: %w", invalidOr(err))
	}
	return out, nil
}

// SignalEvents sends events of a session to the ledger without waiting. It starts the session if necessary. The session
// counts events that cannot be stored (api.SessionProgress).
func SignalEvents(ctx context.Context, c client.Client, taskQueue string, req api.AppendRequest) error {
	req.Events = req.Fill(req.Events, time.Now())
	if err := req.Validate(); err != nil {
		return err
	}
	if err := schema.CheckEncoded("events", req); err != nil {
		return err
	}
	return signalSession(ctx, c, taskQueue, api.SessionInput{SessionRef: req.SessionRef, Settings: req.Settings},
		api.SignalAppend, api.AppendSignal{Events: req.Events})
}

// TellSession signals a session that the ledger has events up to a number. It starts the session if necessary.
func TellSession(ctx context.Context, c client.Client, taskQueue string, in api.SessionInput, seq int64) error {
	return signalSession(ctx, c, taskQueue, in, api.SignalAppended, api.AppendedSignal{Seq: seq})
}

func signalSession(ctx context.Context, c client.Client, taskQueue string, in api.SessionInput, name string,
	arg any) error {
	options := SessionStart(taskQueue, in.SessionRef)
	_, err := c.SignalWithStartWorkflow(ctx, options.ID, name, arg, options, api.WorkflowSession, in)
	if WithoutAttributes(err, &options) {
		_, err = c.SignalWithStartWorkflow(ctx, options.ID, name, arg, options, api.WorkflowSession, in)
	}
	if err != nil {
		return fmt.Errorf("signal session: %w", err)
	}
	return nil
}

// CloseSession ends a session and returns its episode. For a closed session it returns the last episode.
func CloseSession(ctx context.Context, c client.Client, taskQueue string,
	req api.CloseRequest) (api.SessionResult, error) {
	if err := req.Validate(); err != nil {
		return api.SessionResult{}, err
	}
	var out api.SessionResult
	err := updateSession(ctx, c, taskQueue, api.SessionInput{SessionRef: req.SessionRef},
		client.UpdateWorkflowOptions{UpdateName: api.UpdateClose, UpdateID: uuid.NewString(), Args: []any{req}}, &out)
	if err != nil {
		return api.SessionResult{}, fmt.Errorf("close session: %w", invalidOr(err))
	}
	return out, nil
}

// SessionWorking queries the run of a session for the state of the work. It returns ErrNoSession if none is running.
// Postgres also has the state of an open session.
func SessionWorking(ctx context.Context, c client.Client, ref api.SessionRef) (api.SessionWorking, error) {
	if err := ref.Validate(); err != nil {
		return api.SessionWorking{}, err
	}
	var out api.SessionWorking
	answer, err := c.QueryWorkflow(ctx, api.SessionWorkflowID(ref), "", api.QueryWorking)
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing):
		return out, ErrNoSession
	case err != nil:
		return out, fmt.Errorf("query session: %w", err)
	}
	if err := answer.Get(&out); err != nil {
		return out, fmt.Errorf("query session: %w", err)
	}
	return out, nil
}

// RecordSession records a complete session and returns its episode. It returns a *schema.ValidationError for an invalid
// request. If other events of the session are being recorded, it waits for that first.
func RecordSession(ctx context.Context, c client.Client, taskQueue string,
	req api.RecordRequest) (api.SessionResult, error) {
	req.Events = req.Fill(req.Events, time.Now())
	if err := req.Validate(); err != nil {
		return api.SessionResult{}, err
	}
	if err := schema.CheckEncoded("events", req); err != nil {
		return api.SessionResult{}, err
	}
	options := SessionStart(taskQueue, req.SessionRef)
	options.ID = api.RecordWorkflowID(req.SessionRef)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	run, err := startRun(ctx, c, options, api.WorkflowRecordSession, req)
	var there *serviceerror.WorkflowExecutionAlreadyStarted
	for errors.As(err, &there) {
		run = c.GetWorkflow(ctx, options.ID, there.RunId)
		if !IsOther(ctx, c, options.ID, there.RunId, api.RecordDigest(req)) {
			err = nil
			break
		}
		if _ = run.Get(ctx, nil); ctx.Err() != nil { // its outcome is that of the other request
			return api.SessionResult{}, fmt.Errorf("record session: %w", ctx.Err())
		}
		run, err = startRun(ctx, c, options, api.WorkflowRecordSession, req)
	}
	if err != nil {
		return api.SessionResult{}, fmt.Errorf("record session: %w", err)
	}
	var out api.SessionResult
	if err := run.Get(ctx, &out); err != nil {
		return api.SessionResult{}, fmt.Errorf("record session: %w", invalidOr(err))
	}
	return out, nil
}

// updateSession sends an update to a session until it is answered. It starts the session if necessary.
func updateSession(ctx context.Context, c client.Client, taskQueue string, in api.SessionInput,
	update client.UpdateWorkflowOptions, out any) error {
	options := SessionStart(taskQueue, in.SessionRef)
	update.WaitForStage = client.WorkflowUpdateStageCompleted
	return retryUpdate(ctx, true, func() error {
		for {
			handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
				StartWorkflowOperation: c.NewWithStartWorkflowOperation(options, api.WorkflowSession, in),
				UpdateOptions:          update,
			})
			if WithoutAttributes(err, &options) {
				continue
			}
			// Temporal refuses updates of a run whose workers fail or are too slow, or that has many updates to
			// answer.
			var unready *serviceerror.WorkflowNotReady
			var busy *serviceerror.ResourceExhausted
			pause := unreadyPause
			if errors.As(err, &busy) {
				pause = updatePause
			} else if !errors.As(err, &unready) {
				if err != nil {
					return err
				}
				return handle.Get(ctx, out)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", ctx.Err(), err)
			}
		}
	})
}
