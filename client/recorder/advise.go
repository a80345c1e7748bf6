package recorder

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
)

// Timeouts of advice and reports. An agent works without advice if Mneme is not available.
const (
	adviseWithin = 10 * time.Second
	reportWithin = time.Minute
)

// Advise requests advice for the principal of the session, and waits at most ten seconds. A request with an error and
// without the call that failed gets the last recorded call that failed and did not succeed since, as it was recorded. A
// nil Recorder returns no advice.
func (r *Recorder) Advise(ctx workflow.Context, req api.AdviseRequest) (api.AdviseResponse, error) {
	var out api.AdviseResponse
	if r == nil {
		return out, nil
	}
	req.Principal = r.set.Principal
	if req.Error != "" && req.Failed == nil {
		req.Failed = r.lastFailed()
	}
	return out, r.execute(ctx, api.OperationAdvise, api.WorkflowAdvise, adviseWithin, req, &out)
}

// Report reports the outcome after advice, and waits at most a minute until it is counted. A repeated report counts
// once.
func (r *Recorder) Report(ctx workflow.Context, req api.ReportRequest) (api.ReportResult, error) {
	var out api.ReportResult
	if r == nil {
		return out, nil
	}
	req.Principal, req.Session = r.set.Principal, r.set.Session
	return out, r.execute(ctx, api.OperationReport, api.WorkflowReport, reportWithin, req, &out)
}

// execute runs the Nexus operation or, without an endpoint, a child workflow on the task queue of Mneme.
func (r *Recorder) execute(ctx workflow.Context, operation, name string, within time.Duration, req, out any) error {
	if r.set.Endpoint != "" {
		service := workflow.NewNexusClient(r.set.Endpoint, api.NexusService)
		return service.ExecuteOperation(ctx, operation, req,
			workflow.NexusOperationOptions{ScheduleToCloseTimeout: within, Summary: operation}).Get(ctx, out)
	}
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		TaskQueue:                r.set.TaskQueue,
		WorkflowExecutionTimeout: within,
		RetryPolicy:              &temporal.RetryPolicy{MaximumAttempts: 1},
		StaticSummary:            operation,
	})
	return workflow.ExecuteChildWorkflow(ctx, name, req).Get(ctx, out)
}
