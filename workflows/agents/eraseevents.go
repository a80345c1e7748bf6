package agents

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

var erasing *activities.Forgetting

// EraseEvents empties events of the ledger for good, and deletes the histories of the sessions that may have carried
// them and of the runs of Context, Recall and Get that may have shown them. A session that is under way goes on with
// a new history. A hosted memory index loses them, too. The histories of other programs are theirs.
func EraseEvents(ctx workflow.Context, req api.EraseEventsRequest) (api.EraseEventsResult, error) {
	show := flow.Display{Lean: true}
	show.Begin(ctx, api.PhaseForget, fmt.Sprintf("%d events", len(req.IDs)), schema.Principal{Tenant: req.Tenant})
	var erased activities.EraseEventsResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("empty the events", flow.InfrastructureAttempts)), erasing.EraseEvents, req).Get(ctx, &erased)
	if err != nil {
		return api.EraseEventsResult{}, err
	}
	out := api.EraseEventsResult{Erased: erased.Events, Sessions: len(erased.Sessions), Episodes: erased.Episodes}
	for more := len(erased.Sessions) > 0 || erased.Shown; more; {
		var gone activities.ForgetSessionsResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.EmbedOptions("delete the histories of sessions", flow.InfrastructureAttempts)), erasing.ForgetSessions,
			activities.ForgetSessionsRequest{Tenant: req.Tenant, Sessions: erased.Sessions, Shown: erased.Shown,
				CancelAfter: flow.ForgetCancelAfter, TerminateAfter: flow.ForgetTerminateAfter}).Get(ctx, &gone)
		if err != nil {
			return api.EraseEventsResult{}, err
		}
		out.Runs += gone.Deleted
		out.Indexed += gone.Indexed
		more = gone.More
	}
	show.Show(ctx, api.PhaseDone, fmt.Sprintf("%d events emptied, %d runs deleted", out.Erased, out.Runs),
		mneme.AttrOutcome.ValueSet(api.OutcomeOK))
	return out, nil
}
