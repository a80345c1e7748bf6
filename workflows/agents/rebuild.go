package agents

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/rebuilding"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

var rebuilder *rebuilding.Rebuilding

// Rebuild compares data derived from a tenant's ledger with the ledger, page by page, and rebuilds what differs: the
// marks of events, the state of the work of open sessions, the records of closed ones, and the vectors of events.
// Each item is replaced in one transaction, so that recall and sessions continue to work. A run that was interrupted
// continues where it stopped, and a run that is started again compares everything again.
func Rebuild(ctx workflow.Context, in api.RebuildRequest) (api.RebuildResult, error) {
	if err := flow.Strict(ctx, &in); err != nil {
		return api.RebuildResult{}, err
	}
	state := api.RebuildState{Place: api.RebuildPlace{Phase: api.RebuildStreams}}
	if in.State != nil {
		state, in.State = *in.State, nil
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.RebuildResult, error) {
		return state.Result, nil
	}); err != nil {
		return api.RebuildResult{}, err
	}
	shown := flow.Display{Lean: true} // there are no runs of the first form
	phase := api.PhaseRebuild
	if in.Verify {
		phase = api.PhaseVerify
	}
	shown.Begin(ctx, phase, state.Place.Phase, schema.Principal{Tenant: in.Tenant})
	for state.Place.Phase != api.RebuildOver {
		var page rebuilding.PageResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.RebuildPageOptions),
			rebuilder.RebuildPage,
			rebuilding.PageRequest{Request: in, Place: state.Place}).Get(ctx, &page)
		if err != nil {
			shown.Show(ctx, api.PhaseDone, "failed", mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
			return state.Result, err
		}
		state.Result.Add(page.Result) //workflowcheck:ignore: sums over a map are the same in any order
		state.Place = page.Next
		shown.Show(ctx, phase, fmt.Sprintf("%s: %d compared, %d differ, %d rebuilt", state.Place.Phase,
			state.Result.Compared, state.Result.Different, state.Result.Rebuilt))
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && state.Place.Phase != api.RebuildOver {
			in.State = &state
			return state.Result, flow.ContinueAsNew(ctx, Rebuild, in)
		}
	}
	outcome := api.OutcomeOK
	if !state.Result.Equal() {
		outcome = api.OutcomeDrift
	}
	shown.Show(ctx, api.PhaseDone, fmt.Sprintf("%d compared, %d differ, %d rebuilt", state.Result.Compared,
		state.Result.Different, state.Result.Rebuilt), mneme.AttrOutcome.ValueSet(outcome))
	return state.Result, nil
}
