package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

func TestExportAndImportRestore(t *testing.T) {
	c := newCLI(t, testkit.NewHarness(t, nil))
	c.remember("Dana prefers tabs over spaces.", "--tag", "style")
	c.remember("The CI server runs in Frankfurt.", "--tag", "ops")
	c.remember("The deploy token of the vault is long.", "--sensitivity", "high")
	before := c.recall("where does the CI server run", "--max-sensitivity", "high")
	require.NotEmpty(t, before.Results)

	path := filepath.Join(t.TempDir(), "all.jsonl")
	var out exported
	c.run("export", "--all-agents", "--include-deleted", "-o", path, "--json").is(exitOK).json(&out)
	require.Equal(t, path, out.File)
	require.GreaterOrEqual(t, out.Memories, 3)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, out.Memories+2, strings.Count(string(data), "\n"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	streamed := c.run("export", "--all-agents", "--include-deleted").is(exitOK)
	require.Equal(t, strings.Count(string(data), "\n"), strings.Count(streamed.out, "\n"))
	require.Contains(t, streamed.err, "memories and 0 artifacts")
	require.NotContains(t, c.run("export", "--tag", "ops").is(exitOK).out, "tabs")
	require.Contains(t, c.run("export").is(exitOK).out, "vault", "whatever its sensitivity")
	require.NotContains(t, c.run("export", "--max-sensitivity", "low").is(exitOK).out, "vault")

	// Into an empty tenant, from a file and from a stream; again it changes nothing.
	from := c.cfg.Principal.Tenant
	for _, stdin := range []bool{false, true} {
		c.cfg.Principal.Tenant = "other-" + uuid.NewString()
		var r restored
		if stdin {
			c.runWith(t.Context(), string(data), "import", "-", "--json").is(exitOK).json(&r)
		} else {
			c.run("import", path, "--json").is(exitOK).json(&r)
		}
		require.Equal(t, out.Memories, r.Restored)
		require.Empty(t, r.Conflicts)
		require.False(t, r.CutOff)
		c.run("import", path, "--json").is(exitOK).json(&r)
		require.Equal(t, []int{0, out.Memories}, []int{r.Restored, r.Unchanged})
		after := c.recall("where does the CI server run", "--max-sensitivity", "high")
		require.Equal(t, before.Results[0].ID, after.Results[0].ID)
		require.Equal(t, before.Results[0].Content, after.Results[0].Content)
	}

	// What stands is not overwritten, and said.
	id := before.Results[0].ID
	c.run("modify", id, "--who", "somebody else", "--reason", "a test").is(exitOK)
	o := c.run("import", path, "--json").is(exitConflict)
	var r restored
	o.json(&r)
	require.Equal(t, []store.RestoreConflict{{ID: id, Reason: store.ConflictDifferent}}, r.Conflicts)
	require.Contains(t, c.run("import", path).is(exitConflict).out, id)
	c.cfg.Principal.Tenant = from

	for field, args := range map[string][]string{"types": {"--type", "dream"}, "since": {"--since", "noon"}} {
		require.Equal(t, field, c.run(append([]string{"export", "--json"}, args...)...).is(exitUsage).problem().Fields[0].Field)
	}
	c.run("export", "-o", "/no/such/directory/x").is(exitUsage)
	c.run("export", "--read-policy", "shared").is(exitUsage)
}

func TestImportOfADamagedExport(t *testing.T) {
	c := newCLI(t, testkit.NewHarness(t, nil))
	c.remember("Dana prefers tabs over spaces.")
	c.remember("The CI server runs in Frankfurt.")
	lines := strings.Split(strings.TrimSpace(c.run("export").is(exitOK).out), "\n")
	elsewhere := func() { c.cfg.Principal.Tenant = "other-" + uuid.NewString() }

	elsewhere()
	bad := append([]string{lines[0], strings.Replace(lines[1], `"confidence":1`, `"confidence":7`, 1)}, lines[2:]...)
	path := writeFile(t, strings.Join(bad, "\n"))
	o := c.run("import", path, "--json").is(exitPartial)
	var r restored
	o.json(&r)
	require.Equal(t, 1, r.Failed)
	require.Equal(t, 2, r.Errors[0].Line)
	require.Equal(t, "record.confidence", r.Errors[0].Fields[0].Field)
	require.Equal(t, r.Memories, r.Restored)
	elsewhere()
	require.Equal(t, "line 2: record.confidence", c.run("import", path, "--json", "--strict").is(exitUsage).problem().Fields[0].Field)
	require.Empty(t, c.list().Items)

	c.run("import", writeFile(t, strings.Join(lines[:2], "\n")), "--json").is(exitPartial).json(&r)
	require.True(t, r.CutOff)
	require.Equal(t, 1, r.Restored)
	c.run("import", writeFile(t, strings.Join(lines[:2], "\n")), "--strict").is(exitUsage)

	elsewhere()
	require.Equal(t, "version", c.run("import", writeFile(t, `{"kind":"header","format":"mneme-export","version":9}`), "--json").is(exitUsage).problem().Fields[0].Field)

	// A file in which memories supersede each other in a circle is refused as a whole.
	var ids []string
	for _, line := range lines[1 : len(lines)-1] {
		var m store.ExportLine
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		ids = append(ids, m.Record.ID)
	}
	circle := []string{lines[0]}
	for i := range 2 {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(lines[1+i]), &m))
		m["record"].(map[string]any)["supersedes"] = ids[1-i]
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		circle = append(circle, string(encoded))
	}
	o = c.run("import", writeFile(t, strings.Join(circle, "\n")), "--json").is(exitUsage)
	require.Contains(t, o.problem().Fields[0].Problem, "superseded itself")
	require.Empty(t, c.list().Items)
}

