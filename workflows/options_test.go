package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/store/pg"
)

// Nothing stays open for ever, no attempt is lost to the limit of all of them, and a step of the pipeline ends within
// minutes.
func TestEveryActivityHasItsLimits(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]workflow.ActivityOptions{
		"model": modelOptions(""), "embed": embedOptions("", infrastructureAttempts), "store": storeOptions("", reviewAttempts),
		"link": linkOptions(""), "sweep": sweepOptions(""), "drain": drainOptions, "index": indexOptions(""), "rebuild": rebuildOptions, "build": buildOptions("", infrastructureAttempts),
	} {
		require.Positive(t, o.StartToCloseTimeout, name)
		attempts := time.Duration(o.RetryPolicy.MaximumAttempts)
		require.GreaterOrEqual(t, o.ScheduleToCloseTimeout, attempts*(o.StartToCloseTimeout+o.RetryPolicy.MaximumInterval), name)
		require.Greater(t, o.StartToCloseTimeout, pg.ClassLimits[pg.ClassPipeline].Statement, "%s: a statement at its limit is told so", name)
	}
	for name, o := range map[string]workflow.ActivityOptions{"model": modelOptions(""), "embed": embedOptions("", 1), "link": linkOptions("")} {
		require.LessOrEqual(t, o.StartToCloseTimeout, 5*time.Minute, name)
		require.Positive(t, o.HeartbeatTimeout, name)
	}
	require.Greater(t, rebuildOptions.StartToCloseTimeout, 5*pg.ClassLimits[pg.ClassLong].Statement, "five index builds")
	for name, o := range map[string]workflow.LocalActivityOptions{"stage": stageOptions, "recall": recallOptions} {
		require.Positive(t, o.ScheduleToCloseTimeout, name)
	}
}
