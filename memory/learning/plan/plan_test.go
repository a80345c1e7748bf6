package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/plan"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func shell(id, cmd string, needs ...string) trace.Step {
	return trace.Step{ID: id, Tool: "shell", Took: time.Second, DependsOn: needs,
		Args: map[string]trace.Scalar{"cmd": {Text: cmd, Type: "string"}}}
}

func setup(n int, language string, steps ...trace.Step) trace.Attempt {
	return trace.Attempt{ID: fmt.Sprintf("ep%d#1", n), Episode: fmt.Sprintf("ep%d", n),
		At: start.Add(time.Duration(n) * time.Hour), Intent: "Set up my project", Outcome: "success",
		Source: trace.Source{Agent: "a", Session: fmt.Sprint(n), Witnessed: true, Trust: 1},
		Situation: trace.Situation{WorkingDir: fmt.Sprintf("/w/p%d", n),
			Context: map[string]string{"language": language}},
		Steps: steps}
}

func goProject(n int) trace.Attempt {
	a := setup(n, "go", shell("1", "git init"), shell("2", fmt.Sprintf("go mod init /w/p%d", n)),
		shell("3", fmt.Sprintf("deploy token-%d", 1000+n), "2"))
	a.Steps[1].Results = map[string]string{"token": fmt.Sprintf("token-%d", 1000+n)}
	return a
}

func pythonProject(n int) trace.Attempt {
	return setup(n, "python", shell("1", "git init"), shell("2", "uv init"), shell("3", "uv add ruff"),
		shell("4", "pytest"))
}

func learn(t require.TestingT, known []plan.Record, skills []plan.Skill, attempts ...trace.Attempt) []plan.Delta {
	var g promote.Group
	for _, a := range attempts {
		g.Add(a)
	}
	out, _ := plan.Learn(&g, known, skills, evidence.Default())
	for _, d := range out {
		encoded, err := json.Marshal(d.Payload)
		require.NoError(t, err)
		require.NoError(t, schema.ValidatePayload(schema.TypePlanGraph, encoded))
	}
	return out
}

func projects(make func(int) trace.Attempt, from, to int) (out []trace.Attempt) {
	for i := from; i < to; i++ {
		out = append(out, make(i))
	}
	return out
}

func TestTwoPlansForOneIntent(t *testing.T) {
	got := learn(t, nil, nil, append(projects(goProject, 0, 3), projects(pythonProject, 10, 13)...)...)
	require.Len(t, got, 2)
	require.True(t, plan.ConditionsOf(got[0].Payload).Disjoint(plan.ConditionsOf(got[1].Payload)))
	for _, d := range got {
		require.Equal(t, "Set up my project", d.Payload.Intent)
		require.InDelta(t, 3_500, *d.Payload.Metrics.AvgLatencyMS, 600)
	}
}

func TestDataAndControlEdges(t *testing.T) {
	got := learn(t, nil, nil, projects(goProject, 0, 3)...)
	require.Len(t, got, 1)
	p := got[0].Payload
	require.Equal(t, []schema.PlanEdge{{From: "s1", To: "s2", Kind: schema.EdgeControl},
		{From: "s2", To: "s3", Kind: schema.EdgeData}}, p.Edges)
	require.JSONEq(t, `{"cmd":"go mod init {working_dir}"}`, string(p.Nodes[1].Params))
	require.JSONEq(t, `{"cmd":"deploy {token}"}`, string(p.Nodes[2].Params))
	require.Contains(t, string(p.InputsSchema), `"x-from":"working_dir"`)
	require.NotContains(t, string(p.InputsSchema), "token")
}

func TestBranchesBecomeGuards(t *testing.T) {
	var attempts []trace.Attempt
	for i := range 8 {
		a := pythonProject(i)
		a.Situation.Context["os"] = []string{"linux", "macos"}[i%2]
		if i%2 == 1 {
			a.Steps = append([]trace.Step{shell("0", "xcode-select --install")}, a.Steps...)
		}
		attempts = append(attempts, a)
	}
	got := learn(t, nil, nil, attempts...)
	require.Len(t, got, 1)
	require.JSONEq(t, `{"os":"macos"}`, string(got[0].Payload.Nodes[0].Guards))
	require.Contains(t, plan.Mermaid(got[0].Payload), `{{"shell: xcode-select --install<br>if os macos"}}`)
}

func TestVersionsOfAPlan(t *testing.T) {
	first := learn(t, nil, nil, projects(pythonProject, 0, 3)...)[0]
	known := []plan.Record{{ID: "r", Payload: first.Payload, Evidence: first.Hash}}
	require.Equal(t, plan.Keep, learn(t, known, nil, projects(pythonProject, 0, 3)...)[0].Action)
	require.Equal(t, plan.Update, learn(t, known, nil, projects(pythonProject, 0, 5)...)[0].Action)
	told := known[0]
	told.Stats.All = first.Track
	require.Equal(t, plan.Keep, learn(t, []plan.Record{told}, nil, projects(pythonProject, 0, 3)...)[0].Action)
	told.Stats.All.Observe(false, first.Track.LastAt)
	reported := learn(t, []plan.Record{told}, nil, projects(pythonProject, 0, 3)...)[0]
	require.Equal(t, plan.Update, reported.Action)
	require.EqualValues(t, 1, reported.Payload.Metrics.FailureCount)
	require.Less(t, reported.Confidence, first.Confidence)
	told.Payload = reported.Payload
	require.Equal(t, plan.Keep, learn(t, []plan.Record{told}, nil, projects(pythonProject, 0, 3)...)[0].Action)
	changed := projects(pythonProject, 10, 14)
	for i := range changed {
		changed[i].Steps[3] = shell("4", "tox run")
	}
	got := learn(t, known, nil, changed...)[0]
	require.Equal(t, plan.Supersede, got.Action)
	require.Equal(t, "2", got.Payload.Version)
	require.Equal(t, first.Payload.PlanID, got.Payload.PlanID)
}