func TestImportMem0(t *testing.T) {
	c := newCLI(t, testkit.NewHarness(t, nil))
	var r foreignReport
	c.run("import", "--format", "mem0", "testdata/mem0.json", "--json").is(exitPartial).json(&r)
	require.Equal(t, []int{4, 2, 2}, []int{r.Read, r.Failed, r.Counts[schema.PutCreated]})
	require.Equal(t, map[string]int{"metadata.nested": 1, "score": 1}, r.LeftOut)
	require.Equal(t, []int{3, 4}, []int{r.Errors[0].Line, r.Errors[1].Line})

	m := c.record(r.Items[0].ID)
	require.Equal(t, "Dana is allergic to nuts", m.Content)
	require.Equal(t, "dana", m.Who)
	require.Equal(t, "run-7", m.Session)
	require.ElementsMatch(t, []string{"health", "food", "agent_id=chef", "source=onboarding", "verified=true"}, m.Tags)
	require.True(t, m.CreatedAt.Equal(time.Date(2024, 7, 26, 6, 57, 0, 108347000, time.UTC)))
	require.True(t, m.UpdatedAt.Equal(time.Date(2024, 8, 1, 17, 0, 0, 0, time.UTC)))
	require.Equal(t, "mem0:f38b689d-6b24-45b7-bced-17fbb4d8bac7", m.Provenance.Sources[0].Ref)
	require.Equal(t, "8ae61a6ee8bd8b0bfe1d2d2e5a1a2b0c", m.Provenance.Sources[0].Hash)
	require.Equal(t, "0190edd4", m.ID[:8], "its id is ordered by its time")
	var payload schema.SemanticPayload
	m = c.record(r.Items[1].ID)
	require.NoError(t, json.Unmarshal(m.Payload, &payload))
	require.Equal(t, schema.ValidTimeboxed, payload.Validity.Mode)
	require.Equal(t, schema.PolicyContest, payload.RevisionPolicy)
	require.Equal(t, []string{"Dana is travelling until May"}, contents(c.list("--valid-at", "2025-04-30", "--who", "dana", "--until", "2025-12-01", "--since", "2025-01-01")))
	require.Empty(t, c.list("--since", "2025-01-01").Items, "it holds no longer")

	r = foreignReport{}
	c.run("import", "--format", "mem0", "testdata/mem0.json", "--json").is(exitPartial).json(&r)
	require.Equal(t, 2, r.Counts[schema.PutUnchanged])
	require.Zero(t, r.Counts[schema.PutCreated], "again it is the same")
	o := c.run("import", "--format", "mem0", "testdata/mem0.json").is(exitPartial)
	require.Contains(t, o.err, "memory 4: created_at")
	require.NotContains(t, o.err+o.out, "secret")
	c.run("import", "--format", "mem0", "testdata/mem0.json", "--strict").is(exitUsage)
	c.run("import", "--format", "mem0", writeFile(t, "not json")).is(exitUsage)
}

