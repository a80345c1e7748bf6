package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// A deleted memory is not shown as active.
func TestGetShowsDeletedMemories(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	id := c.remember("Dana prefers tabs.").MemoryIDs[0]
	require.Regexp(t, `(?m)^status +active$`, c.run("get", id).is(app.ExitOK).out)
	c.run("forget", id, "--reason", "a test", "--execute").is(app.ExitOK)
	require.Regexp(t, `(?m)^status +deleted$`, c.run("get", id).is(app.ExitOK).out)
	c.run("erase", id, "--reason", "a test", "--yes").is(app.ExitOK)
	out := c.run("get", id).is(app.ExitOK).out
	require.Regexp(t, `(?m)^status +erased$`, out)
	require.Contains(t, out, "no text is left")
	require.NotContains(t, out, "active")
}

func TestStanding(t *testing.T) {
	t.Parallel()
	at := time.Now()
	require.Equal(t, "contested", memories.Standing(schema.MemoryRecord{Status: schema.StatusContested}))
	require.Equal(t, "archived", memories.Standing(schema.MemoryRecord{Status: schema.StatusActive, ArchivedAt: &at}))
	require.Equal(t, "deleted, superseded",
		memories.Standing(schema.MemoryRecord{Status: schema.StatusSuperseded, DeletedAt: &at}))
}

// History names the fact of a source that an entry is about.
func TestHistoryShowsWhichFact(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	id := c.remember("Dana prefers tabs. Dana lives in Oslo.").MemoryIDs[0]
	out := c.run("history", id).is(app.ExitOK).out
	require.Regexp(t, `fact 1, proposal [0-9a-f-]{36}`, out)
	require.Regexp(t, `fact 2, proposal [0-9a-f-]{36}`, out)
}

// Lists, memories and recalls show the current importance, at the configured decay rate.
func TestShownImportanceDecaysAtTheConfiguredRate(t *testing.T) {
	h := harness.New(t, nil)
	c := newCLI(t, h)
	id := c.remember("The kettle is loud.").MemoryIDs[0]
	_, err := testkit.Owner(t, h.DatabaseURL).Exec(t.Context(),
		`UPDATE memories SET importance = 0.8, created_at = now() - interval '2 days',
		recorded_at = now() - interval '2 days'`)
	require.NoError(t, err)
	for _, at := range []struct {
		rate float64
		left string
	}{{0.5, "0.20"}, {1, "0.80"}} { // the first recall finds nothing, so it is no access
		rate, left := at.rate, at.left
		c.cfg.ImportanceDecay = rate
		require.Contains(t, c.run("get", id).is(app.ExitOK).out, "importance "+left+" (0.80 at first)")
		require.Regexp(t, left+` +The kettle is loud`, c.run("list").is(app.ExitOK).out)
		require.Equal(t, rate == 1, len(c.list("--importance-min", "0.5").Items) > 0)
		require.Equal(t, rate == 1, len(c.recall("kettle", "--importance-min", "0.5").Results) > 0)
	}
}
