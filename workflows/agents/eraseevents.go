package agents

import (
	"fmt"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

var erasing *activities.Forgetting

// changeOtherOwners is a version marker. Runs without it end at the first agent whose episodes cannot be erased.
const changeOtherOwners = "erase-other-owners"

// changeLookAgain is a version marker. Runs without it end after one pass over the events of a user.
const changeLookAgain = "erase-look-again"

// EraseEvents permanently empties events of the ledger, and deletes the histories of the sessions that may have
// carried them and of the runs of Context, Recall and Get that may have shown them. An open session continues with a
// new history. The events are also removed from a memory index outside Postgres, in Qdrant or hosted. The histories of
// other programs are not changed. If the tenant has none of the events, it does nothing. With All it erases all events
// of a user.
func EraseEvents(ctx workflow.Context, req api.EraseEventsRequest) (api.EraseEventsResult, error) {
	if err := flow.Strict(ctx, &req); err != nil {
		return api.EraseEventsResult{}, err
	}
	show := flow.Display{Lean: true}
	if req.All {
		return eraseAll(ctx, req, show)
	}
	show.Begin(ctx, api.PhaseForget, fmt.Sprintf("%d events", len(req.IDs)), schema.Principal{Tenant: req.Tenant})
	var erased activities.EraseEventsResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("empty the events", flow.InfrastructureAttempts)), erasing.EraseEvents, req).Get(ctx, &erased)
	if err != nil {
		return api.EraseEventsResult{}, err
	}
	out := api.EraseEventsResult{Erased: erased.Events, Sessions: len(erased.Sessions), Episodes: erased.Episodes,
		Unknown: erased.Unknown}
	if err := forgetSessions(ctx, req.Tenant, erased.Sessions, erased.Shown, &out); err != nil {
		return api.EraseEventsResult{}, err
	}
	var failed error // the first failure; the episodes of the other agents are still erased
	for _, owner := range erased.Owners {
		receipt, err := eraseEpisodes(ctx, req, owner)
		if err != nil {
			if workflow.GetVersion(ctx, changeOtherOwners, workflow.DefaultVersion, 1) == workflow.DefaultVersion ||
				ctx.Err() != nil {
				return api.EraseEventsResult{}, err
			}
			if failed == nil {
				failed = err
			}
			continue
		}
		out.Receipts = append(out.Receipts, receipt)
		out.Episodes = slices.DeleteFunc(out.Episodes, func(id string) bool { return slices.Contains(receipt.IDs, id) })
	}
	if failed != nil {
		return api.EraseEventsResult{}, failed
	}
	show.Show(ctx, api.PhaseDone, fmt.Sprintf("%d events emptied, %d runs deleted", out.Erased, out.Runs),
		mneme.AttrOutcome.ValueSet(api.OutcomeOK))
	return out, nil
}

// forgetSessions deletes the histories of sessions and, with shown, the runs that may have shown events. It adds to the
// counts of a result.
func forgetSessions(ctx workflow.Context, tenant string, sessions []string, shown bool,
	out *api.EraseEventsResult) error {
	for more := len(sessions) > 0 || shown; more; {
		var gone activities.ForgetSessionsResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.EmbedOptions("delete the histories of sessions", flow.InfrastructureAttempts)), erasing.ForgetSessions,
			activities.ForgetSessionsRequest{Tenant: tenant, Sessions: sessions, Shown: shown,
				CancelAfter: flow.ForgetCancelAfter, TerminateAfter: flow.ForgetTerminateAfter}).Get(ctx, &gone)
		if err != nil {
			return err
		}
		out.Runs += gone.Deleted
		out.Indexed += gone.Indexed
		more = gone.More
	}
	return nil
}

// EraseStepsPerRun is the number of steps after which a run that erases all events of a user continues as new.
const EraseStepsPerRun = 200

