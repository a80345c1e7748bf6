package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
)

// RetentionPurge removes for good what was kept for as long as its policy says (document 002 "Retention
// Worker"): tenant by tenant, in the order of lifecycle.PurgeSteps, each batch in a short transaction of its
// own.
func RetentionPurge(ctx workflow.Context, in SweepInput) (activities.SweepResult, error) {
	return runSweep(ctx, in, "purge what is over", sweeping.PurgeExpired, RetentionPurge)
}
