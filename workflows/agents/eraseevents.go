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

// EraseEvents permanently empties events of the ledger, and deletes the histories of the sessions that may have
// carried them and of the runs of Context, Recall and Get that may have shown them. An open session continues with a
// new history. The events are also removed from a memory index outside Postgres, in Qdrant or hosted. The histories of
// other programs are not changed. If the tenant has none of the events, it does nothing.
func EraseEvents(ctx workflow.Context, req api.EraseEventsRequest) (api.EraseEventsResult, error) {
	if err := flow.Strict(ctx, &req); err != nil {
		return api.EraseEventsResult{}, err
	}
	show := flow.Display{Lean: true}
	show.Begin(ctx, api.PhaseForget, fmt.Sprintf("%d events", len(req.IDs)), schema.Principal{Tenant: req.Tenant})
	var erased activities.EraseEventsResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("empty the events", flow.InfrastructureAttempts)), erasing.EraseEvents, req).Get(ctx, &erased)
	if err != nil {
		return api.EraseEventsResult{}, err
	}
	out := api.EraseEventsResult{Erased: erased.Events, Sessions: len(erased.Sessions), Episodes: erased.Episodes,
		Unknown: erased.Unknown}
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
