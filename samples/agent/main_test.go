package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// The agent repairs the build, and its session becomes an episode that shows how. Its worker stops in the middle;
// another one continues with the state of the work.
func TestAgent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	h := harness.New(t, nil)
	p := schema.Principal{Tenant: "acme-" + uuid.NewString(), Agent: agentName}
	queue, session, dir := "agent-"+uuid.NewString(), "fix-"+uuid.NewString(), t.TempDir()
	first := newWorker(h.Temporal, queue)
	require.NoError(t, first.Start())
	run, err := start(ctx, h.Temporal, queue, session, Job{Dir: dir, Pace: 100 * time.Millisecond,
		Recorder: recorder.Options{Principal: p, TaskQueue: h.TaskQueue}})
	require.NoError(t, err)

	ref := api.SessionRef{Principal: p, Session: session}
	require.NoError(t, testkit.Eventually(ctx, func() error {
		working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
		if err == nil && working.Working.ContextSummary != "0 of 4 checks pass after 3 repairs" {
			err = os.ErrNotExist
		}
		return err
	}))
	first.Stop()
	working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
	require.NoError(t, err, "the session continues without a worker of the agent")
	require.Equal(t, checks, working.Working.NextActions)
	second := newWorker(h.Temporal, queue)
	require.NoError(t, second.Start())
	defer second.Stop()

	var out bytes.Buffer
	require.NoError(t, report(ctx, h.Temporal, h.TaskQueue, run, p, &out))
	text := out.String()
	for _, part := range []string{"The agent ended with success:", "1. go.mod: ask for Go ", "word → ", `drop "os"`,
		"drop count := 3", "Greting → Greeting", "import strings", "%d → %s", `"Hello" → "Hello,"`, "gofmt",
		"is the episode ", "user: The build of greeter fails.", "RunCheck failed: ", "ended success: The build"} {
		require.Contains(t, text, part)
	}
	for _, check := range checks {
		words := strings.Fields(check)
		printed, err := runIn(dir, words[0], words[1:]...)
		require.NoError(t, err, printed)
	}
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	require.NoError(t, err)
	require.Contains(t, string(source), "words.Greeting(name)")
}

// A problem that no rule covers is left unsolved, and the agent reports it.
func TestUnknownProblemIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := project(dir).repair("main.go:1:1: this is no complaint that anybody knows")
	require.ErrorIs(t, err, errNoRule)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o600))
	_, err = project(dir).repair("a.go:9:1: declared and not used: x")
	require.ErrorIs(t, err, errNoRule)
	_, err = project(dir).repair("a.go:1:1: undefined: nothingofthekind")
	require.ErrorIs(t, err, errNoRule)
}

// The agent finds the repair of a service by trial. For another service with other names it applies that repair at
// once, and reports that it helped.
func TestAgentLearns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	h := harness.New(t, nil)
	p := schema.Principal{Tenant: "acme-" + uuid.NewString(), Agent: agentName}
	queue := "agent-" + uuid.NewString()
	w := newWorker(h.Temporal, queue)
	require.NoError(t, w.Start())
	defer w.Stop()
	repair := func(service string) (Done, string) {
		run, err := start(ctx, h.Temporal, queue, "fix-"+uuid.NewString(), Job{Dir: t.TempDir(), Service: service,
			Recorder: recorder.Options{Principal: p, TaskQueue: h.TaskQueue}})
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, report(ctx, h.Temporal, h.TaskQueue, run, p, &out))
		var done Done
		require.NoError(t, run.Get(ctx, &done))
		require.Equal(t, schema.OutcomeSuccess, done.Outcome, out.String())
		require.Len(t, done.Repairs, 2, out.String())
		return done, out.String()
	}

	first, text := repair("orders")
	require.Equal(t, []string{"gofmt -w .", "go mod tidy"}, first.Repairs[0].Tried)
	require.Equal(t, []string{"gofmt -w .", "go mod tidy", "go mod vendor"}, first.Repairs[1].Tried)
	require.Contains(t, text, "2. internal/orderssite/site.go: go generate ./internal/orderssite (found by trying; ")
	for _, name := range []string{api.WorkflowAdvise, api.WorkflowReport} {
		require.NotContains(t, text, "call "+name+":", "asking for advice is not a step of the work")
	}

	second, text := repair("billing")
	for i, command := range []string{"go mod vendor", "go generate ./internal/billingsite"} {
		require.Equal(t, command, second.Repairs[i].Change, text)
		require.Empty(t, second.Repairs[i].Tried, text)
		require.NotNil(t, second.Repairs[i].Advised, text)
		require.True(t, second.Repairs[i].Advised.Tentative)
	}
	require.Contains(t, text, " (at once: advised with ")

	third, text := repair("shipping")
	for i, r := range third.Repairs {
		require.NotNil(t, r.Advised, text)
		require.Greater(t, r.Advised.Confidence, second.Repairs[i].Advised.Confidence, "it helped once more")
	}
}

// The agent follows only commands like those of its catalogue, whatever a memory contains.
func TestAdviceThatIsNotFollowed(t *testing.T) {
	t.Parallel()
	steps := func(steps ...api.AdviceStep) api.AdviceOption { return api.AdviceOption{Steps: steps} }
	run := func(command string) api.AdviceStep {
		return api.AdviceStep{Tool: "RunCommand", Args: map[string]any{"command": command}}
	}
	check := api.AdviceStep{Tool: "RunCheck", Args: map[string]any{"command": "go build ./..."}}
	require.Equal(t, "go mod tidy", commandOf(steps(run("go mod tidy"), check)))
	require.Empty(t, commandOf(steps(run("rm -rf /"), check)))
	require.Empty(t, commandOf(steps(run("go generate {dir}"), check)), "a parameter is missing")
	require.Empty(t, commandOf(steps(run("go mod tidy"), run("go mod vendor"))), "a second command is refused")
	require.Empty(t, commandOf(steps(api.AdviceStep{Tool: "Repair"}, check)))
	require.Empty(t, commandOf(steps()))
	missing := steps(run("go mod tidy"))
	missing.Missing = []string{"failed"}
	require.Equal(t, "go mod tidy", commandOf(missing), "the agent chooses its own directory")

	didNot := []api.DidNotHelp{{Steps: []api.AdviceStep{run("gofmt -w .")}}}
	require.Equal(t, []string{"go mod tidy", "go mod vendor", "go generate ./a", "gofmt -w ."},
		commands("a/b.go:1:1: wrong", didNot))
}
