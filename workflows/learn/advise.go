package learn

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/advising"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

var adviser *advising.Advising

// Advise says what to do in a situation, for clients that speak only Temporal. An invalid request fails the run with
// ErrTypeInvalidRequest before anything is read.
//
// As with Recall, the answer contains content. It is in the history twice: in the marker of the local activity and in
// the result.
func Advise(ctx workflow.Context, req api.AdviseRequest) (api.AdviseResponse, error) {
	shown := flow.Display{Lean: true}
	shown.Begin(ctx, api.PhaseRecall, "advising", req.Principal)
	if err := refuseMisread(ctx, &req); err != nil {
		showEnd(ctx, shown, "", err)
		return api.AdviseResponse{}, err
	}
	options := flow.RecallOptions
	options.Summary = "advise"
	info := workflow.GetInfo(ctx)
	in := advising.AdviseRequest{Key: info.WorkflowExecution.ID + "#" + info.WorkflowExecution.RunID, Request: req}
	var out advising.AdviseResult
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), adviser.Advise,
		in).Get(ctx, &out)
	if err == nil {
		err = flow.InvalidRequest(out.Err())
	}
	said := "nothing is certain enough"
	if out.Best != nil {
		said = fmt.Sprintf("%d steps of %s", len(out.Best.Steps), out.Best.MemoryID)
	}
	showEnd(ctx, shown, said, err)
	if err != nil {
		return api.AdviseResponse{}, err
	}
	return out.AdviseResponse, nil
}

// Report records the outcome after advice. A repeated report counts once. An invalid report fails the run with
// ErrTypeInvalidRequest, and changes nothing.
func Report(ctx workflow.Context, req api.ReportRequest) (api.ReportResult, error) {
	shown := flow.Display{Lean: true}
	shown.Begin(ctx, api.PhaseWrite, "report on advice", req.Principal)
	if err := refuseMisread(ctx, &req); err != nil {
		showEnd(ctx, shown, "", err)
		return api.ReportResult{}, err
	}
	var out advising.ReportResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.StoreOptions("count the outcome",
		flow.InfrastructureAttempts)), adviser.Report, req).Get(ctx, &out)
	if err == nil {
		err = flow.InvalidRequest(out.Err())
	}
	showEnd(ctx, shown, fmt.Sprintf("%d memories changed", len(out.Changed)), err)
	if err != nil {
		return api.ReportResult{}, err
	}
	return out.ReportResult, nil
}

// refuseMisread refuses a request with fields of a wrong type or given twice. It ignores unknown fields, because the
// rest of the request means the same without them.
func refuseMisread(ctx workflow.Context, req interface {
	Misread() []schema.FieldError
	Unknown() []string
	DropUnread() bool
}) error {
	if wrong := req.Misread(); len(wrong) > 0 {
		return flow.InvalidRequest(&schema.ValidationError{Fields: wrong})
	}
	if unknown := req.Unknown(); len(unknown) > 0 {
		workflow.GetLogger(ctx).Warn("fields of the request left out", "fields", unknown)
		req.DropUnread()
	}
	return nil
}

// showEnd shows how a run ended.
func showEnd(ctx workflow.Context, shown flow.Display, said string, err error) {
	outcome := api.OutcomeOK
	if err != nil {
		outcome, said = api.OutcomeFailed, "failed"
	}
	shown.Show(ctx, api.PhaseDone, said, mneme.AttrOutcome.ValueSet(outcome))
}
