package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/transfer"
)

func TestExportAndImportRestore(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("Dana prefers tabs over spaces.", "--tag", "style")
	c.remember("The CI server runs in Frankfurt.", "--tag", "ops")
	c.remember("The deploy token of the vault is long.", "--sensitivity", "high")
	before := c.recall("where does the CI server run", "--max-sensitivity", "high", "--authenticated")
	require.NotEmpty(t, before.Results)

	path := filepath.Join(t.TempDir(), "all.jsonl")
	var out exchange.Exported
	c.run("export", "--all-agents", "--include-deleted", "-o", path, "--json").is(app.ExitOK).json(&out)
	require.Equal(t, path, out.File)
	require.GreaterOrEqual(t, out.Memories, 3)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, out.Memories+2, strings.Count(string(data), "\n"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	streamed := c.run("export", "--all-agents", "--include-deleted").is(app.ExitOK)
	require.Equal(t, strings.Count(string(data), "\n"), strings.Count(streamed.out, "\n"))
	require.Contains(t, streamed.err, "memories and 0 artifacts")
	require.NotContains(t, c.run("export", "--tag", "ops").is(app.ExitOK).out, "tabs")
	require.Contains(t, c.run("export").is(app.ExitOK).out, "vault", "whatever its sensitivity")
	require.NotContains(t, c.run("export", "--max-sensitivity", "low").is(app.ExitOK).out, "vault")

	// Into an empty tenant, from a file and from a stream; the second import changes nothing.
	from := c.cfg.Principal.Tenant
	for _, stdin := range []bool{false, true} {
		c.cfg.Principal.Tenant = "other-" + uuid.NewString()
		var r exchange.Restored
		if stdin {
			c.runWith(t.Context(), string(data), "import", "-", "--json").is(app.ExitOK).json(&r)
		} else {
			c.run("import", path, "--json").is(app.ExitOK).json(&r)
		}
		require.Equal(t, out.Memories, r.Restored)
		require.Empty(t, r.Conflicts)
		require.False(t, r.CutOff)
		c.run("import", path, "--json").is(app.ExitOK).json(&r)
		require.Equal(t, []int{0, out.Memories}, []int{r.Restored, r.Unchanged})
		after := c.recall("where does the CI server run", "--max-sensitivity", "high", "--authenticated")
		require.Equal(t, before.Results[0].ID, after.Results[0].ID)
		require.Equal(t, before.Results[0].Content, after.Results[0].Content)
	}

	// Stored memories are not overwritten, and are reported.
	id := before.Results[0].ID
	c.run("modify", id, "--who", "somebody else", "--reason", "a test").is(app.ExitOK)
	o := c.run("import", path, "--json").is(app.ExitConflict)
	var r exchange.Restored
	o.json(&r)
	require.Equal(t, []transfer.RestoreConflict{{ID: id, Reason: transfer.ConflictDifferent}}, r.Conflicts)
	require.Contains(t, c.run("import", path).is(app.ExitConflict).out, id)
	c.cfg.Principal.Tenant = from

	for field, args := range map[string][]string{"type": {"--type", "dream"}, "since": {"--since", "noon"}} {
		require.Equal(t, field, c.run(append([]string{"export", "--json"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	c.run("export", "-o", "/no/such/directory/x").is(app.ExitUsage)
	c.run("export", "--read-policy", "shared").is(app.ExitUsage)
}

// everything fills a tenant with all commands: the pipeline, put, modify, revise, review, forget in every mode, erase
// and recover, of two agents and in a scope. It returns the ids of some memories.
func (c *cli) everything() map[string]string {
	c.t.Helper()
	why := []string{"--reason", "a test", "--evidence", "human=Mia"}
	c.remember("Alice works at Acme in Lisbon.", "--tag", "people", "--ref", "event=chat/1", "--session", "s-1")
	c.remember("I live in Lisbon.", "--source-kind", "user_input", "--speaker", "Dana")
	c.remember("<b>Tea</b> & scones\tare served at \u201cfour\u201d \U0001F375.", "--sensitivity", "high",
		"--visibility", "shared")
	c.preference("Dana")
	c.decision(app.ExitOK, "approve", c.preference("Karl").ProposalID)

	golang := c.putFact("go")
	fork := c.revise(app.ExitOK, append([]string{"fork", golang, "--object", "python", "--conditions",
		`{"kind":"data"}`, "--target-conditions", `{"kind":"backend"}`}, why...)...)
	c.revise(app.ExitOK, append([]string{"contest", fork.Created[0], "--object", "julia", "--conditions",
		`{"kind":"data"}`}, why...)...)
	rust := c.revise(app.ExitOK, append([]string{"supersede", fork.Created[1], "--object", "rust", "--valid-until",
		"2030-01-01"}, why...)...).Created[0]
	gone := c.remember("The old project used Subversion.").MemoryIDs[0]
	c.revise(app.ExitOK, append([]string{"retract", gone}, why...)...)
	var artifact pipeline.Artifact
	o := c.runWith(c.t.Context(), "a log\x00 with bytes", "artifact", "put", "-", "--json").is(app.ExitOK)
	require.NoError(c.t, json.Unmarshal([]byte(o.out), &artifact))
	var episode, skill exchange.Put
	c.run("put", writeFile(c.t, `{"type": "episodic", "confidence": 1, "payload": {"kind": "episodic", "artifacts": ["`+
		artifact.Address+`"],
		"timeline": [{"t": "2026-01-01T00:00:00.123456Z", "event_kind": "observation", "ref": "e1", "summary": "the build failed"}]}}`), "--json").is(app.ExitOK).json(&episode)
	c.run("put",
		writeFile(c.t,
			`[{"id": "elsewhere-7", "type": "competence", "confidence": 0.7, "payload": {"kind": "competence", "skill_name": "fix_linker",
			"triggers": [{"signal": "ld: cache mismatch"}], "recipe": [{"step": "Clear the cache"}]}, "relations": [{"predicate": "derived_from", "target_id": "`+episode.Items[0].ID+`"}]},
		{"type": "working", "confidence": 1, "payload": {"kind": "working", "thread_id": "t", "state": "planning"}}]`),
		"--json", "--scope", "ops").is(app.ExitOK).json(&skill)

	tea := c.remember("Tea is served hot.").MemoryIDs[0]
	c.run("modify", tea, "--content", "Tea is served cold.", "--tag", "drinks", "--pin", "--reason",
		"summer").is(app.ExitOK)
	soft, force, erased, back := c.remember("Coffee is served black.").MemoryIDs[0], c.remember("Milk is " +
		"sour.").MemoryIDs[0],
		c.remember("The combination of the safe is pomegranate.").MemoryIDs[0], c.remember("Water is wet.").MemoryIDs[0]
	c.forget(app.ExitOK, soft, back, "--execute")
	c.forget(app.ExitOK, force, "--mode", "force", "--yes")
	c.run("erase", erased, "--reason", "asked for", "--yes").is(app.ExitOK)
	c.run("recover", back, "--reason", "a mistake").is(app.ExitOK)
	c.remember("Another agent knows this.", "--agent", "agent-2", "--project", "p")
	c.recall("when is tea served", "--max-sensitivity", "high", "--authenticated")
	return map[string]string{"rust": rust, "tea": tea, "soft": soft, "force": force, "erased": erased,
		"skill": skill.Items[0].ID}
}

// tables reads the exported rows of every table, without the tenant's name.
func tables(t *testing.T, databaseURL, tenant string) map[string][]string {
	t.Helper()
	db, out := testkit.Owner(t, databaseURL), map[string][]string{}
	for table, order := range map[string]string{
		"memories": "id", "memory_access": "memory_id", "memory_history": "memory_id, seq",
		"memory_versions": "memory_id, version", "memory_links": "source_id, predicate, target_id",
		"memory_provenance": "memory_id, position", "entity_claims": "memory_id, subject, predicate",
		"entities": "canonical_name", "entity_relations": "source_id, relationship, target_id",
		"memory_entity_mentions":  "memory_id, entity_id",
		"entity_relation_sources": "memory_id, source_id, relationship, target_id", "artifacts": "sha256",
		"memory_artifacts": "memory_id, sha256", "artifact_holders": "sha256, agent_id, scope",
		"lexeme_stats": "lexeme", "corpus_stats": "tenant",
	} {
		filter := map[string]string{"lexeme_stats": " AND docs <> 0", "entities": " AND mentions > 0",
			"entity_relations": " AND mentions > 0"}[table]
		rows, err := db.Query(t.Context(),
			`SELECT ((to_jsonb(x) - '{tenant,seq,embedding_id}'::text[])#-'{record,tenant}')::text FROM `+table+
				` x WHERE tenant = $1`+filter+` ORDER BY `+order, tenant)
		require.NoError(t, err)
		out[table], err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.NotEmpty(t, out[table], table)
	}
	return out
}

// Everything that the commands store is restored in another database and in another tenant: row by row, and as the
// commands show it.
func TestExportAndImportOfAllCommands(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	ids := c.everything()
	path := filepath.Join(t.TempDir(), "all.jsonl")
	var out exchange.Exported
	c.run("export", "--all-agents", "--include-deleted", "-o", path, "--json").is(app.ExitOK).json(&out)
	require.Equal(t, 1, out.Artifacts)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(data), "pomegranate", "what is erased is in no export")
	want := tables(t, h.DatabaseURL, c.cfg.Principal.Tenant)

	from, at := c.cfg.Principal.Tenant, time.Now().Format(time.RFC3339Nano)
	shown := func(c *cli) (out []string) {
		for _, args := range [][]string{{"list", "--max-sensitivity", "hyper", "--authenticated"},
			{"list", "--scope", "ops"}, {"get", ids["rust"]}, {"history", ids["rust"]}, {"history", ids["erased"]},
			{"history", ids["force"]},
			{"history", ids["tea"]}, {"lineage", ids["rust"]}, {"lineage", ids["skill"], "--scope", "ops"},
			{"contradictions"}, {"list", "--as-of", at}} {
			o := c.run(append(args, "--json")...).is(app.ExitOK)
			out = append(out, strings.NewReplacer(from, "TENANT", c.cfg.Principal.Tenant, "TENANT").Replace(o.out))
		}
		return out
	}
	was := shown(c)
	for _, test := range []struct {
		name, tenant string
		h            *harness.Harness
	}{{"another database", c.cfg.Principal.Tenant, harness.New(t, nil)},
		{"another tenant", "other-" + uuid.NewString(), h}} {
		to := *c
		to.cfg.DatabaseURL, to.cfg.TaskQueue, to.cfg.Principal.Tenant = test.h.DatabaseURL, test.h.TaskQueue, test.tenant
		var r exchange.Restored
		to.run("import", path, "--json").is(app.ExitOK).json(&r)
		require.Equal(t, []int{out.Memories, out.Memories, 0, 0}, []int{r.Memories, r.Restored, r.Dangling, r.Failed},
			test.name)
		got := tables(t, test.h.DatabaseURL, test.tenant)
		for table := range want {
			require.Equal(t, want[table], got[table], test.name+": "+table)
		}
		require.Equal(t, was, shown(&to), test.name)
		// Deleted memories can be recovered, current ones can be revised, and erased ones stay erased.
		to.run("recover", ids["soft"], "--reason", "it was mine").is(app.ExitOK)
		to.run("recover", ids["erased"], "--reason", "r").is(app.ExitConflict)
		to.run("revise", "supersede", ids["rust"], "--object", "zig", "--reason", "r", "--evidence",
			"human=Mia").is(app.ExitOK)
		to.run("import", path).is(app.ExitConflict)
	}
}

func TestExportNarrowed(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	ids := c.everything()
	exported := func(args ...string) (out []string) {
		lines := strings.Split(strings.TrimSpace(c.run(append([]string{"export"}, args...)...).is(app.ExitOK).out),
			"\n")
		var end transfer.ExportLine
		for i, encoded := range lines {
			line, err := transfer.DecodeExportLine([]byte(encoded))
			require.NoError(t, err)
			require.Equal(t, i == 0, line.Kind == transfer.LineHeader)
			if line.Kind == transfer.LineMemory {
				out = append(out, line.Record.ID)
			}
			end = line
		}
		require.Equal(t, transfer.LineEnd, end.Kind)
		require.Equal(t, len(out), end.Counts.Memories)
		return out
	}
	all := exported()
	require.Contains(t, all, ids["skill"], "of every scope")
	require.NotContains(t, all, ids["soft"])
	require.NotContains(t, all, ids["erased"])
	require.Subset(t, exported("--include-deleted"), []string{ids["soft"], ids["erased"]})
	require.Len(t, exported("--agent", "agent-2"), 1)
	require.Len(t, exported("--all-agents"), len(all)+1)
	require.Equal(t, []string{ids["skill"]}, exported("--type", "competence"))
	require.Equal(t, []string{ids["tea"]}, exported("--tag", "drinks"))
	require.Equal(t, []string{ids["tea"]}, exported("--pinned"))
	require.Len(t, exported("--scope", "ops"), 2)
	require.Empty(t, exported("--project", "elsewhere"))
	require.Empty(t, exported("--since", "2099-01-01"))
	require.Len(t, exported("--max-sensitivity", "medium"), len(all)-1)

	// A partial export is consistent: relations to memories outside of it are left out and counted.
	path := writeFile(t, c.run("export", "--type", "competence").is(app.ExitOK).out)
	c.cfg.Principal.Tenant = "other-" + uuid.NewString()
	var r exchange.Restored
	c.run("import", path, "--json").is(app.ExitOK).json(&r)
	require.Equal(t, []int{1, 1, 1}, []int{r.Memories, r.Restored, r.Dangling})
	require.Contains(t, c.run("import", path).is(app.ExitOK).out, "1 relations lead to memories that do not exist")
}

func TestImportOfADamagedExport(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("Dana prefers tabs over spaces.")
	c.remember("The CI server runs in Frankfurt.")
	lines := strings.Split(strings.TrimSpace(c.run("export").is(app.ExitOK).out), "\n")
	elsewhere := func() { c.cfg.Principal.Tenant = "other-" + uuid.NewString() }

	elsewhere()
	bad := append([]string{lines[0], strings.Replace(lines[1], `"confidence":1`, `"confidence":7`, 1)}, lines[2:]...)
	path := writeFile(t, strings.Join(bad, "\n"))
	o := c.run("import", path, "--json").is(app.ExitPartial)
	var r exchange.Restored
	o.json(&r)
	require.Equal(t, 1, r.Failed)
	require.Equal(t, 2, r.Errors[0].Line)
	require.Equal(t, "record.confidence", r.Errors[0].Fields[0].Field)
	require.Equal(t, r.Memories, r.Restored)
	elsewhere()
	require.Equal(t, "line 2: record.confidence",
		c.run("import", path, "--json", "--strict").is(app.ExitUsage).problem().Fields[0].Field)
	require.Empty(t, c.list().Items)

	c.run("import", writeFile(t, strings.Join(lines[:2], "\n")), "--json").is(app.ExitPartial).json(&r)
	require.True(t, r.CutOff)
	require.Equal(t, 1, r.Restored)
	c.run("import", writeFile(t, strings.Join(lines[:2], "\n")), "--strict").is(app.ExitUsage)

	elsewhere()
	require.Equal(t, "version", c.run("import", writeFile(t, `{"kind":"header","format":"mneme-export","version":9}`),
		"--json").is(app.ExitUsage).problem().Fields[0].Field)

	// A file in which memories supersede each other in a cycle is refused as a whole.
	var ids []string
	for _, line := range lines[1 : len(lines)-1] {
		var m transfer.ExportLine
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
	o = c.run("import", writeFile(t, strings.Join(circle, "\n")), "--json").is(app.ExitUsage)
	require.Contains(t, o.problem().Fields[0].Problem, "superseded itself")
	require.Empty(t, c.list().Items)
}

// A line that only the database refuses is left out like any other bad line. Earlier lines stay restored, and the exit
// code reports it.
func TestImportOfLinesThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("Dana prefers tabs over spaces.")
	c.remember("The CI server runs in Frankfurt.")
	c.remember("The coffee machine is on the second floor.")
	lines := strings.Split(strings.TrimSpace(c.run("export").is(app.ExitOK).out), "\n")
	memories := len(lines) - 2
	require.Greater(t, memories, 2)
	elsewhere := func() { c.cfg.Principal.Tenant = "other-" + uuid.NewString() }
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &line))
	line["columns"].(map[string]any)["content_hash"] = `\x00`
	refused, err := json.Marshal(line)
	require.NoError(t, err)

	file := []string{lines[0]}
	for range exchange.RestoreLines { // a good batch
		file = append(file, lines[1])
	}
	path := writeFile(t, strings.Join(append(append(file, string(refused)), lines[3:]...), "\n"))
	elsewhere()
	o := c.run("import", path, "--json").is(app.ExitPartial)
	var r exchange.Restored
	o.json(&r)
	require.Equal(t, []int{memories - 1, 1}, []int{r.Restored, r.Failed})
	require.Equal(t, exchange.RestoreLines+2, r.Errors[0].Line)
	require.Contains(t, r.Errors[0].Fields[0].Problem, "content_hash")
	require.Len(t, c.list().Items, memories-1)

	elsewhere()
	o = c.run("import", path, "--strict").is(app.ExitPartial)
	require.Contains(t, o.err, fmt.Sprintf("line %d: ", exchange.RestoreLines+2))
	require.Len(t, c.list().Items, 1)

	elsewhere()
	require.Contains(t, c.run("import", writeFile(t, lines[0]+"\n"+string(refused)+"\n"+lines[len(lines)-1]),
		"--strict").is(app.ExitUsage).err, "line 2: ")
	require.Empty(t, c.list().Items)
}
