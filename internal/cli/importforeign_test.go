package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/transfer"
)

func TestImportMem0(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	var r exchange.ForeignReport
	c.run("import", "--format", "mem0", "testdata/mem0.json", "--json").is(app.ExitPartial).json(&r)
	require.Equal(t, []int{4, 2, 2}, []int{r.Read, r.Failed, r.Counts[schema.PutCreated]})
	require.Equal(t, map[string]int{"metadata.nested": 1, "score": 1}, r.LeftOut)
	require.Equal(t, []int{3, 4}, []int{r.Errors[0].Line, r.Errors[1].Line})

	m := c.record(r.Items[0].ID)
	require.Equal(t, "Dana is allergic to nuts", m.Content)
	require.Equal(t, "dana", m.Who)
	require.Equal(t, "run-7", m.Session)
	require.Equal(t, "user/dana", m.Scope)
	require.ElementsMatch(t, []string{"health", "food", "agent_id=chef", "source=onboarding", "verified=true"}, m.Tags)
	require.True(t, m.CreatedAt.Equal(time.Date(2024, 7, 26, 6, 57, 0, 108347000, time.UTC)))
	require.True(t, m.UpdatedAt.Equal(time.Date(2024, 8, 1, 17, 0, 0, 0, time.UTC)))
	require.Equal(t, "mem0:f38b689d-6b24-45b7-bced-17fbb4d8bac7", m.Provenance.Sources[0].Ref)
	require.Equal(t, "8ae61a6ee8bd8b0bfe1d2d2e5a1a2b0c", m.Provenance.Sources[0].Hash)
	require.Equal(t, "0190edd4", m.ID[:8], "ids are ordered by time")
	var payload schema.SemanticPayload
	m = c.record(r.Items[1].ID)
	require.NoError(t, json.Unmarshal(m.Payload, &payload))
	require.Equal(t, schema.ValidTimeboxed, payload.Validity.Mode)
	require.Equal(t, schema.PolicyContest, payload.RevisionPolicy)
	require.Equal(t, []string{"Dana is travelling until May"},
		contents(c.list("--user", "dana", "--valid-at", "2025-04-30", "--who", "dana", "--until", "2025-12-01",
			"--since", "2025-01-01")))
	require.Empty(t, c.list("--user", "dana", "--since", "2025-01-01").Items, "no longer valid")
	require.Empty(t, c.list("--user", "tom", "--valid-at", "2025-04-30").Items)

	r = exchange.ForeignReport{}
	c.run("import", "--format", "mem0", "testdata/mem0.json", "--json").is(app.ExitPartial).json(&r)
	require.Equal(t, 2, r.Counts[schema.PutUnchanged])
	require.Zero(t, r.Counts[schema.PutCreated], "the second import changes nothing")
	o := c.run("import", "--format", "mem0", "testdata/mem0.json").is(app.ExitPartial)
	require.Contains(t, o.err, "memory 4: created_at")
	require.NotContains(t, o.err+o.out, "secret")
	c.run("import", "--format", "mem0", "testdata/mem0.json", "--strict").is(app.ExitUsage)

	// For one user, memories of others are left out. An explicit scope includes all of them.
	r = exchange.ForeignReport{}
	mixed := `{"id":"m1","memory":"Tom likes tea","user_id":"tom"} {"id":"m2","memory":"Dana likes tea","user_id":"dana"} {"id":"m3","memory":"Somebody likes tea"}`
	c.runWith(t.Context(), mixed, "import", "--format", "mem0", "-", "--user", "tom",
		"--json").is(app.ExitPartial).json(&r)
	require.Equal(t, []exchange.LineError{{Line: 2,
		Fields: []schema.FieldError{{Field: "user_id", Problem: "is not the principal's"}}}}, r.Errors)
	require.ElementsMatch(t, []string{"Tom likes tea", "Somebody likes tea"}, contents(c.list("--user", "tom")))
	c.runWith(t.Context(), strings.ReplaceAll(mixed, `"id":"m`, `"id":"n`), "import", "--format", "mem0", "-",
		"--scope", "cafe").is(app.ExitOK)
	require.Len(t, c.list("--scope", "cafe").Items, 3)
	spaced := `{"id":"m4","memory":"Tom likes tea","user_id":"tom/7 "}`
	r = exchange.ForeignReport{}
	c.runWith(t.Context(), spaced, "import", "--format", "mem0", "-", "--json").is(app.ExitPartial).json(&r)
	require.Equal(t, "user_id", r.Errors[0].Fields[0].Field)
	c.run("import", "--format", "mem0", writeFile(t, "not json")).is(app.ExitUsage)
}

