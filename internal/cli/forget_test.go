package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

func (c *cli) forget(code int, args ...string) memories.Forgotten {
	c.t.Helper()
	var f memories.Forgotten
	c.run(append([]string{"forget", "--json", "--reason", "not wanted"}, args...)...).is(code).json(&f)
	return f
}

func TestForgetCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	one := c.remember("The old project used Subversion.").MemoryIDs[0]
	two := c.remember("The old project had no tests.").MemoryIDs[0]
	pinned := c.remember("critical: Never deploy the old project on Fridays.").MemoryIDs[0]
	tea := c.remember("Tea is served hot.").MemoryIDs[0]

	// The preview shows contents and how to proceed.
	f := c.forget(app.ExitOK, "--query", "old project")
	require.Equal(t, 3, f.Preview.Total)
	require.Equal(t, 1, f.Preview.Pinned)
	require.Len(t, f.Memories, 3)
	require.NotEmpty(t, f.Preview.ConfirmToken)
	require.Nil(t, f.Receipt)
	o := c.run("forget", "--query", "old project", "--reason", "not wanted").is(app.ExitOK)
	require.Contains(t, o.out, "mneme forget confirm "+f.Preview.RunID+" --token "+f.Preview.ConfirmToken)
	require.Contains(t, o.out, "Subversion")
	require.Contains(t, o.out, "1 pinned ones are not changed")
	require.Len(t, c.list().Items, 4, "nothing is changed")

	require.Contains(t, c.run("forget", "--query", "submarine", "--reason", "not wanted").is(app.ExitOK).out,
		"no memory matches; nothing is forgotten\n")

	// Invalid tokens, and tokens of another run.
	other := c.forget(app.ExitOK, "--query", "tea")
	confirm := []string{"forget", "confirm", f.Preview.RunID, "--token"}
	require.Equal(t, "token", c.run(append(confirm, "nonsense",
		"--json")...).is(app.ExitUsage).problem().Fields[0].Field)
	require.NotContains(t, c.run(append(confirm, other.Preview.ConfirmToken)...).is(app.ExitConflict).err,
		other.Preview.ConfirmToken[5:])
	require.Equal(t, "token", c.run("forget", "confirm", f.Preview.RunID,
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	c.run("forget", "confirm", uuid.NewString(), "--token", "x").is(app.ExitNotFound)
	c.run("forget", "confirm", "x", "--token", "x").is(app.ExitUsage)

	var r schema.ForgetReceipt
	c.run(append(confirm, f.Preview.ConfirmToken, "--json")...).is(app.ExitOK).json(&r)
	require.Equal(t, []any{schema.ForgetDone, 2, map[string]int{lifecycle.OutcomePinned: 1}},
		[]any{r.State, r.Forgotten, r.Skipped})
	again := schema.ForgetReceipt{}
	c.run(append(confirm, f.Preview.ConfirmToken, "--json")...).is(app.ExitOK).json(&again)
	require.Equal(t, r, again, "the second confirmation does nothing")
	require.Len(t, c.list().Items, 2)

	// A cancelled run.
	c.run("forget", "cancel", other.Preview.RunID, "--json").is(app.ExitOK).json(&r)
	require.Equal(t, schema.ForgetCancelled, r.State)
	c.run("forget", "cancel", other.Preview.RunID).is(app.ExitConflict)
	c.run("forget", "confirm", other.Preview.RunID, "--token", other.Preview.ConfirmToken).is(app.ExitConflict)
	var s schema.ForgetStatus
	c.run("forget", "status", f.Preview.RunID, "--json").is(app.ExitOK).json(&s)
	require.Equal(t, 2, s.Forgotten)
	require.Contains(t, c.run("forget", "status", f.Preview.RunID).is(app.ExitOK).out, "2 of 3 (soft)")
	c.run("forget", "status", f.Preview.RunID, "--agent", "stranger").is(app.ExitNotFound)

	// By id, immediately; pinned memories need force.
	require.Equal(t, 1, c.forget(app.ExitOK, tea, "--execute").Receipt.Forgotten)
	require.Equal(t, map[string]int{lifecycle.OutcomePinned: 1},
		c.forget(app.ExitConflict, pinned, "--execute").Receipt.Skipped)
	require.Equal(t, map[string]int{lifecycle.OutcomeDeleted: 1},
		c.forget(app.ExitConflict, one, "--execute").Receipt.Skipped)
	c.forget(app.ExitNotFound, uuid.NewString(), "--execute")
	require.Equal(t, 1, c.forget(app.ExitPartial, two, pinned, "--mode", "force", "--yes", "--tenant",
		c.cfg.Principal.Tenant, uuid.NewString()).Receipt.Skipped[lifecycle.OutcomeNotFound])
	c.run("get", pinned).is(app.ExitNotFound)
	o = c.run("erase", one, "--reason", "asked for", "--yes").is(app.ExitOK)
	require.Contains(t, o.out, "temporal_runs")
	require.Contains(t, o.err, "1 memory selected (erase)")
	require.Empty(t, c.get(one).Content)
	var f2 memories.Forgotten
	c.run("erase", tea, "--reason", "asked for", "--json").is(app.ExitOK).json(&f2)
	require.NotEmpty(t, f2.Preview.ConfirmToken, "always needs a confirmation")

	for field, args := range map[string][]string{
		"selector": {}, "ids[0]": {"x"}, "reason": {"--all", "--reason", ""}, "mode": {"--all", "--mode", "gone"},
		"since": {"--since", "noon"},
		"type":  {"--type", "dream"}, "source_kind": {"--source-kind", "odd"}, "limit": {"--all", "--limit", "3"},
		"expires_seconds": {"--all", "--expires", "48h"}, "batch_size": {"--all", "--batch-size", "501"},
		"expires": {"--all", "--expires", "3ms"},
	} {
		fields := c.run(append([]string{"forget", "--json", "--reason", "r"},
			args...)...).is(app.ExitUsage).problem().Fields
		require.Equal(t, field, fields[0].Field, args)
	}
	c.run("erase").is(app.ExitUsage)
	c.run("forget", strings.Repeat("x", 3), "--reason", "r").is(app.ExitUsage)
}

// A confirmed run whose workflow was terminated half way is continued by an operator, to the same result.
func TestForgetResume(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	ids := []string{c.remember("The old project used Subversion.").MemoryIDs[0],
		c.remember("The old project had no tests.").MemoryIDs[0], c.remember("Tea is served hot.").MemoryIDs[0]}
	preview := c.forget(app.ExitOK, "--all", "--mode", "erase").Preview
	require.Contains(t, c.run("forget", "resume", preview.RunID).is(app.ExitConflict).err, "is not confirmed")

	require.NoError(t, h.Temporal.TerminateWorkflow(t.Context(), preview.WorkflowID, "", "lost"))
	tenant, run := c.cfg.Principal.Tenant, uuid.MustParse(preview.RunID)
	_, err := h.Store.ConfirmForget(t.Context(), tenant, run,
		schema.ForgetConfirmation{Token: preview.ConfirmToken, Actor: "ana"}, time.Now())
	require.NoError(t, err)
	half, err := h.Store.ForgetBatch(t.Context(), tenant, run, 1, time.Now())
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{half.Receipt.Forgotten, half.Receipt.Remaining})

	require.Contains(t, c.run("forget", "confirm", preview.RunID, "--token", preview.ConfirmToken).is(app.ExitFailure).err,
		"`mneme forget resume "+preview.RunID+"` continues it")
	c.run("forget", "resume", preview.RunID, "--agent", "stranger").is(app.ExitNotFound)
	var r schema.ForgetReceipt
	c.run("forget", "resume", preview.RunID, "--json").is(app.ExitOK).json(&r)
	require.Equal(t, []any{schema.ForgetDone, 3, 3}, []any{r.State, r.Forgotten, r.Total})
	require.GreaterOrEqual(t, r.Removed["temporal_runs"], 3, "runs that had the texts")
	for _, id := range ids {
		require.Empty(t, c.get(id).Content)
	}
	require.Contains(t, c.run("forget", "resume", preview.RunID).is(app.ExitConflict).err, "the run is done")
	c.run("forget", "resume", uuid.NewString()).is(app.ExitNotFound)
	c.run("forget", "resume", "x").is(app.ExitUsage)
}

