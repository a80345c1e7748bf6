package client

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
)

// AdviseStart returns the options of an Advise run.
func AdviseStart(taskQueue string, req api.AdviseRequest) client.StartWorkflowOptions {
	return readStart(taskQueue, api.AdviseWorkflowID(req), api.KindAdvise, req.Principal)
}

// ReportStart returns the options of a Report run.
func ReportStart(taskQueue string, req api.ReportRequest) client.StartWorkflowOptions {
	options := readStart(taskQueue, api.ReportWorkflowID(req), api.KindReport, req.Principal)
	options.WorkflowExecutionTimeout = 0 // reports have no time limit
	return options
}

// Advise requests advice for a situation, and waits for the answer. It returns a *schema.ValidationError for an invalid
// request.
func Advise(ctx context.Context, c client.Client, taskQueue string,
	req api.AdviseRequest) (api.AdviseResponse, error) {
	run, err := StartAdvise(ctx, c, taskQueue, req)
	if err != nil {
		return api.AdviseResponse{}, err
	}
	return Outcome[api.AdviseResponse](ctx, run)
}

// StartAdvise starts an Advise run, or joins the one that is answering the same request.
func StartAdvise(ctx context.Context, c client.Client, taskQueue string,
	req api.AdviseRequest) (client.WorkflowRun, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, AdviseStart(taskQueue, req), api.WorkflowAdvise, req)
	if err != nil {
		return nil, fmt.Errorf("start advise: %w", err)
	}
	return run, nil
}

// Report reports the outcome after advice, and waits until it is counted. A repeated report counts once.
func Report(ctx context.Context, c client.Client, taskQueue string, req api.ReportRequest) (api.ReportResult, error) {
	run, err := StartReport(ctx, c, taskQueue, req)
	if err != nil {
		return api.ReportResult{}, err
	}
	return Outcome[api.ReportResult](ctx, run)
}

// StartReport starts a Report run, or joins the run with the same report.
func StartReport(ctx context.Context, c client.Client, taskQueue string,
	req api.ReportRequest) (client.WorkflowRun, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	run, err := startRun(ctx, c, ReportStart(taskQueue, req), api.WorkflowReport, req)
	if err != nil {
		return nil, fmt.Errorf("start report: %w", err)
	}
	return run, nil
}
