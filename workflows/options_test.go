package workflows

import (
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	storeforgetting "github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/workflows/flow"
)

// Every activity has a timeout, no attempt is lost to the total limit, and a step of the pipeline ends within minutes.
func TestEveryActivityHasItsLimits(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]workflow.ActivityOptions{
		"model": flow.ModelOptions(""), "embed": flow.EmbedOptions("", flow.InfrastructureAttempts),
		"store": flow.StoreOptions("", flow.ReviewAttempts),
		"link":  flow.LinkOptions(""), "sweep": flow.SweepOptions(""), "drain": flow.DrainOptions,
		"index": flow.IndexOptions(""), "rebuild": rebuildOptions,
		"build": flow.BuildOptions("", flow.InfrastructureAttempts),
	} {
		require.Positive(t, o.StartToCloseTimeout, name)
		attempts := time.Duration(o.RetryPolicy.MaximumAttempts)
		require.GreaterOrEqual(t, o.ScheduleToCloseTimeout,
			attempts*(o.StartToCloseTimeout+o.RetryPolicy.MaximumInterval), name)
		require.Greater(t, o.StartToCloseTimeout, pg.ClassLimits[pg.ClassPipeline].Statement,
			"%s: an attempt must outlast the statement limit", name)
	}
	for name, o := range map[string]workflow.ActivityOptions{"model": flow.ModelOptions(""),
		"embed": flow.EmbedOptions("", 1), "link": flow.LinkOptions("")} {
		require.LessOrEqual(t, o.StartToCloseTimeout, 5*time.Minute, name)
		require.Positive(t, o.HeartbeatTimeout, name)
	}
	require.Greater(t, rebuildOptions.StartToCloseTimeout, 5*pg.ClassLimits[pg.ClassLong].Statement,
		"five index builds")
	// ForgetBatch halves a transaction that times out. Heartbeats keep the size for the next attempt.
	halvings := time.Duration(bits.Len(storeforgetting.ForgetBatchSize))
	require.Greater(t, flow.EmbedOptions("", 1).StartToCloseTimeout,
		halvings*pg.ClassLimits[pg.ClassPipeline].Statement, "one attempt can halve a batch down to one memory")
	for name, o := range map[string]workflow.LocalActivityOptions{"stage": flow.StageOptions,
		"recall": flow.RecallOptions} {
		require.Positive(t, o.ScheduleToCloseTimeout, name)
	}
}