// With force, a memory that must be kept is refused if named by id; erase empties it.
func TestForceDoesNotRemoveAWorld(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	id := c.put(strings.Replace(event(0), `"relations": [{"predicate": "supports", "target_id": "e0"}]`,
		`"world_id": "harbour"`, 1), app.ExitOK, "-").Items[0].ID
	require.Contains(t, c.run("forget", id, "--mode", "force", "--reason", "r").is(app.ExitOK).out,
		"1 with a world_id or linked to an action are not changed")
	o := c.run("forget", id, "--mode", "force", "--reason", "r", "--yes").is(app.ExitConflict)
	require.Contains(t, o.err, "refused: world")
	require.NotEmpty(t, c.get(id).Content)
	c.run("erase", id, "--reason", "asked for", "--yes").is(app.ExitOK)
	require.Equal(t, []any{"", "harbour"}, []any{c.get(id).Content, c.get(id).WorldID})
}

// The whole selection of a run can be listed, in pages, with the outcome of each memory.
func TestForgetStatusListsItems(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	pinned := c.remember("critical: Never deploy the old project on Fridays.").MemoryIDs[0]
	ids := map[string]bool{pinned: true}
	for _, text := range []string{"The old project used Subversion.", "The old project had no tests."} {
		ids[c.remember(text).MemoryIDs[0]] = true
	}
	f := c.forget(app.ExitOK, "--query", "old project")
	status := []string{"forget", "status", f.Preview.RunID, "--items"}
	var first, last memories.ForgetPage
	c.run(append(status, "--limit", "2", "--json")...).is(app.ExitOK).json(&first)
	require.Len(t, first.Items, 2)
	require.Equal(t, []any{schema.ForgetPreviewed, 3, 1}, []any{first.State, first.Total, *first.Next})
	c.run(append(status, "--limit", "2", "--after", "1", "--json")...).is(app.ExitOK).json(&last)
	require.Len(t, last.Items, 1)
	require.Nil(t, last.Next)
	for _, item := range append(first.Items, last.Items...) {
		require.True(t, ids[item.MemoryID])
		delete(ids, item.MemoryID)
		require.Equal(t, []any{1, ""}, []any{item.Version, item.Outcome})
	}
	require.Empty(t, ids)
	require.Contains(t, c.run(append(status, "--limit", "1")...).is(app.ExitOK).out, "more: --after 0")

	c.run("forget", "confirm", f.Preview.RunID, "--token", f.Preview.ConfirmToken).is(app.ExitOK)
	o := c.run(status...).is(app.ExitOK)
	require.Equal(t, 2, strings.Count(o.out, lifecycle.OutcomeForgotten))
	require.Regexp(t, pinned+" +1 +"+lifecycle.OutcomePinned, o.out)
	c.run(append(status, "--agent", "stranger")...).is(app.ExitNotFound)
	for field, args := range map[string][]string{"limit": {"--items", "--limit", "0"},
		"after": {"--items", "--after", "-2"}, "items": {"--limit", "3"}} {
		require.Equal(t, field, c.run(append([]string{"forget", "status", f.Preview.RunID, "--json"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	require.Equal(t, "query", c.run("forget", "--query", "-zebra", "--reason", "r",
		"--json").is(app.ExitUsage).problem().Fields[0].Field, "without ids it would select everything")
}

func TestForgetAtAVersion(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	id := c.remember("Tea is served hot.").MemoryIDs[0]
	for _, args := range [][]string{{"forget", id, "--execute"}, {"forget", id}, {"erase", id, "--yes"}} {
		o := c.run(append(args, "--reason", "r", "--if-version", "2")...).is(app.ExitConflict)
		require.Contains(t, o.err, "at version 1, not 2")
		require.Equal(t, "Tea is served hot.", c.get(id).Content)
	}
	for _, args := range [][]string{{id, "--if-version", "-1"}, {id, id, "--if-version", "1"},
		{"--query", "tea", "--if-version", "1"}, {id, "--everywhere", "--if-version", "1"},
		{id, "--include-derived", "--if-version", "1"}} {
		require.Equal(t, "if_version",
			c.run(append([]string{"forget", "--json", "--reason", "r"},
				args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	c.run("forget", id, "--execute", "--reason", "r", "--if-version", "1").is(app.ExitOK)
	require.NotNil(t, c.get(id).DeletedAt)
}

func TestForgetIsRefusedWhenFrozen(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, func(d *workflows.Dependencies) { d.Policy.Mode = schema.ModeFrozen }))
	id := c.remember("Tea is served hot.").MemoryIDs[0]
	require.Contains(t, c.run("forget", id, "--execute", "--reason", "r").is(app.ExitConflict).err, "mutations_frozen")
	require.Equal(t, "Tea is served hot.", c.get(id).Content)
}
