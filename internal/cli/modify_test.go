package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

func (c *cli) get(id string) schema.MemoryRecord {
	c.t.Helper()
	var m schema.MemoryRecord
	c.run("get", id, "--json").is(app.ExitOK).json(&m)
	return m
}

func (c *cli) modify(code int, args ...string) memories.Modified {
	c.t.Helper()
	var m memories.Modified
	c.run(append([]string{"modify", "--json", "--reason", "it was wrong"}, args...)...).is(code).json(&m)
	return m
}

func TestModifyCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	id := c.remember("Tea is served hot.").MemoryIDs[0]
	pinned := c.remember("critical: Never deploy on Fridays.").MemoryIDs[0]

	m := c.modify(app.ExitOK, id, "--content", "Tea is served cold.", "--category", "rule", "--importance", "0.3",
		"--tag", "Drinks,tea", "--who", "ana", "--if-version", "1")
	require.Equal(t, []schema.PatchResult{{ID: id, Status: schema.PatchUpdated, CurrentVersion: 1, NewVersion: 2,
		ContentChanged: true, Embedded: true}}, m.Results)
	require.Equal(t, 1, m.Updated)
	require.Equal(t, map[schema.PatchStatus]int{schema.PatchUpdated: 1}, m.Counts)
	require.Len(t, m.Runs, 1)
	require.Contains(t, m.Runs[0].URL, "http://ui.test")
	got := c.get(id)
	require.Equal(t, []any{"Tea is served cold.", schema.CategoryRule, 0.3, "ana"},
		[]any{got.Content, got.Category, got.Importance, got.Who})
	require.Equal(t, []string{"drinks", "tea"}, got.Tags)

	var steps app.Page[schema.HistoryEntry]
	c.run("history", id, "--json").is(app.ExitOK).json(&steps)
	last := steps.Items[len(steps.Items)-1]
	require.Equal(t, schema.EventModified, last.Event)
	require.Equal(t, []string{"it was wrong", app.Operator(), "Tea is served hot.", "Tea is served cold."},
		[]string{last.Reason, last.ChangedBy, *last.OldContent, *last.NewContent})

	require.Equal(t, schema.PatchNoChanges,
		c.modify(app.ExitOK, id, "--content", "Tea is served cold.").Results[0].Status)
	require.Equal(t, schema.PatchUpdated, c.modify(app.ExitOK, id, "--no-tags", "--who", "").Results[0].Status)
	got = c.get(id)
	require.Empty(t, got.Tags)
	require.Empty(t, got.Who)
	o := c.runWith(t.Context(), "Tea is\nserved late.\n", "modify", id, "--content", "-", "--reason",
		"moved").is(app.ExitOK)
	require.Contains(t, o.out, "3 → 4")
	require.Equal(t, "Tea is served late.", c.get(id).Content)

	require.Equal(t, schema.PatchUpdated, c.modify(app.ExitOK, id, "--pin").Results[0].Status)
	require.True(t, c.get(id).Lifecycle.Pinned)
	require.Equal(t, schema.PatchUpdated, c.modify(app.ExitOK, id, "--unpin", "--importance", "0.2").Results[0].Status)
	require.False(t, c.get(id).Lifecycle.Pinned)

	// Refusals: the result is on standard output, the reason on standard error.
	require.Equal(t, schema.PatchNotFound, c.modify(app.ExitNotFound, uuid.NewString(), "--pin").Results[0].Status)
	require.Equal(t, schema.PatchPinned,
		c.modify(app.ExitConflict, pinned, "--content", "Deploy on Fridays.").Results[0].Status)
	require.Equal(t, schema.PatchUpdated,
		c.modify(app.ExitOK, pinned, "--content", "Never deploy on Mondays.", "--force").Results[0].Status)
	require.Equal(t, id, c.modify(app.ExitConflict, pinned, "--content", "tea is served late",
		"--force").Results[0].DuplicateID)
	o = c.run("modify", id, "--who", "bob", "--if-version", "2", "--reason", "x").is(app.ExitConflict)
	require.Contains(t, o.out, "version_conflict")
	require.Contains(t, o.err, "the current version is 6")

	first := c.modify(app.ExitOK, id, "--who", "carl", "--operation-id", "op-1")
	require.Equal(t, first, c.modify(app.ExitOK, id, "--who", "carl", "--operation-id", "op-1"),
		"the same operation returns the first result")
	require.Equal(t, "operation_id", c.run("modify", id, "--json", "--who", "dora", "--reason", "it was wrong",
		"--operation-id", "op-1").is(app.ExitUsage).problem().Fields[0].Field, "another operation with the same id")

	for field, args := range map[string][]string{
		"id": {"x", "--pin"}, "(patch)": {id}, "category": {id, "--category", "dream"},
		"importance": {id, "--importance", "2"}, "content": {id, "--content", " "},
		"if_version": {id, "--pin", "--if-version", "-1"}, "tag": {id, "--tag", " "},
	} {
		require.Equal(t, field, c.run(append([]string{"modify", "--json", "--reason", "x"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	require.Equal(t, "id", c.run("modify", "--json", "--pin").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "reason", c.run("modify", id, "--json", "--pin").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "unpin", c.run("modify", id, "--json", "--pin", "--unpin", "--reason",
		"x").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "no-tags", c.run("modify", id, "--json", "--tag", "x", "--no-tags", "--reason",
		"x").is(app.ExitUsage).problem().Fields[0].Field)
}

func TestModifyFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	const n = schema.MaxPatches + 40
	var lines, patches strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"content":"Machine %d stands in hall %d.","source_kind":"memory"}`+"\n", i, i%7)
	}
	c.importFile(app.ExitOK, writeFile(t, lines.String()), "--mode", "frozen", "--wait")
	var ids []string
	for before := ""; ; {
		p := c.list("--limit", "100", "--before", before)
		for _, m := range p.Items {
			ids = append(ids, m.ID)
		}
		if before = p.Next; before == "" {
			break
		}
	}
	require.Len(t, ids, n)
	for i, id := range ids {
		version := 1
		if i == 7 {
			version = 3
		}
		fmt.Fprintf(&patches, `{"id":%q,"content":"Machine %d was sold.","if_version":%d}`+"\n", id, i, version)
	}
	// A second patch of the same memory: another run, after the first.
	fmt.Fprintf(&patches,
		"\n"+`{"id":%q,"content":"Machine 0 was bought back.","if_version":2,"reason":"they regretted it"}`+"\n",
		ids[0])
	path := writeFile(t, patches.String())

	m := c.modify(app.ExitPartial, "--file", path)
	require.Equal(t, map[schema.PatchStatus]int{schema.PatchUpdated: n, schema.PatchVersionConflict: 1}, m.Counts)
	require.Equal(t, n, m.Updated)
	require.Len(t, m.Runs, 2, "the second run has the rest and the repetition")
	require.Len(t, m.Results, n+1)
	require.Equal(t, schema.PatchVersionConflict, m.Results[7].Status)
	for i, id := range ids {
		require.Equal(t, id, m.Results[i].ID)
	}
	require.Equal(t, "Machine 0 was bought back.", c.get(ids[0]).Content)
	require.Equal(t, "Machine 239 was sold.", c.get(ids[239]).Content)
	require.Contains(t, c.run("history", ids[0]).is(app.ExitOK).out, "they regretted it")

	// With a bad line nothing is changed, and every bad line is named.
	bad := writeFile(t, fmt.Sprintf(`{"id":%q,"who":"x"}`+"\n"+`{"id":%q,"whom":"x"}`+"\n\n"+`{"id":%q,"importance":7}`+
		"\nno json\n", ids[1], ids[2], ids[3]))
	o := c.run("modify", "--file", bad, "--reason", "x", "--json").is(app.ExitUsage)
	var fields []string
	for _, f := range o.problem().Fields {
		fields = append(fields, f.Field)
	}
	require.Equal(t, []string{"line 2: whom", "line 4: importance", "line 5: (json)"}, fields)
	require.Empty(t, c.get(ids[1]).Who)
	require.NotContains(t, o.err, ids[2])

	require.Contains(t, c.runWith(t.Context(), fmt.Sprintf(`{"id":%q,"who":"x","reason":"mine"}`, ids[1]), "modify",
		"--file", "-").is(app.ExitOK).out, "updated")
	for field, args := range map[string][]string{
		"file": {ids[0], "--file", path}, "pin": {"--file", path, "--pin"},
	} {
		require.Equal(t, field, c.run(append([]string{"modify", "--json", "--reason", "x"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	c.run("modify", "--file", "/nowhere/at/all", "--reason", "x").is(app.ExitUsage)
	require.Equal(t, "file", c.runWith(t.Context(), "\n", "modify", "--file", "-", "--reason", "x",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
}

func TestPartsOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", app.MaxBatchBytes/2)
	sizes := func(patches []schema.Patch) (out []int) {
		for _, part := range memories.PartsOf(patches) {
			out = append(out, len(part))
		}
		return out
	}
	patch := func(id string, content *string) schema.Patch { return schema.Patch{ID: id, Content: content} }
	require.Equal(t, []int{2, 1}, sizes([]schema.Patch{patch("a", nil), patch("b", nil), patch("A", nil)}))
	require.Equal(t, []int{1, 1, 1}, sizes([]schema.Patch{patch("a", &long), patch("b", &long), patch("c", &long)}))
	many := make([]schema.Patch, 2*schema.MaxPatches+1)
	for i := range many {
		many[i].ID = fmt.Sprint(i)
	}
	require.Equal(t, []int{schema.MaxPatches, schema.MaxPatches, 1}, sizes(many))
}

func TestRecoverCommand(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	tea, kettle := c.remember("Tea is served hot.").MemoryIDs[0], c.remember("The kettle is made of " +
		"copper.").MemoryIDs[0]
	db := testkit.Owner(t, h.DatabaseURL)
	gone := func(id, when string) {
		_, err := db.Exec(t.Context(),
			`UPDATE memories SET deleted_at = now() - $2::interval, version = version + 1 WHERE id = $1`, id, when)
		require.NoError(t, err)
	}
	restore := func(code int, args ...string) memories.Recovered {
		var r memories.Recovered
		c.run(append([]string{"recover", "--json", "--reason", "by mistake"}, args...)...).is(code).json(&r)
		return r
	}
	gone(tea, "1 day")
	r := restore(app.ExitOK, tea, "--if-version", "2")
	require.Equal(t, []schema.RecoverItem{{ID: tea, Status: schema.RecoverRecovered, CurrentVersion: 2, NewVersion: 3}},
		r.Items)
	require.NotEmpty(t, r.WorkflowID)
	require.Nil(t, c.get(tea).DeletedAt)

	require.Equal(t, schema.RecoverNotDeleted, restore(app.ExitConflict, tea).Items[0].Status)
	require.Equal(t, schema.RecoverNotFound, restore(app.ExitNotFound, uuid.NewString()).Items[0].Status)
	gone(tea, "1 day")
	again := c.remember("Tea is served hot!").MemoryIDs[0]
	require.Equal(t, again, restore(app.ExitConflict, tea).Items[0].ConflictID)
	gone(kettle, fmt.Sprintf("%d hours", int(revision.RecoveryWindow.Hours())))
	r = restore(app.ExitPartial, kettle, uuid.NewString())
	require.Equal(t, schema.RecoverExpired, r.Items[0].Status)
	require.Contains(t, c.run("recover", kettle, "--reason", "x").is(app.ExitConflict).err, "30 days")

	for field, args := range map[string][]string{"id": {"x"}, "if-version": {tea, kettle, "--if-version", "1"},
		"targets[1].id": {tea, tea}} {
		require.Equal(t, field, c.run(append([]string{"recover", "--json", "--reason", "x"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	require.Equal(t, "reason", c.run("recover", tea, "--json").is(app.ExitUsage).problem().Fields[0].Field)
	c.run("recover").is(app.ExitUsage)
}

// An operation that the worker's mode forbids is refused, and does not fail.
func TestModifyFrozenWorker(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, func(d *workflows.Dependencies) { d.Policy.Mode = schema.ModeFrozen }))
	id := c.remember("Tea is served hot.").MemoryIDs[0]
	require.Equal(t, schema.PatchFrozen, c.modify(app.ExitConflict, id, "--pin").Results[0].Status)
	c.run("recover", id, "--reason", "x").is(app.ExitConflict)
}
