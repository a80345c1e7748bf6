package memory_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

var shapes = map[string]struct {
	kind    schema.SourceKind
	content string
	want    schema.MemoryType
}{
	"numbered steps with commands": {schema.SourceMemory,
		"How to fix the linker error:\n1. Run `go clean -cache`\n2. Rebuild with `make build`\n3. Check the log\nIf " +
			"that fails, reinstall the toolchain", schema.TypeCompetence},
	"bullets with tools": {schema.SourceObservation,
		"Procedure: release\n- Tag the commit (tool: git)\n- Push the image (tool: docker)", schema.TypeCompetence},
	"steps as JSON": {schema.SourceOutcome,
		`{"name": "release", "steps": [{"step": "tag", "tool": "git"}, {"step": "push", "tool": "docker"}]}`,
		schema.TypeCompetence},
	"a task and its state": {schema.SourceObservation,
		"Task: migrate the ledger\nState: blocked\nNext steps:\n- ask Ana for the key\nOpen questions: who owns the " +
			"replica?", schema.TypeWorking},
	"a task in progress": {schema.SourceUserInput, "Thread: t-17\nStatus: in progress", schema.TypeWorking},
	"a task as JSON": {schema.SourceObservation,
		`{"task_id": "t-17", "state": "waiting", "next_actions": ["ask Ana"]}`, schema.TypeWorking},
	"dependencies as arrows": {schema.SourceMemory,
		"Plan: ship the release\nbuild -> test -> deploy\nbuild -> docs", schema.TypePlanGraph},
	"nodes and their dependencies": {schema.SourceMemory,
		"Plan ship: the release\nbuild: make build\ntest: make test (after build)\ndeploy: make deploy (needs build, " +
			"test)", schema.TypePlanGraph},
	"a plan as JSON": {schema.SourceMemory,
		`{"plan_id": "p", "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "test", "depends_on": ["a"]}]}`,
		schema.TypePlanGraph},

	"a tool's output": {schema.SourceToolOutput,
		`{"plan_id": "p", "nodes": [{"id": "a", "op": "x"}, {"id": "b", "op": "y", "depends_on": ["a"]}]}`, ""},
	"a plan with a cycle": {schema.SourceMemory, "Plan: round\na -> b\nb -> a", ""},
	"a shopping list":     {schema.SourceUserInput, "To buy:\n- milk\n- bread\n- figs", ""},
	"one command": {schema.SourceUserInput,
		"To deploy:\n- Run `make release`\n- Tell the team\n- Have a coffee", ""},
	"steps within an answer": {schema.SourceObservation,
		"You can fix it like this:\n1. Run `go clean`\n2. Run `make`\nLet me know whether it works! Maya asked about " +
			"that, too.", ""},
	"a sentence with steps":     {schema.SourceUserInput, "To deploy, run `make release` and then `git tag`.", ""},
	"a task that is done":       {schema.SourceObservation, "Task: migrate\nState: done", ""},
	"a state of something else": {schema.SourceUserInput, "State: Texas\nTask: none", ""},
	"a mail with keys":          {schema.SourceUserInput, "Subject: lunch\nStatus: blocked\nDear all", ""},
	"an arrow in a chat":        {schema.SourceUserInput, "I went Lyon -> Milan\nand it was nice", ""},
	"a plan in words":           {schema.SourceUserInput, "Plan: we go to the lake\nthen we swim", ""},
	"any other object":          {schema.SourceObservation, `{"state": "blocked", "user": "ana"}`, ""},
	"truncated JSON":            {schema.SourceObservation, `{"task_id": "t", "state": "blo`, ""},
}

func TestShapeOf(t *testing.T) {
	t.Parallel()
	for name, c := range shapes {
		s := memory.ShapeOf(c.kind, c.content)
		require.Equal(t, c.want, s.Type, name)
		if c.want != "" {
			require.NoError(t, schema.ValidatePayload(c.want, s.Payload), name)
		}
		in := intake.Admit(schema.Candidate{Content: c.content, SourceKind: c.kind},
			schema.Principal{Tenant: "t", Agent: "a"}, schema.VisibilityPrivate, nil)
		switch {
		case c.want != "":
			tier, typology := memory.Placement(c.want)
			require.Equal(t, []any{c.want, tier, typology},
				[]any{in.Classification.Type, in.Classification.Tier, in.Classification.Typology}, name)
			require.JSONEq(t, string(s.Payload), string(in.Payload), name)
		case c.kind == schema.SourceMemory:
			require.Equal(t, schema.TypeSemantic, in.Classification.Type, name)
		default:
			require.Equal(t, schema.TypeEpisodic, in.Classification.Type, name)
		}
	}
	var p schema.CompetencePayload
	require.NoError(t, json.Unmarshal(memory.ShapeOf(schema.SourceMemory,
		shapes["numbered steps with commands"].content).Payload, &p))
	require.Equal(t, []string{"go", "make"}, p.RequiredTools)
	require.Len(t, p.Recipe, 3)
	require.Equal(t, []string{"reinstall the toolchain"}, p.Fallbacks)
	var plan schema.PlanGraphPayload
	require.NoError(t, json.Unmarshal(memory.ShapeOf(schema.SourceMemory,
		shapes["nodes and their dependencies"].content).Payload, &plan))
	require.Equal(t, []string{"ship", "make deploy"}, []string{plan.PlanID, plan.Nodes[2].Op})
	require.Len(t, plan.Edges, 3)
}

// None of the 500 chat sentences in the extractor's corpus is recognized as a procedure, a plan or a task.
func TestSentencesHaveNoShape(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join("..", "inference", "rules", "testdata", "corpus.jsonl"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var s struct {
			Input string            `json:"input"`
			Kind  schema.SourceKind `json:"source_kind"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		require.Empty(t, memory.ShapeOf(s.Kind, s.Input).Type, s.Input)
	}
	require.Equal(t, 500, n)
}

// A rule overrides the recognized shape in both directions.
func TestARuleOverridesTheShape(t *testing.T) {
	t.Parallel()
	rules, err := policy.Parse([]byte(`rules:
  - {name: howto, when: 'candidate.tags.exists(t, t == "howto")', set: {type: competence}}
  - {name: chat, when: 'candidate.tags.exists(t, t == "chat")', set: {type: episodic}}
  - {name: plan, when: 'candidate.tags.exists(t, t == "plan")', set: {type: plan_graph}}
`))
	require.NoError(t, err)
	admit := func(content, tag string) intake.Intake {
		return intake.Admit(schema.Candidate{Content: content, SourceKind: schema.SourceObservation,
			Tags: []string{tag}}, schema.Principal{Tenant: "t", Agent: "a"}, schema.VisibilityPrivate, rules)
	}
	in := admit("Water the ferns.\nTurn the pots.", "howto")
	require.Equal(t, []any{schema.TypeCompetence, schema.TierPersistent},
		[]any{in.Classification.Type, in.Classification.Tier})
	require.NoError(t, schema.ValidatePayload(schema.TypeCompetence, in.Payload))
	in = admit("Water the ferns.\nTurn the pots.", "plan")
	require.Equal(t, schema.TypePlanGraph, in.Classification.Type)
	require.NoError(t, schema.ValidatePayload(schema.TypePlanGraph, in.Payload))
	in = admit(shapes["bullets with tools"].content, "chat")
	require.Equal(t, schema.TypeEpisodic, in.Classification.Type)
	require.Nil(t, in.Payload)
}
