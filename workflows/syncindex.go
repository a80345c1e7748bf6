package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
)

// SyncIndexInput carries the counts over continue-as-new.
type SyncIndexInput struct {
	Sofar activities.IndexResult `json:"so_far"`
}

// SyncIndexResult counts what a run brought to the index.
type SyncIndexResult struct {
	activities.IndexResult
}

// pagesPerDrain bounds one activity; the workflow runs it until nothing is left.
const pagesPerDrain = 50

// SyncIndex drains the index outbox of all tenants: what an ingest could not index, and memories
// written while the embedder was away. A schedule starts it; it is at-least-once and idempotent.
func SyncIndex(ctx workflow.Context, in SyncIndexInput) (SyncIndexResult, error) {
	total := in.Sofar
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (activities.IndexResult, error) { return total, nil }); err != nil {
		return SyncIndexResult{}, err
	}
	for {
		var page activities.DrainResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, drainOptions), indexing.DrainOutbox,
			activities.DrainRequest{MaxPages: pagesPerDrain}).Get(ctx, &page)
		if err != nil {
			return SyncIndexResult{}, err
		}
		total = total.Add(page.IndexResult)
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d upserted, %d deleted, %d embedded", total.Upserted, total.Deleted, total.Embedded))
		if !page.More {
			return SyncIndexResult{total}, nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return SyncIndexResult{}, workflow.NewContinueAsNewError(ctx, SyncIndex, SyncIndexInput{Sofar: total})
		}
	}
}
