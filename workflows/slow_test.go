package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// A local model may take longer for an answer than the heartbeat timeout: its worker is still alive, and the model is
// called once.
func TestSlowModelIsNotADeadWorker(t *testing.T) {
	t.Parallel()
	model := testkit.NewModel(t, func(ctx context.Context, _ testkit.ModelCall) testkit.ModelReply {
		select {
		case <-time.After(24 * time.Second):
		case <-ctx.Done():
		}
		return testkit.FactsOf("The slow model has found this one fact.")
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	_, result := h.Ingest(t, testkit.Request(testkit.Principal(), schema.SourceObservation,
		"Something that takes its time to be read."))
	require.Equal(t, 1, result.Written.Added)
	require.Len(t, model.Calls(testkit.Extraction), 1)
}