// A memory that cannot become a record is reported with its number and the other system's name of the field, without
// the value. The other memories are imported.
func TestImportMem0ReportsErrors(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	long := strings.Repeat("secret", 1000)
	lines := []string{
		`{"id":"ok","memory":"Dana is allergic to nuts","colour":"red","metadata":null,"expiration_date":"","categories":null}`,
		`{"id":7,"memory":{"text":"secret"}}`,
		`{"id":"a","memory":"x","metadata":"secret","categories":"secret","immutable":"yes","updated_at":"noon","created_at":12,"expiration_date":5,"hash":7,"user_id":9}`,
		`{"id":"b","memory":"` + strings.Repeat("secret ", 150_000) + `"}`,
		`{"id":"c","text":"secret \u0000"}`,
		`{"id":"d","memory":"x","user_id":"` + long + `","run_id":"` + long + `","hash":"` + long + `"}`,
		`{"id":"` + long + `","memory":"x"}`,
		`{"id":"ok","memory":"Dana is allergic to secrets"}`,
		`["secret"]`, `{"memory":"secret"}`, `{"id":"e","memory":" "}`,
	}
	var r exchange.ForeignReport
	o := c.runWith(t.Context(), strings.Join(lines, "\n"), "import", "--format", "mem0", "-",
		"--json").is(app.ExitPartial)
	o.json(&r)
	require.NotContains(t, o.out+o.err, "secret")
	got := map[int][]string{}
	for _, e := range r.Errors {
		for _, f := range e.Fields {
			got[e.Line] = append(got[e.Line], f.Field)
		}
	}
	require.Equal(t, map[int][]string{2: {"id", "memory"},
		3: {"categories", "created_at", "expiration_date", "hash", "immutable", "metadata", "updated_at", "user_id"},
		4: {"memory"}, 5: {"text"}, 6: {"user_id", "run_id", "hash", "user_id"}, 7: {"id"}, 8: {"id"}, 9: {"(memory)"},
		10: {"id"}, 11: {"memory"}}, got)
	require.Equal(t, []int{11, 10, 1}, []int{r.Read, r.Failed, r.Counts[schema.PutCreated]})
	require.Equal(t, map[string]int{"colour": 1}, r.LeftOut)
	require.Equal(t, "must be at most 262144 bytes, got 1050000", r.Errors[2].Fields[0].Problem)

	for _, format := range []string{"mem0", "membrane"} {
		for in, problem := range map[string]string{"": "contains no record", " \n": "contains no record",
			"[]": "contains no record", "{\"id\":\"a\"}\n{\"id\":": "is not JSON at or after line 1",
			"{\"id\":\"\xff\"}": "is not valid UTF-8"} {
			fields := c.runWith(t.Context(), in, "import", "--format", format, "-",
				"--json").is(app.ExitUsage).problem().Fields
			require.Equal(t, []schema.FieldError{{Field: "file", Problem: problem}}, fields, in)
		}
	}
	twice := `{"id":"5f0c2f6e-93a8-4f0e-8f6c-000000000003","type":"semantic","sensitivity":"low","confidence":1,"payload":{"kind":"semantic","subject":"Ana","predicate":"states","object":"x","validity":{"mode":"global"}}}`
	r = exchange.ForeignReport{}
	c.runWith(t.Context(), twice+twice, "import", "--format", "membrane", "-", "--json").is(app.ExitPartial).json(&r)
	require.Equal(t, []int{2, 1, 1}, []int{r.Read, r.Failed, r.Counts[schema.PutCreated]})
	require.Equal(t, "is also the id of memory 1", r.Errors[0].Fields[0].Problem)
}

// docs/import.md names every field and every kind of line, and shows the output of the commands.
func TestImportDocumentation(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "import.md"))
	require.NoError(t, err)
	text := string(data)
	names := regexp.MustCompile("`([^`]+)`")
	// table lists the first column of the table with a given header.
	table := func(header string) (out []string) {
		_, rows, found := strings.Cut(text, "\n| "+header+" |")
		require.True(t, found, header)
		for i, row := range strings.Split(rows, "\n") {
			if i < 2 {
				continue // the rest of the header and the line below it
			}
			if !strings.HasPrefix(row, "|") {
				break
			}
			for _, m := range names.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
				out = append(out, m[1])
			}
		}
		return out
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(exchange.Mem0Fields)), table("field | form"))
	for name, form := range exchange.Mem0Fields {
		require.Contains(t, text, "\n| `"+name+"` | "+form.Want, "its form")
	}
	require.ElementsMatch(t, exchange.MembraneFields, table("field | becomes"))
	require.ElementsMatch(t, append(slices.Collect(maps.Keys(exchange.MembraneInverse)), "contests"), table("relation"))
	require.Equal(t, []string{transfer.LineHeader, transfer.LineArtifact, transfer.LineMemory, transfer.LineHistory,
		transfer.LineEvent, transfer.LineTopic, transfer.LineEnd}, table("`kind`"))
	require.ElementsMatch(t, []string{transfer.ConflictDifferent, transfer.ConflictDuplicate, transfer.ConflictFact,
		transfer.ConflictExternal, transfer.ConflictForgotten}, table("conflict"))
	line := table("field of a `memory` line")
	for _, of := range []reflect.Type{reflect.TypeFor[transfer.ExportLine](),
		reflect.TypeFor[transfer.ExportArtifact](), reflect.TypeFor[transfer.ExportCounts](),
		reflect.TypeFor[transfer.ExportRelation](),
		reflect.TypeFor[exchange.Restored]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			require.Contains(t, text, "`"+name+"`", of.Name())
			line = slices.DeleteFunc(line, func(s string) bool { return s == name })
		}
	}
	require.Empty(t, line, "no line of an export has these")
	require.Contains(t, text, "at most "+strconv.Itoa(schema.MaxContentBytes>>10)+" KiB")
	require.Contains(t, text, "at most "+strconv.Itoa(exchange.MaxPutInput>>20)+" MiB")
	require.Contains(t, text, "at most "+strconv.Itoa(schema.MaxRefLength)+" characters")
	require.Contains(t, text, "up to "+strconv.Itoa(exchange.RestoreLines)+" lines")
	require.Contains(t, text, "`confidence` "+strconv.FormatFloat(exchange.Mem0Confidence, 'g', -1, 64)+" ")

	c := newCLI(t, harness.New(t, nil))
	for _, format := range []string{"mem0", "membrane"} {
		o := c.run("import", "--format", format, "testdata/"+format+".json").is(app.ExitPartial)
		require.Contains(t, text, "$ mneme import --format "+format+" internal/cli/testdata/"+format+".json\n"+o.out+
			o.err+"```")
	}
}

