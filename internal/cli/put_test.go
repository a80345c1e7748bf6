package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

func fact(id, object string) string {
	return fmt.Sprintf(`{"id": %q, "type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": "Ana", "predicate": "prefers_language",
		"object": %q, "validity": {"mode": "global"}}}`, id, object)
}

func event(n int) string {
	return fmt.Sprintf(`{"id": "e%d", "type": "episodic", "confidence": 1, "relations": [{"predicate": "supports", "target_id": "e%d"}],
		"payload": {"kind": "episodic", "timeline": [{"t": "2026-01-01T00:00:00Z", "event_kind": "observation", "ref": "evt://%d"}]}}`, n, max(n-1, 0), n)
}

func (c *cli) put(stdin string, code int, args ...string) exchange.Put {
	c.t.Helper()
	var p exchange.Put
	c.runWith(c.t.Context(), stdin, append([]string{"put", "--json"}, args...)...).is(code).json(&p)
	return p
}

func TestPut(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	one := c.put("", app.ExitOK, writeFile(t, fact("mem-1", "go")), "--reason", "told", "--operation-id", "op")
	require.Equal(t, schema.PutCreated, one.Items[0].Status)
	require.Equal(t, "mem-1", one.Items[0].ExternalID)
	require.Equal(t, one, c.put(fact("mem-1", "go"), app.ExitOK, "-", "--reason", "told", "--operation-id", "op"),
		"the first result")
	var got schema.MemoryRecord
	c.run("get", one.Items[0].ID, "--json").is(app.ExitOK).json(&got)
	require.Equal(t, "Ana prefers language go", got.Content)
	require.Contains(t, c.run("history", one.Items[0].ID).is(app.ExitOK).out, "told")

	// Refused alone, and with others.
	refused := c.runWith(t.Context(), fact("", "rust"), "put", "-").is(app.ExitConflict)
	require.Contains(t, refused.out, one.Items[0].ID)
	require.Contains(t, refused.out, "revise it")
	require.Contains(t, refused.err, "active_fact_exists")
	some := c.put("["+fact("", "rust")+", "+fact("mem-1", "go")+"]", app.ExitPartial, "-")
	require.Equal(t, map[schema.PutStatus]int{schema.PutConflict: 1, schema.PutUnchanged: 1}, some.Counts)
	all := c.put(fact("", "rust")+fact("", "zig"), app.ExitConflict, "-")
	require.Len(t, all.Items, 2)

	// More records than fit into one run; each record refers to the previous one.
	lines := []string{strings.Replace(event(0), `"relations": [{"predicate": "supports", "target_id": "e0"}],`, "", 1)}
	for i := range schema.MaxPutRecords + 4 {
		lines = append(lines, event(i+1))
	}
	many := c.put(strings.Join(lines, "\n"), app.ExitOK, "-")
	require.Len(t, many.Runs, 2)
	require.Equal(t, map[schema.PutStatus]int{schema.PutCreated: schema.MaxPutRecords + 5}, many.Counts)

	waiting := c.put(fact("", "cobol"), app.ExitOK, "-", "--no-wait")
	require.Empty(t, waiting.Items)
	require.Len(t, waiting.Runs, 1)
	require.Contains(t, c.runWith(t.Context(), fact("", "ada"), "put", "-", "--no-wait").is(app.ExitOK).out, "workflow")

	require.Equal(t, schema.PutShadow,
		c.put(event(schema.MaxPutRecords+5), app.ExitConflict, "-", "--mode", "shadow").Items[0].Status)
	for field, input := range map[string]string{
		"record 2: payload.kind": fact("",
			"x") +
			`{"type": "semantic", "confidence": 1, "payload": {"kind": "working", "state": "planning", "thread_id": "t"}}`,
		"record 1: confidence": `{"type": "semantic", "payload": {"kind": "semantic", "subject": "a", "predicate": "b", "object": 1, "validity": {"mode": "global"}}}`,
		"record 1: agent":      strings.Replace(fact("", "x"), "{", `{"agent": "other",`, 1),
		"file":                 "{",
	} {
		require.Equal(t, field, c.runWith(t.Context(), input, "put", "-",
			"--json").is(app.ExitUsage).problem().Fields[0].Field)
	}
	require.Equal(t, "file", c.run("put", writeFile(t, ""), "--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "visibility",
		c.runWith(t.Context(), fact("", "x"), "put", "-", "--json", "--visibility",
			"all").is(app.ExitUsage).problem().Fields[0].Field[len("record 1: "):])
	c.run("put", filepath.Join(t.TempDir(), "none.json")).is(app.ExitUsage)
}

func TestArtifact(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	path := filepath.Join(t.TempDir(), "build.txt")
	require.NoError(t, os.WriteFile(path, []byte("ld: cache mismatch\x00\xff"), 0o600))
	var stored pipeline.Artifact
	c.run("artifact", "put", path, "--json").is(app.ExitOK).json(&stored)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", stored.Address)
	require.Contains(t, stored.MediaType, "text/plain")
	require.Contains(t, c.run("artifact", "put", path, "--address", stored.Address).is(app.ExitOK).out, stored.Address)
	require.Equal(t, "ld: cache mismatch\x00\xff", c.run("artifact", "get", stored.Address).is(app.ExitOK).out)
	into := filepath.Join(t.TempDir(), "out")
	var fetched pipeline.Artifact
	c.run("artifact", "get", stored.Address, "-o", into, "--json").is(app.ExitOK).json(&fetched)
	require.Equal(t, stored, fetched)
	data, err := os.ReadFile(into)
	require.NoError(t, err)
	require.Equal(t, "ld: cache mismatch\x00\xff", string(data))

	c.runWith(t.Context(), "other bytes", "artifact", "put", "-", "--address", stored.Address).is(app.ExitUsage)
	c.run("artifact", "get", "sha256:"+strings.Repeat("0", 64)).is(app.ExitNotFound)
	c.run("artifact", "get", stored.Address, "--agent", "other").is(app.ExitNotFound)
	require.Equal(t, "address", c.run("artifact", "get", "x", "-o", into,
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "output", c.run("artifact", "get", stored.Address,
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	c.run("artifact", "put", filepath.Join(t.TempDir(), uuid.NewString())).is(app.ExitUsage)
}

func TestPutNoteNamesTheProblem(t *testing.T) {
	t.Parallel()
	require.Equal(t, "the id is taken: revise the memory that has it",
		exchange.PutNote(schema.PutItem{Status: schema.PutExists}))
	require.Equal(t, "supersedes: is live",
		exchange.PutNote(schema.PutItem{Status: schema.PutExists, Problem: "supersedes: is live"}))
}
