package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/read"
)

func TestLineageCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("I moved to Porto.", "--source-kind", "user_input", "--speaker", "Dana")
	var fact schema.MemoryRecord
	for _, m := range c.list().Items {
		if m.Type == schema.TypeSemantic {
			fact = m
		}
	}
	require.NotEmpty(t, fact.ID)
	var l read.Lineage
	c.run("lineage", fact.ID, "--json").is(app.ExitOK).json(&l)
	require.Equal(t, fact.ID, l.Root)
	require.Len(t, l.Nodes, 2)
	tree := c.run("lineage", fact.ID).is(app.ExitOK).out
	require.Contains(t, tree, "└─ derived from "+l.Nodes[1].ID)
	require.Contains(t, tree, "by pipeline")
	require.Contains(t, c.run("lineage", l.Nodes[1].ID).is(app.ExitOK).out, "└─ gave rise to "+fact.ID)
	require.Contains(t, c.run("lineage", fact.ID, "--format", "dot").is(app.ExitOK).out,
		"n0 -> n1 [label=\"derived_from\"];")
	require.Contains(t, c.run("lineage", fact.ID, "--format", "mermaid").is(app.ExitOK).out,
		`n0 -- "derived_from" --> n1`)
	c.run("lineage", fact.ID, "--agent", "stranger").is(app.ExitNotFound)
	require.Equal(t, "format", c.run("lineage", fact.ID, "--format", "xml",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "depth", c.run("lineage", fact.ID, "--depth", "0",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	c.run("lineage", "x").is(app.ExitUsage)

	// Before the fact was recorded, there is no version.
	c.run("get", fact.ID, "--as-of", "2020-01-01").is(app.ExitNotFound)
	require.Empty(t, c.list("--as-of", "2020-01-01").Items)
	require.Equal(t, contents(c.list()), contents(c.list("--as-of", "2999-01-01", "--valid-at", "2026-01-01")))
	c.run("list", "--as-of", "noon").is(app.ExitUsage)
	var steps app.Page[schema.HistoryEntry]
	c.run("history", fact.ID, "--limit", "1", "--json").is(app.ExitOK).json(&steps)
	require.Len(t, steps.Items, 1)
	require.Equal(t, schema.AuditCreate, steps.Items[0].Action)
	require.Equal(t, steps.Items[0].ID, steps.Next)
	c.run("history", fact.ID, "--after", steps.Next, "--json").is(app.ExitOK).json(&steps)
	require.Equal(t, "after", c.run("history", fact.ID, "--after", fact.ID,
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
}

func TestRecallInAContext(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	path := writeFile(t, `[
		{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": "Ana", "predicate": "prefers_language", "object": "go",
			"validity": {"mode": "conditional", "conditions": {"project_kind": "backend", "year": 2026}}}},
		{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": "Ana", "predicate": "prefers_language", "object": "python",
			"validity": {"mode": "conditional", "conditions": {"project_kind": ["data", "notebook"]}}}}]`)
	c.run("put", path, "--reason", "a test").is(app.ExitOK)
	texts := func(args ...string) string {
		var out []string
		for _, r := range c.recall(append([]string{"which language does Ana prefer"}, args...)...).Results {
			out = append(out, r.Content)
		}
		return strings.ToLower(strings.Join(out, "|"))
	}
	require.Contains(t, texts(), "go")
	require.Contains(t, texts(), "python")
	require.NotContains(t, texts("--context", "project_kind=backend"), "python")
	require.NotContains(t, texts("--context", "project_kind=notebook"), "go")
	require.Contains(t, texts("--context", "colour=red"), "python")
	require.Empty(t, texts("--context", "project_kind=backend", "--context", "year=2025"))
	require.Contains(t, texts("--context", "project_kind=backend", "--context", "year=2026"), "go")
	require.Contains(t, c.run("recall", "language", "--context", "project_kind=data", "--format",
		"prompt").is(app.ExitOK).out, `(if {"project_kind": ["data", "notebook"]})`)
	require.Equal(t, "context", c.run("recall", "x", "--context", "red",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "valid_at", c.run("recall", "x", "--valid-at", "red",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
}

// Content can neither end a label nor start an element.
func TestLineageDrawingsAreEscaped(t *testing.T) {
	t.Parallel()
	nasty := "\"]; click n0 \"javascript:alert(1)\"\n\\N \\\" --> <b>#quot;`|{}[]()%% ü"
	l := read.Lineage{Root: "a", Nodes: []read.LineageNode{{ID: "a", Content: nasty, Category: "fact",
		Status: "active"}, {ID: "b", Withheld: true}},
		Edges: []read.LineageEdge{{From: "a", Predicate: "derived_from", To: "b", Reason: nasty}}}
	var mermaid, dot, tree app.Text
	memories.LineageMermaid(&mermaid, l)
	for _, line := range strings.Split(strings.TrimSpace(mermaid.Buf.String()), "\n")[1:3] {
		require.Regexp(t, `^  n\d\["[\p{L}\p{N} .,:_#;-]*"\]$`, line)
	}
	memories.LineageDOT(&dot, l)
	require.Regexp(t, `(?m)^  n0 \[label="([^"\\]|\\\\|\\")*"\];$`, dot.Buf.String())
	require.Equal(t, 6, strings.Count(dot.Buf.String(), "\n"))
	memories.LineageTree(&tree, l)
	require.Equal(t, 3, strings.Count(tree.Buf.String(), "\n"), tree.Buf.String())
	require.Contains(t, tree.Buf.String(), "b (withheld)")
}
