package agents

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows/flow"
)

var building *activities.Recalling

// Context builds the context that an agent reads before it acts, for clients that can only reach Temporal. The query
// QueryContext returns it again, as long as the run is kept. An invalid request fails the run with
// ErrTypeInvalidRequest before anything is read.
//
// As with Recall, the answer contains content. It is in the history twice: in the marker of the local activity and in
// the result.
func Context(ctx workflow.Context, req ledger.ContextRequest) (ledger.ContextResponse, error) {
	var out activities.ContextResult
	read := false
	if err := workflow.SetQueryHandler(ctx, api.QueryContext, func() (ledger.ContextResponse, error) {
		if !read {
			return ledger.ContextResponse{}, temporal.NewNonRetryableApplicationError("this run has read no context",
				api.ErrTypeNotRead, nil)
		}
		return out.ContextResponse, nil
	}); err != nil {
		return ledger.ContextResponse{}, err
	}
	shown := flow.Display{Lean: true} // there are no runs of the first form
	shown.Begin(ctx, api.PhaseRecall, "reading", req.Principal)
	options := flow.RecallOptions
	options.Summary = "context"
	in := activities.ContextRequest{Request: req, Misread: append(req.Misread(), unknown(req.Unknown())...)}
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options),
		building.BuildContext, in).Get(ctx, &out)
	if err == nil {
		err = flow.InvalidRequest(out.Err())
	}
	outcome := api.OutcomeOK
	switch {
	case err != nil:
		outcome = api.OutcomeFailed
	case len(out.Degraded) > 0:
		outcome = api.OutcomeDegraded
	}
	read = err == nil
	shown.Show(ctx, api.PhaseDone, fmt.Sprintf("%d tokens of %d events", out.Tokens, out.Events),
		mneme.AttrOutcome.ValueSet(outcome))
	if err != nil {
		return ledger.ContextResponse{}, err
	}
	return out.ContextResponse, nil
}

// unknown refuses unknown fields by name. No earlier version of this workflow ignored them.
func unknown(fields []string) []schema.FieldError {
	out := make([]schema.FieldError, 0, len(fields))
	for _, f := range fields {
		out = append(out, schema.FieldError{Field: f, Problem: "unknown field"})
	}
	return out
}
