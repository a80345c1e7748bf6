package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

// Get reads records by id, for clients that speak only Temporal. The query QueryRecord returns one of them, as long
// as the run is kept. An invalid request fails the run with ErrTypeInvalidRequest before anything is read.
//
// As with Recall, the answer contains content. It is in the history twice: in the marker of the local activity and in
// the result.
func Get(ctx workflow.Context, req schema.GetRequest) (schema.GetResponse, error) {
	var out activities.GetResult
	if err := workflow.SetQueryHandler(ctx, api.QueryRecord, func(id string) (schema.MemoryRecord, error) {
		for _, record := range out.Records {
			if record.ID == id {
				return record, nil
			}
		}
		return schema.MemoryRecord{}, temporal.NewNonRetryableApplicationError("this run has read no such record",
			api.ErrTypeNotRead, nil)
	}); err != nil {
		return schema.GetResponse{}, err
	}
	shown := flow.Display{Lean: true} // there are no runs of the first form
	shown.Begin(ctx, api.PhaseRecall, "reading", req.Principal)
	options := flow.RecallOptions
	options.Summary = "get"
	in := activities.GetRequest{Request: req, Misread: req.Misread(), Unknown: req.Unknown()}
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options),
		recalling.GetRecords, in).Get(ctx, &out)
	if err == nil {
		err = flow.InvalidRequest(out.Err())
	}
	outcome := api.OutcomeOK
	if err != nil {
		outcome = api.OutcomeFailed
	}
	shown.Show(ctx, api.PhaseDone, fmt.Sprintf("%d of %d records", len(out.Records), len(req.IDs)),
		mneme.AttrOutcome.ValueSet(outcome))
	if err != nil {
		return schema.GetResponse{}, err
	}
	return out.GetResponse, nil
}
