package workflows

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
)

// RetentionPurge removes for good what was kept for as long as its policy says (document 002 "Retention
// Worker"): tenant by tenant, in the order of lifecycle.PurgeSteps, each batch in a short transaction of its
// own.
func RetentionPurge(ctx workflow.Context, in SweepInput) (SweepResult, error) {
	return runSweep(ctx, in, "purge what is over", sweeping.PurgeExpired, RetentionPurge)
}

// RetentionPurgeID is the workflow id of a purge of every tenant; schedules add their time to it.
const RetentionPurgeID = "retention-purge"

// StartRetentionPurge starts a purge, or joins the one that is under way.
func StartRetentionPurge(ctx context.Context, c client.Client, taskQueue string, in SweepInput) (client.WorkflowRun, error) {
	return startSweep(ctx, c, taskQueue, RetentionPurgeID, RetentionPurge, in, "purge what is over")
}
