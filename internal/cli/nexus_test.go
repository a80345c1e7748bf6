package cli

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
)

func TestNexusCommands(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	name := "t-" + uuid.NewString()
	require.Contains(t, c.run("nexus", "show", "--endpoint", name).is(app.ExitNotFound).err, "nexus apply")
	require.Equal(t, "endpoint", c.run("nexus", "apply", "--json", "--endpoint",
		"-x_").is(app.ExitUsage).problem().Fields[0].Field)

	var made, again, shown, moved operate.NexusEndpoint
	c.run("nexus", "apply", "--json", "--endpoint", name).is(app.ExitOK).json(&made)
	t.Cleanup(func() {
		_, _ = h.Temporal.OperatorService().DeleteNexusEndpoint(context.Background(),
			&operatorservice.DeleteNexusEndpointRequest{Id: moved.ID, Version: moved.Version})
	})
	require.True(t, made.Changed)
	require.Equal(t, h.TaskQueue, made.TaskQueue)
	c.run("nexus", "apply", "--json", "--endpoint", name).is(app.ExitOK).json(&again)
	require.False(t, again.Changed)
	require.Equal(t, made.Endpoint, again.Endpoint)

	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	require.NoError(t, testkit.Eventually(ctx, func() error { // the worker has just started polling
		c.run("nexus", "show", "--json", "--endpoint", name).is(app.ExitOK).json(&shown)
		if !shown.Polling {
			return context.DeadlineExceeded
		}
		return nil
	}))
	require.Equal(t, []string{api.OperationRemember, api.OperationRecall, api.OperationGet, api.OperationContext,
		api.OperationForget,
		api.OperationFeedback, api.OperationAppend, api.OperationAdvise, api.OperationReport,
		api.OperationEraseEvents}, shown.Operations)
	text := c.run("nexus", "show", "--endpoint", name).is(app.ExitOK).out
	require.Contains(t, text, "a worker takes its calls")
	require.Contains(t, text, "service mneme: remember, recall, get, context, forget, feedback")

	c.cfg.TaskQueue = "elsewhere-" + uuid.NewString()
	require.Contains(t, c.run("nexus", "apply", "--endpoint", name).is(app.ExitConflict).err, h.TaskQueue)
	c.run("nexus", "apply", "--json", "--endpoint", name, "--retarget").is(app.ExitOK).json(&moved)
	require.Equal(t, c.cfg.TaskQueue, moved.TaskQueue)
	require.Contains(t, c.run("nexus", "show", "--endpoint", name).is(app.ExitOK).out, "no worker")
}
