package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// The examples of the RFC, from the events of sessions to advice and recall.

// Clearing the cache fixes a linker error. On another system it does not help, and another command does. Advice gives
// each system its own fix, for a path that occurred in no session, and a recall of the error returns both.
func TestLinkerErrorFromSessionsToAdvice(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	for n := range 3 {
		testkit.Build(p, n, "linux", "make clean", testkit.ClearCache(n)).Record(t, h.Store)
	}
	consolidate(t, h, in)
	best := advise(t, h, asksAbout(p, 99)).Best
	require.NotNil(t, best)
	require.Equal(t, "rm -rf /home/dev99/.cache/build", best.Steps[0].Args["cmd"])
	require.Equal(t, "make app", best.Steps[1].Args["cmd"])
	require.Contains(t, best.FailureModes, "did not help: shell: make clean")
	require.Len(t, best.Evidence, 3)
	other := asksAbout(p, 99)
	other.Error = "ld: cannot find -lssl"
	require.Nil(t, advise(t, h, other).Best, "another error")

	for n := 10; n < 14; n++ {
		testkit.Build(p, n, "macos", testkit.ClearCache(n), "brew reinstall llvm").Record(t, h.Store)
	}
	consolidate(t, h, in)
	known := learnedBy(t, h, p)
	require.Len(t, known, 2, "a second record next to the first")
	for os, want := range map[string]string{"linux": "rm -rf /home/dev99/.cache/build",
		"macos": "brew reinstall llvm"} {
		req := asksAbout(p, 99)
		req.Context = map[string]string{"os": os}
		best := advise(t, h, req).Best
		require.NotNil(t, best, os)
		require.False(t, best.Tentative, os)
		require.Equal(t, want, best.Steps[0].Args["cmd"], os)
	}
	req := asksAbout(p, 99)
	req.Context = nil
	require.Equal(t, []string{"os"}, advise(t, h, req).MissingContext)
	_, answer := recallBy(t, h, schema.RecallRequest{Principal: p, Query: testkit.Mismatch(99), Limit: 20,
		Types: []schema.MemoryType{schema.TypeCompetence}})
	var found []string
	for _, item := range answer.Results {
		found = append(found, item.ID)
	}
	require.ElementsMatch(t, []string{known[0].ID.String(), known[1].ID.String()}, found)
}

// Sessions in two kinds of projects show two preferences. A recall in one kind returns the preference for that kind.
func TestGoAndPythonFromSessionsToRecall(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	for n := range 6 {
		language, kind := "Go", "backend_service"
		if n%2 == 1 {
			language, kind = "Python", "data_science"
		}
		testkit.NewStory(p, n).In("linux", fmt.Sprintf("/w/p%d", n), map[string]string{"project_kind": kind}).
			Says("I prefer "+language).Does(fmt.Sprintf("ls /w/p%d", n),
			"").Ends(schema.OutcomeSuccess).Record(t, h.Store)
	}
	consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	recaller := h.Recaller()
	for kind, want := range map[string]string{"backend_service": "I prefer Go", "data_science": "I prefer Python"} {
		found, err := recaller.Recall(context.Background(), schema.RecallRequest{Principal: p,
			Query: "Which language does the user prefer?", Types: []schema.MemoryType{schema.TypeSemantic},
			Context: json.RawMessage(fmt.Sprintf(`{"project_kind": %q}`, kind))})
		require.NoError(t, err)
		require.Len(t, found.Results, 1, kind)
		require.Contains(t, found.Results[0].Content, want)
	}
}

// Projects were set up in two ways. The plan for the next one follows the user's preference; without one, advice names
// the missing information.
func TestSetUpMyProjectFromSessionsToAdvice(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	for n := range 6 {
		language, commands := "go", []string{"git init", fmt.Sprintf("go mod init /w/p%d", n), "gofmt -l ."}
		if n%2 == 1 {
			language, commands = "python", []string{"git init", "uv init", "uv add ruff", "pytest"}
		}
		s := testkit.NewStory(p, n).Says("Set up my project").In("linux", fmt.Sprintf("/w/p%d", n),
			map[string]string{"language": language})
		for _, c := range commands {
			s.Does(c, "")
		}
		s.Ends(schema.OutcomeSuccess).Record(t, h.Store)
	}
	consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	require.Len(t, learnedBy(t, h, p), 2)
	for language, want := range map[string]string{"go": "go mod init /w/new", "python": "uv init"} {
		best := advise(t, h, api.AdviseRequest{Principal: p, Task: "please set up my project", WorkingDir: "/w/new",
			Preferences: map[string]string{"language": language}}).Best
		require.NotNil(t, best, language)
		require.Equal(t, string(schema.TypePlanGraph), best.Type)
		require.Equal(t, want, best.Steps[1].Args["cmd"])
	}
	answer := advise(t, h, api.AdviseRequest{Principal: p, Task: "set up my project"})
	require.Nil(t, answer.Best)
	require.Equal(t, []string{"language"}, answer.MissingContext)
	_, recalled := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "set up my project",
		Types: []schema.MemoryType{schema.TypePlanGraph}, Context: json.RawMessage(`{"language": "go"}`)})
	require.NotEmpty(t, recalled.Results)
	for _, k := range learnedBy(t, h, p) {
		if strings.Contains(string(k.Payload), "go mod init") {
			require.Equal(t, k.ID.String(), recalled.Results[0].ID)
		}
	}
}

// A fix that helps only under a constraint is advised when the task names the constraint, and not when it excludes it.
func TestAConstraintOfWorkingMemoryFromSessionsToAdvice(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	session := func(n int, constraint string, helps bool) {
		update := ledger.WorkingUpdate{ActiveConstraints: []json.RawMessage{}}
		if constraint != "" {
			update.ActiveConstraints = append(update.ActiveConstraints, json.RawMessage(constraint))
		}
		s := testkit.NewStory(p, n).Says("Build the app please").In("linux", "/w/app", nil).Works(update).
			Does("make app", testkit.Mismatch(n)).Does("restore-cache --from backup", "")
		if helps {
			s.Does("make app", "").Ends(schema.OutcomeSuccess)
		} else {
			s.Does("make app", testkit.Mismatch(n)).Ends(schema.OutcomeFailure)
		}
		s.Record(t, h.Store)
	}
	for n := range 4 { // alternating: if all failures came last, a change in the environment would explain them as well
		session(2*n, `"No network"`, true)
		session(2*n+1, "", false)
	}
	_, out := consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	require.Equal(t, 1, out.Added, "%+v", out)
	known := learnedBy(t, h, p)
	require.Len(t, known, 1)

	req := asksAbout(p, 77)
	req.Context = map[string]string{"os": "linux", "constraint_no_network": "yes"}
	got := advise(t, h, req)
	require.NotNil(t, got.Best)
	require.Equal(t, known[0].ID.String(), got.Best.MemoryID)
	req.Context["constraint_no_network"] = "no"
	got = advise(t, h, req)
	require.True(t, got.Best == nil || got.Best.MemoryID != known[0].ID.String(), "%+v", got.Best)
}