// eraseAll erases all events of a user, step by step. Sessions may append events to streams that the run has passed, so
// it passes over the streams until it finds no more events. A run that is started again erases what is left, and
// deletes the histories of all sessions of the user again: an earlier run may have ended between the two.
func eraseAll(ctx workflow.Context, req api.EraseEventsRequest, show flow.Display) (api.EraseEventsResult, error) {
	state := api.EraseEventsState{}
	if req.State != nil {
		state = *req.State
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.EraseEventsResult, error) {
		return state.Result, nil
	}); err != nil {
		return api.EraseEventsResult{}, err
	}
	show.Begin(ctx, api.PhaseForget, "all events of a user", schema.Principal{Tenant: req.Tenant})
	for steps, more := 1, true; more; steps++ {
		var err error
		if more, err = eraseStep(ctx, req, &state); err != nil {
			return api.EraseEventsResult{}, err
		}
		if !more && state.Stream != "" && workflow.GetVersion(ctx, changeLookAgain, workflow.DefaultVersion, 1) >
			workflow.DefaultVersion {
			state.Passes++
			state.Stream, state.Seq = "", 0
			state.Result.StillWritten = state.Passes >= api.MaxErasePasses
			more = !state.Result.StillWritten
		}
		if !more {
			break
		}
		show.Show(ctx, api.PhaseForget, fmt.Sprintf("%d events emptied", state.Result.Erased))
		if steps >= EraseStepsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			req.State = &state
			return api.EraseEventsResult{}, flow.ContinueAsNew(ctx, EraseEvents, req)
		}
	}
	if err := forgetSessions(ctx, req.Tenant, nil, state.Found, &state.Result); err != nil {
		return api.EraseEventsResult{}, err
	}
	show.Show(ctx, api.PhaseDone, fmt.Sprintf("%d events emptied, %d runs deleted", state.Result.Erased,
		state.Result.Runs), mneme.AttrOutcome.ValueSet(api.OutcomeOK))
	return state.Result, nil
}

// eraseStep erases the next events of a pass, and reports whether there may be more. If the pass has found events, the
// state has the place of the last one.
func eraseStep(ctx workflow.Context, req api.EraseEventsRequest, state *api.EraseEventsState) (bool, error) {
	// A step needs only the place.
	req.State = &api.EraseEventsState{Stream: state.Stream, Seq: state.Seq, Passes: state.Passes}
	var page activities.EraseUserEventsResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("empty events of a user", flow.InfrastructureAttempts)), erasing.EraseUserEvents,
		req).Get(ctx, &page)
	if err != nil {
		return false, err
	}
	// A session gets a new history after each step with events of it. Until its last event is emptied, the new history
	// may contain later ones.
	if err := forgetSessions(ctx, req.Tenant, page.Sessions, false, &state.Result); err != nil {
		return false, err
	}
	state.Result.Erased += page.Events
	state.Result.Sessions += len(page.Sessions)
	state.Result.AddEpisodes(page.Episodes)
	state.Found = state.Found || page.Shown
	if page.Stream != "" {
		state.Stream, state.Seq = page.Stream, page.Seq
	}
	return page.More, nil
}

// eraseEpisodes erases the episodes of one agent and memories with the same content. It starts a run of Forget and
// confirms it. The run of Forget continues if this run ends.
func eraseEpisodes(ctx workflow.Context, req api.EraseEventsRequest,
	of activities.EpisodesOf) (schema.ForgetReceipt, error) {
	operation := schema.Operation{Principal: of.Principal, Actor: req.Actor, Reason: req.Reason,
		OperationID: "events-" + workflow.GetInfo(ctx).WorkflowExecution.RunID}
	forget := schema.ForgetRequest{Operation: operation, Mode: schema.ForgetErase,
		Selector: schema.Selector{IDs: of.IDs, Everywhere: true}}
	id := api.KeyedWorkflowID(api.KindForget, of.Principal, operation.OperationID)
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		StaticSummary:         fmt.Sprintf("erase %d episodes that repeat erased events", len(of.IDs)),
		TypedSearchAttributes: mneme.OfPrincipal(of.Principal),
	}), api.WorkflowForget, forget)
	var receipt schema.ForgetReceipt
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return receipt, err
	}
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("confirm the erasing of episodes", flow.InfrastructureAttempts)), erasing.ApproveErasure,
		activities.ApproveErasureRequest{Principal: of.Principal, WorkflowID: id, Actor: req.Actor}).Get(ctx, nil)
	if err != nil {
		return receipt, err
	}
	err = child.Get(ctx, &receipt)
	return receipt, err
}