// record reads one memory.
func (c *cli) record(id string) schema.MemoryRecord {
	c.t.Helper()
	var m schema.MemoryRecord
	require.NoError(c.t, json.Unmarshal([]byte(c.run("get", id, "--json").is(app.ExitOK).out), &m))
	return m
}

func TestImportMembrane(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	o := c.run("import", "--format", "membrane", "testdata/membrane.json", "--json").is(app.ExitPartial)
	require.NotContains(t, o.err+o.out, "secret")
	var r exchange.ForeignReport
	o.json(&r)
	require.Equal(t, []int{6, 2, 4}, []int{r.Read, r.Failed, r.Counts[schema.PutCreated]}, o.out)
	require.Equal(t, map[string]int{"interpretation": 1, "payload.tool_graph.result": 1,
		"payload.tool_graph.timestamp": 1, "payload.metrics.execution_count": 1, "relations": 1}, r.LeftOut)

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
	require.Equal(t, []schema.Ref{{Kind: "event", Ref: "membrane:" + id + "2"}}, proposals.PayloadEvidence(old.Payload),
		"imported without evidence")
	require.Equal(t, "obs-2", proposals.PayloadEvidence(m.Payload)[0].Ref)
	episode := c.record(id + "1")
	require.True(t, episode.Lifecycle.Pinned)
	require.JSONEq(t, `{"os": "linux", "working_dir": "/src", "context": {"os_version": "6.1"}}`,
		string(payloadMember(t, episode, "environment")))
	for _, item := range r.Items {
		if item.ExternalID == "plan-1" {
			require.JSONEq(t, `{"avg_latency_ms": 12.5, "failure_rate": 0.1, "last_used_at": "2025-03-05T10:00:00Z"}`,
				string(payloadMember(t, c.record(item.ID), "metrics")))
		}
	}
	require.Equal(t, "java", strings.Trim(string(payloadMember(t, old, "object")), `"`))

	// In the other shape of the document, and as its original tree.
	canonical := c.run("get", id+"3", "--shape", "canonical").is(app.ExitOK).out
	require.Contains(t, canonical, `"decay_profile"`)
	again, err := schema.DecodeRecord([]byte(canonical))
	require.NoError(t, err)
	require.Equal(t, id+"3", again.ID)
	require.Equal(t, "shape", c.run("get", id+"3", "--shape", "round",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	tree := c.run("lineage", id+"3").is(app.ExitOK).out
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
	t.Parallel()
	for in, want := range map[string]string{
		"2024-07-25T23:57:00.108347-07:00": "2024-07-26T06:57:00.108347Z",
		"2024-07-25T23:57:00":              "2024-07-25T23:57:00Z",
		"2024-07-25 23:57:00.5":            "2024-07-25T23:57:00.5Z", "2024-07-25": "2024-07-25T00:00:00Z",
	} {
		at, ok := exchange.ForeignTime(in)
		require.True(t, ok, in)
		require.Equal(t, want, at.Format(time.RFC3339Nano))
	}
	_, ok := exchange.ForeignTime("soon")
	require.False(t, ok)
	a, b := exchange.ImportedID("mem0", "x", time.UnixMilli(1_700_000_000_000)), exchange.ImportedID("mem0", "x",
		time.UnixMilli(1_700_000_000_000))
	require.Equal(t, a, b)
	require.Equal(t, uuid.Version(7), uuid.MustParse(a).Version())
	require.NotEqual(t, a, exchange.ImportedID("mem0", "y", time.UnixMilli(1_700_000_000_000)))
	require.Less(t, a, exchange.ImportedID("mem0", "x", time.UnixMilli(1_700_000_000_001)))
}
