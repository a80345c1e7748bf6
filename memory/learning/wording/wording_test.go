package wording_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/wording"
	"github.com/mneme/mneme/schema"
)

func procedure() schema.CompetencePayload {
	return schema.CompetencePayload{Kind: schema.TypeCompetence, SkillName: "fix_ld_cache_mismatch",
		Triggers: []schema.Trigger{{Signal: "ld: cache mismatch in <path>",
			Conditions: json.RawMessage(`{"os":"linux"}`)}},
		Recipe: []schema.Step{
			{Step: "shell: cmd=rm -rf {path}", Tool: "shell", ArgsSchema: json.RawMessage(`{"type":"object"}`)},
			{Step: "shell: cmd=make app", Tool: "shell", Validation: "returns without an error"},
		}}
}

func said(name string, texts ...string) wording.Description {
	out := wording.Description{Name: name}
	for i, t := range texts {
		out.Steps = append(out.Steps, wording.Step{Number: i + 1, Tool: "shell", Text: t})
	}
	return out
}

func TestDescribeChangesOnlyWords(t *testing.T) {
	t.Parallel()
	p := procedure()
	subject, ok := wording.Of(p)
	require.True(t, ok)
	d, err := wording.Check(said("Clear the stale linker cache", "Delete the  cache at {path}.",
		"Build again with make app"),
		subject)
	require.NoError(t, err)
	got := wording.Apply(d, p)
	require.Equal(t, "clear_the_stale_linker_cache", got.SkillName)
	require.Equal(t, "Delete the cache at {path}.", got.Recipe[0].Step)
	require.Equal(t, "shell: cmd=rm -rf {path}", p.Recipe[0].Step, "the given procedure is unchanged")
	got.SkillName = p.SkillName
	for i := range got.Recipe {
		got.Recipe[i].Step = p.Recipe[i].Step
	}
	require.Equal(t, p, got)
}

func TestInventedContentIsRefused(t *testing.T) {
	t.Parallel()
	good := []string{"Delete the cache at {path}", "Build again with make app"}
	for name, bad := range map[string]wording.Description{
		"nothing":                  {},
		"no name":                  said("", good...),
		"a name of one word":       said("Fix", good...),
		"a name that is too long":  said(strings.Repeat("clear the cache ", 20), good...),
		"a step is missing":        said("Clear the cache", good[0]),
		"a step too many":          said("Clear the cache", append(good, "Be done")...),
		"10,000 steps":             said("Clear the cache", make([]string, 10_000)...),
		"an empty step":            said("Clear the cache", good[0], " "),
		"an endless step":          said("Clear the cache", good[0], strings.Repeat("again ", 100_000)),
		"a number":                 said("Clear the cache", "Delete 3 caches at {path}", good[1]),
		"a parameter":              said("Clear the cache", "Delete the cache at {directory}", good[1]),
		"a path":                   said("Clear the cache", "Delete /etc/passwd", good[1]),
		"an option":                said("Clear the cache", good[0], "Build with make --force"),
		"a file":                   said("Clear the cache", good[0], "Build as main.c says"),
		"a name in a step":         said("Clear the cache", "Ask Marek to delete {path}", good[1]),
		"a tool in the name":       said("Clear the cache with Bazel", good...),
		"the step that it is not":  said("Clear the cache", "Do not delete {path}", good[1]),
		"a secret":                 said("Clear the cache", "Delete {path} with password: hunter2hunter2", good[1]),
		"what another step may do": said("Clear the cache", good[0], "Build again and delete {path}"),
		"another tool": {Name: "Clear the cache", Steps: []wording.Step{{Number: 1, Tool: "browser", Text: good[0]},
			{Number: 2, Tool: "shell", Text: good[1]}}},
		"another order": {Name: "Clear the cache", Steps: []wording.Step{{Number: 2, Tool: "shell", Text: good[1]},
			{Number: 1, Tool: "shell", Text: good[0]}}},
		"a step that was not given": {Name: "Clear the cache",
			Steps: []wording.Step{{Number: 1, Tool: "shell", Text: good[0]},
				{Number: 7, Tool: "shell", Text: good[1]}}},
		"one step twice": {Name: "Clear the cache", Steps: []wording.Step{{Number: 1, Tool: "shell", Text: good[0]},
			{Number: 1, Tool: "shell", Text: good[0]}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject, _ := wording.Of(procedure())
			_, err := wording.Check(bad, subject)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "Marek", "errors contain no content")
		})
	}
}

// Every answer is either refused or bounded.
func TestDescriptionIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subject, _ := wording.Of(procedure())
		d := said(rapid.String().Draw(t, "name"), rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "steps")...)
		got, err := wording.Check(d, subject)
		if err != nil {
			return
		}
		p := wording.Apply(got, procedure())
		if len([]rune(p.SkillName)) > schema.MaxNameLength || p.SkillName == "" || len(p.Recipe) != 2 {
			t.Fatalf("%+v", p)
		}
		for _, s := range p.Recipe {
			if len([]rune(s.Step)) > wording.MaxText || strings.ContainsAny(s.Step, "\n\r") {
				t.Fatalf("%q", s.Step)
			}
		}
	})
}

func TestProceduresWithoutDescription(t *testing.T) {
	t.Parallel()
	_, ok := wording.Of(schema.CompetencePayload{})
	require.False(t, ok)
	p := procedure()
	p.Recipe = make([]schema.Step, wording.MaxShow+1)
	_, ok = wording.Of(p)
	require.False(t, ok)
}

func TestSummaryContainsOnlySources(t *testing.T) {
	t.Parallel()
	sources := []string{"2026-11-01 success (e1):\n- user: Deploy the ledger to Lisbon with 4 replicas",
		"2026-11-02 ended without an outcome (e2):\n- user: Deploy the ledger to Porto"}
	for text, ok := range map[string]bool{
		"The ledger went to Lisbon with 4 replicas: success. Later it ended without an outcome in Porto.": true,
		"Deploying the ledger to Lisbon and Porto. Finally a success.":                                    true,
		"The ledger went to Madrid.":              false,
		"It was deployed. Marek did it.":          false,
		"The ledger has 5 replicas.":              false,
		"The ledger was not deployed to Lisbon.":  false,
		"See /var/log/deploy for Lisbon.":         false,
		"Lisbon has the password: hunter2hunter2": false,
		"": false,
	} {
		require.Equal(t, ok, wording.CheckSummary(text, sources) == nil, text)
	}
}
