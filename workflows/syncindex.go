package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/store"
)

// SyncIndexInput carries the counts over continue-as-new.
type SyncIndexInput struct {
	Sofar activities.IndexResult `json:"so_far"`
	After string                 `json:"after,omitempty"` // the tenant that the run before came to
}

// SyncIndexProgress is what a run has brought to the index so far, and how far that is behind. Query progress
// returns it.
type SyncIndexProgress struct {
	activities.IndexResult
	Lag store.IndexLag `json:"lag"`
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
	total, after := in.Sofar, in.After
	var lag store.IndexLag
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (SyncIndexProgress, error) { return SyncIndexProgress{total, lag}, nil }); err != nil {
		return SyncIndexResult{}, err
	}
	for {
		var page activities.DrainResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, drainOptions), indexing.DrainOutbox,
			activities.DrainRequest{MaxPages: pagesPerDrain, After: after}).Get(ctx, &page)
		if err != nil {
			return SyncIndexResult{}, err
		}
		total, after, lag = total.Add(page.IndexResult), page.After, page.Lag
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d upserted, %d deleted, %d embedded", total.Upserted, total.Deleted, total.Embedded))
		if !page.More {
			return SyncIndexResult{total}, nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return SyncIndexResult{}, workflow.NewContinueAsNewError(ctx, SyncIndex, SyncIndexInput{Sofar: total, After: after})
		}
	}
}