// record reads one memory.
func (c *cli) record(id string) schema.MemoryRecord {
	c.t.Helper()
	var m schema.MemoryRecord
	require.NoError(c.t, json.Unmarshal([]byte(c.run("get", id, "--json").is(exitOK).out), &m))
	return m
}

func TestImportMembrane(t *testing.T) {
	c := newCLI(t, testkit.NewHarness(t, nil))
	o := c.run("import", "--format", "membrane", "testdata/membrane.json", "--json").is(exitPartial)
	require.NotContains(t, o.err+o.out, "secret")
	var r foreignReport
	o.json(&r)
	require.Equal(t, []int{6, 2, 4}, []int{r.Read, r.Failed, r.Counts[schema.PutCreated]}, o.out)
	require.Equal(t, map[string]int{"interpretation": 1, "payload.tool_graph.result": 1, "payload.tool_graph.timestamp": 1, "payload.metrics.execution_count": 1, "relations": 1}, r.LeftOut)

	const id = "5f0c2f6e-93a8-4f0e-8f6c-00000000000"
	m := c.record(id + "3")
	require.InDelta(t, 1, m.Salience, 0)
	require.Equal(t, id+"2", m.Supersedes)
	require.Len(t, m.Relations, 2)
	require.Equal(t, "ingestor", m.Provenance.CreatedBy)
	var actions []string
	for _, e := range m.AuditLog {
		actions = append(actions, string(e.Action)+" "+e.Actor+": "+e.Rationale)
	}
	require.Equal(t, []string{"create ana: she said so", "modify membrane: reinforce: used"}, actions[:2])
	old := c.record(id + "2")
	require.Equal(t, schema.StatusRetracted, old.Status)
	require.Equal(t, id+"3", old.SupersededBy)
	episode := c.record(id + "1")
	require.True(t, episode.Lifecycle.Pinned)
	require.JSONEq(t, `{"os": "linux", "working_dir": "/src", "context": {"os_version": "6.1"}}`, string(payloadMember(t, episode, "environment")))
	for _, item := range r.Items {
		if item.ExternalID == "plan-1" {
			require.JSONEq(t, `{"avg_latency_ms": 12.5, "failure_rate": 0.1, "last_used_at": "2025-03-05T10:00:00Z"}`, string(payloadMember(t, c.record(item.ID), "metrics")))
		}
	}
	require.Equal(t, "java", strings.Trim(string(payloadMember(t, old, "object")), `"`))

	// In the other shape of the document, and as the tree that it came with.
	canonical := c.run("get", id+"3", "--shape", "canonical").is(exitOK).out
	require.Contains(t, canonical, `"decay_profile"`)
	again, err := schema.DecodeRecord([]byte(canonical))
	require.NoError(t, err)
	require.Equal(t, id+"3", again.ID)
	require.Equal(t, "shape", c.run("get", id+"3", "--shape", "round", "--json").is(exitUsage).problem().Fields[0].Field)
	tree := c.run("lineage", id+"3").is(exitOK).out
	require.Contains(t, tree, "─ supersedes "+id+"2 retracted")
	require.Contains(t, tree, "─ derived from "+id+"1")
}

func payloadMember(t *testing.T, m schema.MemoryRecord, name string) json.RawMessage {
	t.Helper()
	var payload map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(m.Payload, &payload))
	return payload[name]
}

func TestForeignTime(t *testing.T) {
	for in, want := range map[string]string{
		"2024-07-25T23:57:00.108347-07:00": "2024-07-26T06:57:00.108347Z", "2024-07-25T23:57:00": "2024-07-25T23:57:00Z",
		"2024-07-25 23:57:00.5": "2024-07-25T23:57:00.5Z", "2024-07-25": "2024-07-25T00:00:00Z",
	} {
		at, ok := foreignTime(in)
		require.True(t, ok, in)
		require.Equal(t, want, at.Format(time.RFC3339Nano))
	}
	_, ok := foreignTime("soon")
	require.False(t, ok)
	a, b := importedID("mem0", "x", time.UnixMilli(1_700_000_000_000)), importedID("mem0", "x", time.UnixMilli(1_700_000_000_000))
	require.Equal(t, a, b)
	require.Equal(t, uuid.Version(7), uuid.MustParse(a).Version())
	require.NotEqual(t, a, importedID("mem0", "y", time.UnixMilli(1_700_000_000_000)))
	require.Less(t, a, importedID("mem0", "x", time.UnixMilli(1_700_000_000_001)))
}