func TestTwoStepsMakeNoPlan(t *testing.T) {
	require.Empty(t, learn(t, nil, nil, setup(1, "go", shell("1", "a"), shell("2", "b")),
		setup(2, "go", shell("1", "a"), shell("2", "b")), setup(3, "go", shell("1", "a"), shell("2", "b"))))
}

func TestAPlanUsesAProcedure(t *testing.T) {
	procedure, ok := align.Learn([]trace.Attempt{
		setup(1, "", shell("1", "uv init"), shell("2", "uv add ruff")),
		setup(2, "", shell("1", "uv init"), shell("2", "uv add mypy"))})
	require.True(t, ok)
	skills := []plan.Skill{{Name: "python_tools", Procedure: procedure}}
	got := learn(t, nil, skills, projects(pythonProject, 0, 3)...)
	p := got[0].Payload
	require.Len(t, p.Nodes, 3)
	require.Equal(t, "procedure:python_tools", p.Nodes[1].Op)
	expanded, err := plan.Expand(p, func(name string) (align.Procedure, bool) {
		return procedure, name == "python_tools"
	})
	require.NoError(t, err)
	require.Len(t, expanded.Nodes, 4)
	ordered, err := plan.Order(expanded)
	require.NoError(t, err)
	require.JSONEq(t, `{"cmd":"uv add ruff"}`, string(ordered[2].Params))
	require.Contains(t, plan.Mermaid(p), `[["procedure:python_tools`)

	itself := align.Procedure{Steps: []align.Step{{Tool: "procedure:python_tools"}, {Tool: "procedure:python_tools"}}}
	_, err = plan.Expand(p, func(string) (align.Procedure, bool) { return itself, true })
	require.ErrorIs(t, err, plan.ErrTooLarge)
}

func TestAnyGraphIsOrderedOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		p := schema.PlanGraphPayload{}
		for i := range n {
			p.Nodes = append(p.Nodes, schema.PlanNode{ID: fmt.Sprint(i), Op: rapid.String().Draw(t, "op")})
		}
		for range rapid.IntRange(0, 20).Draw(t, "edges") {
			p.Edges = append(p.Edges, schema.PlanEdge{From: fmt.Sprint(rapid.IntRange(0, n).Draw(t, "from")),
				To: fmt.Sprint(rapid.IntRange(0, n).Draw(t, "to")), Kind: schema.EdgeData})
		}
		out, err := plan.Order(p)
		if err == nil {
			at := map[string]int{}
			for i, node := range out {
				at[node.ID] = i
			}
			for _, e := range p.Edges {
				if _, known := at[e.From]; known && at[e.To] > 0 {
					require.Less(t, at[e.From], at[e.To])
				}
			}
		}
		drawing := strings.Split(strings.TrimSpace(plan.Mermaid(p)), "\n")
		require.LessOrEqual(t, len(drawing), 1+len(p.Nodes)+len(p.Edges), "a label stays on its line")
		for _, line := range drawing[1 : 1+len(p.Nodes)] {
			require.Regexp(t, `^    n\d+\["[^"\r\n]*"\]$`, line)
		}
	})
}

func TestParallelEdgesDoNotLoop(t *testing.T) {
	p := schema.PlanGraphPayload{Nodes: []schema.PlanNode{{ID: "a", Op: "x"}, {ID: "b", Op: "y"}},
		Edges: []schema.PlanEdge{{From: "a", To: "b", Kind: "data"}, {From: "a", To: "b", Kind: "control"}}}
	out, err := plan.Order(p)
	require.NoError(t, err)
	require.Len(t, out, 2)
	p.Edges = append(p.Edges, schema.PlanEdge{From: "b", To: "a", Kind: "data"})
	_, err = plan.Order(p)
	require.ErrorIs(t, err, plan.ErrCycle)
}

// The sessions of one agent do not change the plan that all agents follow.
func TestOneAgentDoesNotReplaceASharedPlan(t *testing.T) {
	first := learn(t, nil, nil, projects(pythonProject, 0, 3)...)[0]
	known := []plan.Record{{ID: "r", Payload: first.Payload, Evidence: first.Hash, Shared: true}}
	changed := projects(pythonProject, 10, 14)
	for i := range changed {
		changed[i].Steps[3] = shell("4", "tox run")
	}
	got := learn(t, known, nil, changed...)[0]
	require.Equal(t, []any{plan.Add, ""}, []any{got.Action, got.Target})
	changed[1].Source.Agent = "another"
	got = learn(t, known, nil, changed...)[0]
	require.Equal(t, []any{plan.Supersede, "r"}, []any{got.Action, got.Target})
}
