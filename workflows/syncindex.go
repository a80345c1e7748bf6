package workflows

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

// pagesPerDrain bounds one activity; the workflow runs it until nothing is left.
const pagesPerDrain = 50

// SyncIndex drains the index outbox of all tenants: changes that an ingest could not index, and memories written
// while the embedder was unavailable. A schedule starts it; it is at-least-once and idempotent. If the index is lost,
// it starts the check that fills it again.
func SyncIndex(ctx workflow.Context, in api.SyncIndexInput) (api.SyncIndexResult, error) {
	if err := flow.Strict(ctx, &in); err != nil {
		return api.SyncIndexResult{}, err
	}
	total, after := in.Sofar, in.After
	var lag schema.IndexLag
	filling := false
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.SyncIndexProgress, error) {
		return api.SyncIndexProgress{IndexResult: total, Lag: lag}, nil
	}); err != nil {
		return api.SyncIndexResult{}, err
	}
	for {
		var page indexing.DrainResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.DrainOptions), indexer.DrainOutbox,
			indexing.DrainRequest{MaxPages: pagesPerDrain, After: after}).Get(ctx, &page)
		if err != nil {
			return api.SyncIndexResult{}, err
		}
		total, after, lag = total.Add(page.IndexResult), page.After, page.Lag
		if page.Lost && !filling {
			filling = true
			fillIndex(ctx, page.Index)
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d upserted, %d deleted, %d embedded",
			total.Upserted, total.Deleted, total.Embedded))
		if !page.More {
			return api.SyncIndexResult{IndexResult: total}, nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return api.SyncIndexResult{}, flow.ContinueAsNew(ctx, SyncIndex,
				api.SyncIndexInput{Sofar: total, After: after})
		}
	}
}

// fillIndex starts the check that fills an index, and does not wait for it. A check that is already running
// continues: it fills what it finds lost, and the next run of SyncIndex handles what it has already passed.
func fillIndex(ctx workflow.Context, index string) {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // never cancelled: that would cancel the check
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            api.DriftWorkflowID(index),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		StaticSummary:         "fill the vector index " + index + ", which is lost",
	}), DriftCheck, api.DriftInput{Index: index})
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	var there *temporal.ChildWorkflowExecutionAlreadyStartedError
	if err != nil && !errors.As(err, &there) {
		workflow.GetLogger(ctx).Warn("drift check not started", "error", err) // the next run does
	}
}
