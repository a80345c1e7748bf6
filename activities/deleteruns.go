package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
)

// runDeleter deletes runs of one tenant.
type runDeleter struct {
	client  client.Client
	tenant  string
	deleted int
	running int // workflows that are still open

	cancelAfter, terminateAfter int32 // attempts; 0 means never

	until time.Time // a run deleted after this time is the last one of the attempt
}

// errTimeIsOver means that the rest is left to another attempt.
var errTimeIsOver = errors.New("the time of this attempt is over")

// describe returns a run, or the latest run of a workflow if no run is named. It returns nil if there is none or if it
// belongs to another tenant, because ids may come from an imported file.
func (d *runDeleter) describe(
	ctx context.Context,
	workflowID, runID string,
) (*workflowpb.WorkflowExecutionInfo, error) {
	found, err := d.client.DescribeWorkflowExecution(ctx, workflowID, runID) // always up to date, as a list is not
	if err != nil && !isGone(err) {
		return nil, fmt.Errorf("describe run: %w", err)
	}
	step.Advance(ctx)
	if err != nil {
		return nil, nil
	}
	info := found.GetWorkflowExecutionInfo()
	var tenant string
	payload, ok := info.GetSearchAttributes().GetIndexedFields()[api.AttributeTenant]
	if !ok || converter.GetDefaultDataConverter().FromPayload(payload, &tenant) != nil || tenant != d.tenant {
		return nil, nil
	}
	return info, nil
}

// delete deletes every run of a workflow. An open run is counted, and asked to end after enough waiting.
func (d *runDeleter) delete(ctx context.Context, workflowID string) error {
	latest, err := d.describe(ctx, workflowID, "")
	if err != nil {
		return err
	}
	if latest.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		d.running++
		return d.end(ctx, workflowID, activity.GetInfo(ctx).Attempt)
	}
	return d.deleteRuns(ctx, workflowID, latest)
}

// renew deletes the runs of a review. A review keeps its state in Postgres: one that waits continues as a new run, so
// that open proposals are still decided or expire in time. A reviewer who decides at that moment must try again, and
// gets the first result or reaches the new run.
func (d *runDeleter) renew(ctx context.Context, workflowID string, restart func() error) error {
	latest, err := d.describe(ctx, workflowID, "")
	if err != nil {
		return err
	}
	if latest.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		if err := restart(); err != nil {
			return fmt.Errorf("renew review: %w", err)
		}
	}
	return d.deleteRuns(ctx, workflowID, latest)
}

// deleteRuns deletes the tenant's closed runs of a workflow: the one given, and those that are listed.
func (d *runDeleter) deleteRuns(
	ctx context.Context,
	workflowID string,
	latest *workflowpb.WorkflowExecutionInfo,
) error {
	runs := []string{}
	if latest != nil {
		runs = append(runs, latest.GetExecution().GetRunId())
	}
	err := d.list(ctx, "WorkflowId = "+quoted(workflowID)+" AND ExecutionStatus != 'Running'",
		func(e *workflowpb.WorkflowExecutionInfo) error {
			if id := e.GetExecution().GetRunId(); !slices.Contains(runs, id) {
				runs = append(runs, id)
			}
			return nil
		})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run != latest.GetExecution().GetRunId() { // an id may have had runs of several tenants
			own, err := d.describe(ctx, workflowID, run)
			if err != nil {
				return err
			}
			if own == nil {
				continue
			}
		}
		if err := d.deleteRun(ctx, &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: run}); err != nil {
			return err
		}
	}
	return nil
}

// deleteRecalls deletes all of the tenant's runs of Recall, Get, Context, Advise and Report, because supplements of
// answers are not tracked and so any of these runs may contain an erased text; a report may repeat it in the errors of
// its steps. These runs have answered and are no longer needed: a report that is repeated is known in Postgres. An open
// run is counted. It ends within a minute, except a report, which is asked to end after enough waiting.
func (d *runDeleter) deleteRecalls(ctx context.Context) error {
	if err := d.listed(ctx); err != nil {
		return err
	}
	return d.list(ctx, "WorkflowType IN ("+quoted(api.WorkflowRecall)+", "+quoted(api.WorkflowGet)+", "+
		quoted(api.WorkflowContext)+", "+quoted(api.WorkflowAdvise)+", "+quoted(api.WorkflowReport)+") AND "+
		api.AttributeTenant+" = "+quoted(d.tenant),
		func(e *workflowpb.WorkflowExecutionInfo) error {
			if e.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				d.running++
				if e.GetType().GetName() == api.WorkflowReport {
					return d.end(ctx, e.GetExecution().GetWorkflowId(), activity.GetInfo(ctx).Attempt)
				}
				return nil
			}
			return d.deleteRun(ctx, e.GetExecution())
		})
}

// listedWait is how long to wait for the list of runs. The server updates the list after the runs themselves.
var listedWait = 10 * time.Second

const listedAgain = 200 * time.Millisecond

// errNotListed means that the list of runs is not up to date.
var errNotListed = errors.New("the server's list of runs is not up to date")

// listed waits until the list has the run of this activity. Runs that ended before that run began are listed by then,
// if the server writes its list in order. An error means that the step must be retried.
func (d *runDeleter) listed(ctx context.Context) error {
	own := activity.GetInfo(ctx).WorkflowExecution
	query := "WorkflowId = " + quoted(own.ID) + " AND RunId = " + quoted(own.RunID)
	for deadline := time.Now().Add(listedWait); ; {
		found := false
		err := d.list(ctx, query, func(*workflowpb.WorkflowExecutionInfo) error {
			found = true
			return nil
		})
		switch {
		case err != nil:
			return err
		case found:
			return nil
		case time.Now().After(deadline):
			return errNotListed
		}
		select {
		case <-time.After(listedAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// list calls each for every run that a query finds.
func (d *runDeleter) list(ctx context.Context, query string, each func(*workflowpb.WorkflowExecutionInfo) error) error {
	for token := []byte(nil); ; {
		page, err := d.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: activity.GetInfo(ctx).Namespace, Query: query, NextPageToken: token})
		if err != nil {
			return fmt.Errorf("list runs: %w", err)
		}
		step.Advance(ctx)
		for _, e := range page.GetExecutions() {
			if err := each(e); err != nil {
				return err
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

// quoted renders a literal of a list query.
func quoted(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }

// deleteRun deletes a run and counts it. It is not a failure if the run is already gone.
func (d *runDeleter) deleteRun(ctx context.Context, run *commonpb.WorkflowExecution) error {
	_, err := d.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: activity.GetInfo(ctx).Namespace, WorkflowExecution: run})
	switch {
	case err == nil:
		d.deleted++
	case !isGone(err):
		return fmt.Errorf("delete run: %w", err)
	}
	step.Advance(ctx)
	if d.deleted > 0 && !time.Now().Before(d.until) {
		return errTimeIsOver
	}
	return nil
}

// end cancels a workflow, and later terminates it, if it has not ended after enough attempts.
func (d *runDeleter) end(ctx context.Context, workflowID string, attempt int32) error {
	var err error
	switch {
	case d.terminateAfter > 0 && attempt > d.terminateAfter:
		err = d.client.TerminateWorkflow(ctx, workflowID, "", "what it carried was erased")
	case d.cancelAfter > 0 && attempt > d.cancelAfter:
		err = d.client.CancelWorkflow(ctx, workflowID, "")
	}
	if err != nil && !isGone(err) {
		return fmt.Errorf("end run: %w", err)
	}
	return nil
}
