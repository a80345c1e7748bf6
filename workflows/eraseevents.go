package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
)

// EraseEvents empties events of the ledger for good, and deletes the histories of the sessions that may have carried
// them. A session that is under way goes on with a new history. The histories of other programs are theirs.
func EraseEvents(ctx workflow.Context, req api.EraseEventsRequest) (api.EraseEventsResult, error) {
	show := display{lean: true}
	show.begin(ctx, api.PhaseForget, fmt.Sprintf("%d events", len(req.IDs)), schema.Principal{Tenant: req.Tenant})
	var erased activities.EraseEventsResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		storeOptions("empty the events", infrastructureAttempts)), forgetting.EraseEvents, req).Get(ctx, &erased)
	if err != nil {
		return api.EraseEventsResult{}, err
	}
	out := api.EraseEventsResult{Erased: erased.Events, Sessions: len(erased.Sessions), Episodes: erased.Episodes}
	for more := len(erased.Sessions) > 0; more; {
		var gone activities.ForgetSessionsResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			embedOptions("delete the histories of sessions", infrastructureAttempts)), forgetting.ForgetSessions,
			activities.ForgetSessionsRequest{Tenant: req.Tenant, Sessions: erased.Sessions, CancelAfter: forgetCancelAfter,
				TerminateAfter: forgetTerminateAfter}).Get(ctx, &gone)
		if err != nil {
			return api.EraseEventsResult{}, err
		}
		out.Runs += gone.Deleted
		more = gone.More
	}
	show.show(ctx, api.PhaseDone, fmt.Sprintf("%d events emptied, %d runs deleted", out.Erased, out.Runs),
		mneme.AttrOutcome.ValueSet(api.OutcomeOK))
	return out, nil
}
