package recorder_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/workflows"
)

// docs/record-your-agent.md shows code that is compiled and runs.
func TestPageShowsExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "record-your-agent.md"))
	require.NoError(t, err)
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := strings.Split(string(page), "```go\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```\n")
		require.Contains(t, string(example), strings.TrimSpace(code))
	}
}

// The example records its session with Mneme's worker, and the session becomes an episode.
func TestExampleRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := harness.New(t, nil)
	p := testkit.Principal()
	queue, id := "agent-"+uuid.NewString(), "assist-"+uuid.NewString()
	w := newWorker(h.Temporal, queue)
	w.RegisterWorkflowWithOptions(assist, workflow.RegisterOptions{Name: "assist"})
	w.RegisterActivityWithOptions(func(context.Context, string) (string, error) { return "In Lisbon.", nil },
		activity.RegisterOptions{Name: "search"})
	require.NoError(t, w.Start())
	defer w.Stop()
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, "assist", p,
		h.TaskQueue, "Where does Ana live?")
	require.NoError(t, err)
	var answer string
	require.NoError(t, run.Get(ctx, &answer))
	require.Equal(t, "In Lisbon.", answer)
	recorded, err := h.Store.Page(ctx, p.Tenant, ledger.StreamRun.Stream(id), 0, events.MaxPage)
	require.NoError(t, err)
	require.Equal(t, []string{"user.injected", "tool.called", "tool.returned", "agent.spoke", "run.ended"},
		kinds(recorded))

	closed, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
		api.CloseRequest{SessionRef: api.SessionRef{Principal: p, Session: id}})
	require.NoError(t, err)
	require.Equal(t, schema.OutcomeSuccess, closed.Outcome)
	require.Equal(t, 5, closed.Events)
	require.NotEmpty(t, closed.EpisodeID)
}

// An agent in another namespace records through a Nexus endpoint. An agent that is bound to another tenant records
// nothing, but its workflow succeeds.
func TestRecordThroughNexus(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := testkit.Principal()
	h := harness.New(t, nil)
	bound := harness.New(t, func(d *workflows.Dependencies) {
		var err error
		d.Callers, err = workflows.ParseCallers("*=somebody-else")
		require.NoError(t, err)
	})
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	there := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	for name, h := range map[string]*harness.Harness{"record": h, "bound": bound} {
		endpoint := "r-" + uuid.NewString()
		made, _, err := mneme.EnsureNexusEndpoint(ctx, h.Temporal, mneme.Endpoint{Name: endpoint,
			Namespace: harness.Namespace, TaskQueue: h.TaskQueue}, false)
		require.NoError(t, err)
		t.Cleanup(func() {
			_, _ = h.Temporal.OperatorService().DeleteNexusEndpoint(ctx,
				&operatorservice.DeleteNexusEndpointRequest{Id: made.ID, Version: made.Version})
		})
		w := newWorker(there, endpoint)
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (bool, error) {
			rec := recorder.Open(ctx, recorder.Options{Principal: p, Endpoint: endpoint, CloseWithin: 20 * time.Second})
			rec.Heard("Where does Ana live?")
			rec.Said("In Lisbon.")
			return rec.Close(ctx, schema.OutcomeSuccess, ""), nil
		}, workflow.RegisterOptions{Name: "far"})
		require.NoError(t, w.Start())
		defer w.Stop()
		run, err := there.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: name, TaskQueue: endpoint}, "far")
		require.NoError(t, err)
		var delivered bool
		require.NoError(t, run.Get(ctx, &delivered))
		require.Equal(t, name == "record", delivered)
		found, err := h.Store.Page(ctx, p.Tenant, ledger.StreamRun.Stream(name), 0, events.MaxPage)
		require.NoError(t, err)
		if delivered {
			require.Equal(t, []string{"user.injected", "agent.spoke", "run.ended"}, kinds(found))
		} else {
			require.Empty(t, found)
		}
	}
}
