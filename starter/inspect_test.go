package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// What is gone is not shown as active.
func TestGetShowsWhatIsGone(t *testing.T) {
	t.Parallel()
	c := newCLI(t, testkit.NewHarness(t, nil))
	id := c.remember("Dana prefers tabs.").MemoryIDs[0]
	require.Regexp(t, `(?m)^status +active$`, c.run("get", id).is(exitOK).out)
	c.run("forget", id, "--reason", "a test", "--execute").is(exitOK)
	require.Regexp(t, `(?m)^status +deleted$`, c.run("get", id).is(exitOK).out)
	c.run("erase", id, "--reason", "a test", "--yes").is(exitOK)
	out := c.run("get", id).is(exitOK).out
	require.Regexp(t, `(?m)^status +erased$`, out)
	require.Contains(t, out, "no text is left")
	require.NotContains(t, out, "active")
}

func TestStanding(t *testing.T) {
	t.Parallel()
	at := time.Now()
	require.Equal(t, "contested", standing(schema.MemoryRecord{Status: schema.StatusContested}))
	require.Equal(t, "archived", standing(schema.MemoryRecord{Status: schema.StatusActive, ArchivedAt: &at}))
	require.Equal(t, "deleted, superseded", standing(schema.MemoryRecord{Status: schema.StatusSuperseded, DeletedAt: &at}))
}

// History says which fact of a source a step was about.
func TestHistoryShowsWhichFact(t *testing.T) {
	t.Parallel()
	c := newCLI(t, testkit.NewHarness(t, nil))
	id := c.remember("Dana prefers tabs. Dana lives in Oslo.").MemoryIDs[0]
	out := c.run("history", id).is(exitOK).out
	require.Regexp(t, `fact 1, proposal [0-9a-f-]{36}`, out)
	require.Regexp(t, `fact 2, proposal [0-9a-f-]{36}`, out)
}
