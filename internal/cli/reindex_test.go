package cli

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
	"github.com/mneme/mneme/store/vectorindex"
	"github.com/mneme/mneme/workflows"
)

func TestIndexCommands(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t)
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: server.URL, Prefix: "cli"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	h := harness.New(t, func(d *workflows.Dependencies) { d.Index = q })
	c := newCLI(t, h)
	c.cfg.Qdrant.URL, c.cfg.Qdrant.Prefix = server.URL, "cli"
	ctx := context.Background()
	for _, id := range []string{api.ReindexWorkflowID(q.Name()), api.DriftWorkflowID(q.Name())} {
		_ = h.Temporal.TerminateWorkflow(ctx, id, "", "left over by a test that was killed")
	}
	c.remember("The ferry to Bilbao leaves at nine.", "--speaker", "Ana")

	var status operate.IndexStatus
	c.run("index", "status", "--json").is(app.ExitOK).json(&status)
	require.Equal(t, "qdrant", status.Index)
	require.Len(t, status.Generations, 1)
	require.NotNil(t, status.Points)
	require.Equal(t, status.Embedded, *status.Points)
	require.Positive(t, *status.Points)
	require.Zero(t, status.Lag.Pending)
	require.Contains(t, c.run("index", "status").is(app.ExitOK).out, status.Generations[0].ID)

	answer := c.recall("ferry to Bilbao")
	require.Empty(t, answer.Meta.Degraded)

	var rebuilt operate.Reindexed
	c.run("reindex", "--grace", "0s", "--json").is(app.ExitOK).json(&rebuilt)
	require.NotNil(t, rebuilt.Result)
	require.NotEqual(t, status.Generations[0].ID, rebuilt.Result.Generation.ID)
	require.Equal(t, 1, rebuilt.Result.Dropped)
	require.Equal(t, "reindex/qdrant", rebuilt.WorkflowID)
	require.Contains(t, c.run("reindex", "--grace", "0s").is(app.ExitOK).out, "verified")
	require.Equal(t, "grace", c.run("reindex", "--grace", "-1s", "--json").is(app.ExitUsage).problem().Fields[0].Field)

	var compared operate.Drifted
	c.run("index", "drift", "--json").is(app.ExitOK).json(&compared)
	require.Zero(t, compared.Result.Found.Found())
	require.Positive(t, compared.Result.Found.Points)
	server.Stop()
	server.Restart(t, false)
	c.run("index", "drift", "--look-only").is(app.ExitPartial)
	require.Contains(t, c.run("index", "drift").is(app.ExitOK).out, "MISSING")

	_, err = testkit.Owner(t, h.DatabaseURL).Exec(ctx,
		`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at, attempts, parked_at, last_error)
		SELECT tenant, id, version, 'upsert', now(), 8, now(), 'refused' FROM memories WHERE live LIMIT 1`)
	require.NoError(t, err)
	var parked app.Page[vectorindex.ParkedChange]
	c.run("index", "parked", "--json").is(app.ExitOK).json(&parked)
	require.Len(t, parked.Items, 1)
	require.Equal(t, "refused", parked.Items[0].LastError)
	require.Contains(t, c.run("index", "retry").is(app.ExitOK).out, "1 memories")
	c.run("index", "parked", "--json").is(app.ExitOK).json(&parked)
	require.Empty(t, parked.Items)
	c.run("index", "parked", "--after", "x").is(app.ExitUsage)

	server.Stop()
	c.run("index", "status").is(app.ExitUnavailable)
	require.NotEqual(t, uuid.Nil.String(), rebuilt.RunID)
}
