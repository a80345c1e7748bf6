package advice_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func mismatch(n int) string {
	return fmt.Sprintf("ld: cache mismatch in /home/dev%d/.cache/build (expected %d, got %d)", n, n, n+7)
}

// build returns a session in which a build fails until the last of the commands has run.
func build(agent string, n int, os string, commands ...string) *story {
	s := newStory(agent, n).says("Build the app please").in(os, fmt.Sprintf("/w/app%d", n), nil)
	s.does("make app", mismatch(n))
	for i, c := range commands {
		s.does(c, "")
		if i < len(commands)-1 {
			s.does("make app", mismatch(n))
		}
	}
	return s.does("make app", "").ends("success")
}

func clearCache(n int) string { return fmt.Sprintf("rm -rf /home/dev%d/.cache/build", n) }

// These tests run the examples of the RFC, from the events of sessions to advice.

func TestLinkerErrorHasOneFixPerSystem(t *testing.T) {
	for name, read := range map[string]func(*story) []trace.Attempt{
		"events":   (*story).attempts,
		"episodes": func(s *story) []trace.Attempt { return s.fromEpisode(t) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			asked := advice.Situation{Error: mismatch(99), Context: map[string]string{"os": "linux"}}
			require.Nil(t, advice.Advise(asked, m.candidates()).Best, "no advice without evidence")
			for n := range 3 {
				m.remember(read(build("ana", n, "linux", "make clean", clearCache(n)))...)
			}
			require.Positive(t, m.consolidate(t))
			m.read = map[string]string{}
			require.Zero(t, m.consolidate(t), "the same evidence changes nothing")

			best := advice.Advise(asked, m.candidates()).Best
			require.NotNil(t, best)
			require.Len(t, best.Steps, 2)
			require.JSONEq(t, `{"cmd":"rm -rf /home/dev99/.cache/build"}`, string(best.Steps[0].Args),
				"a new path")
			require.JSONEq(t, `{"cmd":"make app"}`, string(best.Steps[1].Args))
			require.Contains(t, best.FailureModes, "did not help: shell: make clean")
			require.Nil(t, advice.Advise(advice.Situation{Error: "ld: cannot find -lssl"}, m.candidates()).Best)

			for n := 10; n < 14; n++ { // on another system the fix fails, and another one helps
				m.remember(read(build("ana", n, "macos", clearCache(n), "brew reinstall llvm"))...)
			}
			m.consolidate(t)
			require.Len(t, m.records, 2, "a second record next to the first")
			asked.Context["os"] = "macos"
			best = advice.Advise(asked, m.candidates()).Best
			require.NotNil(t, best)
			require.JSONEq(t, `{"cmd":"brew reinstall llvm"}`, string(best.Steps[0].Args))
			asked.Context["os"] = "linux"
			best = advice.Advise(asked, m.candidates()).Best
			require.NotNil(t, best)
			require.JSONEq(t, `{"cmd":"rm -rf /home/dev99/.cache/build"}`, string(best.Steps[0].Args))
			answer := advice.Advise(advice.Situation{Error: mismatch(99)}, m.candidates())
			require.Equal(t, []string{"os"}, answer.MissingContext)
		})
	}
}

func TestGoForBackendsAndPythonForDataScience(t *testing.T) {
	var l facts.Learner
	for n := range 6 {
		language, kind := "Go", "backend_service"
		if n%2 == 1 {
			language, kind = "Python", "data_science"
		}
		s := newStory("agent", n).in("linux", "/w",
			map[string]string{"project_kind": kind}).says("I prefer " + language)
		l.Add(facts.Observation{ID: s.events[1].ID, Text: "I prefer " + language, Who: "ana",
			At:     s.events[1].OccurredAt,
			Source: s.meta().Source, Context: map[string]string{"os": "linux", "project_kind": kind}})
	}
	got := l.Updates()
	require.Len(t, got, 2)
	require.Equal(t, []facts.Action{facts.Fork, facts.Fork}, []facts.Action{got[0].Action, got[1].Action})
	require.Equal(t, promote.Conditions{"project_kind": {"backend_service"}}, got[0].Conditions)
	require.Equal(t, "I prefer Go", got[0].Text)
	require.Equal(t, promote.Conditions{"project_kind": {"data_science"}}, got[1].Conditions)
}

func TestSetUpMyProjectByPreference(t *testing.T) {
	m := newMemory()
	for n := range 6 {
		language, commands := "go", []string{"git init", fmt.Sprintf("go mod init /w/p%d", n), "gofmt -l ."}
		if n%2 == 1 {
			language, commands = "python", []string{"git init", "uv init", "uv add ruff", "pytest"}
		}
		s := newStory("ana", n).says("Set up my project").in("linux", fmt.Sprintf("/w/p%d", n),
			map[string]string{"language": language})
		for _, c := range commands {
			s.does(c, "")
		}
		m.remember(s.ends("success").attempts()...)
	}
	m.consolidate(t)
	require.Len(t, m.plans, 2)
	for language, first := range map[string]string{"go": "go mod init /w/new", "python": "uv init"} {
		answer := advice.Advise(advice.Situation{Task: "please set up my project", WorkingDir: "/w/new",
			Preferences: map[string]string{"language": language}}, m.candidates())
		require.NotNil(t, answer.Best, language)
		require.JSONEq(t, fmt.Sprintf(`{"cmd":%q}`, first), string(answer.Best.Steps[1].Args))
	}
	answer := advice.Advise(advice.Situation{Task: "set up my project"}, m.candidates())
	require.Nil(t, answer.Best)
	require.Equal(t, []string{"language"}, answer.MissingContext)
}
