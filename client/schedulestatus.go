package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Who paused a schedule.
const (
	PausedByFailure  = "failure"  // a run failed, and the schedule pauses on failure
	PausedByOperator = "operator" // anyone else
)

// ScheduleStatus is the state of a schedule in Temporal.
type ScheduleStatus struct {
	Name     string `json:"name"`
	ID       string `json:"id"`
	Missing  bool   `json:"missing,omitempty"`
	When     string `json:"when,omitempty"` // description of the times
	Paused   bool   `json:"paused"`
	PausedBy string `json:"paused_by,omitempty"` // failure or operator
	Note     string `json:"note,omitempty"`      // the reason, if the schedule is paused
	Running  bool   `json:"running"`
	// Next is the time of the next run; nil if the schedule is paused.
	Next *time.Time   `json:"next,omitempty"`
	Last *ScheduleRun `json:"last,omitempty"`
	// TaskQueue is the task queue of its runs.
	TaskQueue string `json:"task_queue,omitempty"`
	// Differs lists the properties that differ from the spec.
	Differs []string `json:"differs,omitempty"`

	// Every is the interval; 0 if the schedule has a calendar.
	Every time.Duration `json:"-"`
}

// ScheduleRun is a run that a schedule started.
type ScheduleRun struct {
	WorkflowID string    `json:"workflow_id"`
	RunID      string    `json:"run_id,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	// Completed, Failed, Running and so on; empty if its history no longer exists
	Status string `json:"status,omitempty"`
	Error  string `json:"error,omitempty"` // why it failed
}

// Statuses reads the schedules of this build concurrently, and compares each with its spec, if it has one. It does not
// read runs: Last names the last one, and Outcome reads its status.
func (s Schedules) Statuses(ctx context.Context, specs []ScheduleSpec) ([]ScheduleStatus, error) {
	var out []ScheduleStatus
	for _, kind := range scheduleKinds {
		if kind.id != nil {
			out = append(out, ScheduleStatus{Name: kind.name, ID: kind.id(s.Index)})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range out {
		group.Go(func() error { return s.describe(ctx, &out[i], specs) })
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	return out, nil
}

// describe reads one schedule from Temporal. A schedule that does not exist is not an error.
func (s Schedules) describe(ctx context.Context, out *ScheduleStatus, specs []ScheduleSpec) error {
	var described *client.ScheduleDescription
	var err error
	for {
		try, cancel := context.WithTimeout(ctx, describeWithin)
		described, err = s.Client.ScheduleClient().GetHandle(try, out.ID).Describe(try)
		cancel()
		if err == nil || ctx.Err() != nil || !isLate(err) {
			break
		}
	}
	if missing(err) {
		out.Missing = true
		return nil
	}
	if err != nil {
		return err
	}
	have := described.Schedule
	out.When, out.Paused, out.Note, out.Running = scheduled(*have.Spec), have.State.Paused,
		have.State.Note, len(described.Info.RunningWorkflows) > 0
	out.TaskQueue = taskQueueOf(have)
	if len(have.Spec.Intervals) > 0 {
		out.Every = have.Spec.Intervals[0].Every
	}
	if out.Paused {
		out.PausedBy = pausedBy(out.Note)
	} else if next := described.Info.NextActionTimes; len(next) > 0 {
		out.Next = &next[0]
	}
	for i := len(described.Info.RecentActions) - 1; i >= 0 && out.Last == nil; i-- {
		if a := described.Info.RecentActions[i]; a.StartWorkflowResult != nil {
			out.Last = &ScheduleRun{WorkflowID: a.StartWorkflowResult.WorkflowID,
				RunID: a.StartWorkflowResult.FirstExecutionRunID, StartedAt: a.ActualTime}
		}
	}
	for _, spec := range specs {
		if spec.Name == out.Name {
			// A note is not a setting. Resuming a schedule may change it.
			out.Differs = slices.DeleteFunc(s.differences(have, spec), func(what string) bool {
				return what == differentNote
			})
		}
	}
	return nil
}

// describeWithin is the delay after which a schedule is read again. An answer takes milliseconds, but sometimes the
// server waits for one of its own workers that has just stopped.
const describeWithin = time.Second

// isLate reports whether a call timed out.
func isLate(err error) bool {
	var late *serviceerror.DeadlineExceeded
	return errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded)
}

// pausedBy derives from a note who paused the schedule. After a failed run the server writes one of these texts. There
// is no field for it.
func pausedBy(note string) string {
	if strings.HasPrefix(note, "paused due to workflow ") || strings.HasPrefix(note, "paused, workflow ") {
		return PausedByFailure
	}
	return PausedByOperator
}

// Outcome sets the status of a run, and the error if it failed. If Temporal no longer has the run, they stay empty.
func (s Schedules) Outcome(ctx context.Context, run *ScheduleRun) error {
	// the latest run of its chain of continue-as-new
	described, err := s.Client.DescribeWorkflowExecution(ctx, run.WorkflowID, "")
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("describe a run: %w", err)
	}
	status := described.GetWorkflowExecutionInfo().GetStatus()
	run.Status = status.String()
	if status != enumspb.WORKFLOW_EXECUTION_STATUS_FAILED {
		return nil
	}
	err = s.Client.GetWorkflow(ctx, run.WorkflowID, "").Get(ctx, nil)
	if err != nil && ctx.Err() == nil {
		run.Error = reasonOf(err)
	}
	return nil
}

// reasonOf returns the innermost message of a failed run.
func reasonOf(err error) string {
	var app *temporal.ApplicationError
	for errors.As(err, &app) {
		next := errors.Unwrap(app)
		if next == nil {
			return app.Message()
		}
		err = next
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// handle returns the handle of a schedule.
func (s Schedules) handle(ctx context.Context, name string) (client.ScheduleHandle, error) {
	id := s.id(name)
	if id == "" {
		return nil, ErrNoSchedule
	}
	return s.Client.ScheduleClient().GetHandle(ctx, id), nil
}

// described returns Temporal's description of a schedule, or ErrNoSchedule.
func (s Schedules) described(
	ctx context.Context,
	name string,
) (client.ScheduleHandle, *client.ScheduleDescription, error) {
	handle, err := s.handle(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	described, err := handle.Describe(ctx)
	if missing(err) {
		return nil, nil, ErrNoSchedule
	}
	return handle, described, err
}

// Pause stops a schedule from starting runs, and records why. It does not stop an open run.
func (s Schedules) Pause(ctx context.Context, name, reason string) error {
	handle, _, err := s.described(ctx, name)
	if err == nil {
		err = handle.Pause(ctx, client.SchedulePauseOptions{Note: reason})
	}
	if err != nil {
		return fmt.Errorf("pause schedule %s: %w", name, err)
	}
	return nil
}

// Resume resumes a paused schedule and sets its note.
func (s Schedules) Resume(ctx context.Context, name, note string) error {
	handle, _, err := s.described(ctx, name)
	if err == nil {
		err = handle.Update(ctx,
			client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
				in.Description.Schedule.State.Paused, in.Description.Schedule.State.Note = false, note
				return &client.ScheduleUpdate{Schedule: &in.Description.Schedule}, nil
			}})
	}
	if err != nil {
		return fmt.Errorf("resume schedule %s: %w", name, err)
	}
	return nil
}

// triggerPoll is how often Trigger checks whether the run exists.
const triggerPoll = 100 * time.Millisecond

// Trigger makes a schedule start a run at once, even if it is paused, and returns the run. While a run is open it
// returns ErrScheduleBusy.
func (s Schedules) Trigger(ctx context.Context, name string) (ScheduleRun, error) {
	handle, before, err := s.described(ctx, name)
	if err != nil {
		return ScheduleRun{}, fmt.Errorf("trigger schedule %s: %w", name, err)
	}
	if len(before.Info.RunningWorkflows) > 0 {
		return ScheduleRun{WorkflowID: before.Info.RunningWorkflows[0].WorkflowID},
			fmt.Errorf("trigger schedule %s: %w",
				name, ErrScheduleBusy)
	}
	if err := handle.Trigger(ctx, client.ScheduleTriggerOptions{}); err != nil {
		return ScheduleRun{}, fmt.Errorf("trigger schedule %s: %w", name, err)
	}
	for {
		now, err := handle.Describe(ctx)
		if err != nil {
			return ScheduleRun{}, fmt.Errorf("schedule %s is triggered, and its run is not seen yet: %w", name, err)
		}
		if actions := now.Info.RecentActions; now.Info.NumActions > before.Info.NumActions && len(actions) > 0 {
			if a := actions[len(actions)-1]; a.StartWorkflowResult != nil {
				return ScheduleRun{WorkflowID: a.StartWorkflowResult.WorkflowID,
					RunID:     a.StartWorkflowResult.FirstExecutionRunID,
					StartedAt: a.ActualTime}, nil
			}
		}
		// the schedule started a run at the same time
		if now.Info.NumActionsSkippedOverlap > before.Info.NumActionsSkippedOverlap {
			return ScheduleRun{}, fmt.Errorf("trigger schedule %s: %w", name, ErrScheduleBusy)
		}
		select {
		case <-ctx.Done():
			return ScheduleRun{}, fmt.Errorf("schedule %s is triggered, and its run is not seen yet: %w", name,
				ctx.Err())
		case <-time.After(triggerPoll):
		}
	}
}

// maxBackfill bounds the runs of one backfill.
const maxBackfill = 100

// ErrBackfillTooLong means that a backfill would start more than maxBackfill runs.
var ErrBackfillTooLong = fmt.Errorf("the schedule would have run more than %d times between these moments", maxBackfill)

// Backfill makes a schedule start the runs that were due between from and to, one after the other, even if it is
// paused. It returns the number of runs.
func (s Schedules) Backfill(ctx context.Context, name string, from, to time.Time) (int, error) {
	handle, _, err := s.described(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("backfill schedule %s: %w", name, err)
	}
	times, err := s.Client.WorkflowService().ListScheduleMatchingTimes(ctx,
		&workflowservice.ListScheduleMatchingTimesRequest{
			Namespace: s.Namespace, ScheduleId: s.id(name), StartTime: timestamppb.New(from),
			EndTime: timestamppb.New(to)})
	if err != nil {
		return 0, fmt.Errorf("backfill schedule %s: %w", name, err)
	}
	n := len(times.GetStartTime())
	if n > maxBackfill {
		return n, fmt.Errorf("backfill schedule %s: %w", name, ErrBackfillTooLong)
	}
	if n == 0 {
		return 0, nil
	}
	err = handle.Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{
		{Start: from, End: to, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL}}})
	if err != nil {
		return 0, fmt.Errorf("backfill schedule %s: %w", name, err)
	}
	return n, nil
}
