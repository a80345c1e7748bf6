package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
)

// DecaySweep takes away what has faded (document 004 §11): it reads what has fallen due, and makes a
// tombstone of it, archives it or keeps it, as lifecycle.JudgeDue says. Its cost follows what is due, not what
// is stored.
func DecaySweep(ctx workflow.Context, in SweepInput) (activities.SweepResult, error) {
	return runSweep(ctx, in, "take away what has faded", sweeping.SweepDecay, DecaySweep)
}
