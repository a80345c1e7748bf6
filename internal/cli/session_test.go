package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/record"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/sessions"
)

const workDay = `
{"id": "w1", "kind": "run.started", "payload": {"text": "Fix the build."}}
{"id": "w2", "kind": "working.updated", "payload": {"state": "executing", "context_summary": "Two tests fail.", "next_actions": ["read the log"], "open_questions": ["Who broke it?"], "active_constraints": ["No force push."]}}
{"id": "w3", "kind": "tool.called", "payload": {"call_id": "c1", "tool": "go test"}}
`

// A session from the command line: events, the state of the work, the context, the episode.
func TestSessionCommands(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	appended := c.runWith(t.Context(), workDay, "session", "append", "monday", "-").is(app.ExitOK)
	require.Contains(t, appended.out, "3 events appended")
	var again record.AppendResult
	c.runWith(t.Context(), workDay, "session", "append", "monday", "-", "--json").is(app.ExitOK).json(&again)
	require.Equal(t, ledger.Appended{ID: "w1", Stream: "run/monday", Seq: 1}, again.Events[0],
		"a repeated request has the same places, and adds nothing")
	more := workDay + `{"id": "w4", "kind": "agent.thought", "payload": {"text": "Where is the log?"}}`
	c.runWith(t.Context(), more, "session", "append", "monday", "-", "--json").is(app.ExitOK).json(&again)
	require.Equal(t, ledger.Appended{ID: "w1", Stream: "run/monday", Seq: 1}, again.Events[0], "it was already stored")

	working := c.run("session", "working", "monday").is(app.ExitOK)
	for _, line := range []string{"executing monday, up to event 4 of run/monday", "Two tests fail.",
		"next: read the log", "open: Who broke it?",
		"constraint: No force push."} {
		require.Contains(t, working.out, line)
	}
	var state api.SessionWorking
	c.run("session", "working", "monday", "--json").is(app.ExitOK).json(&state)
	require.Equal(t, schema.TaskExecuting, state.Working.State)

	context := c.run("context", "run/monday").is(app.ExitOK)
	require.Contains(t, context.out, "Task:")
	require.Contains(t, context.out, "read the log")
	require.NotContains(t, c.run("context", "run/monday", "--agent", "another").is(app.ExitOK).out, "Task:",
		"the task of another agent")
	require.NotContains(t, c.run("context", "run/tuesday").is(app.ExitOK).out, "Task:",
		"its session is on another stream")
	require.Contains(t, c.run("context", "run/tuesday", "--session", "monday").is(app.ExitOK).out, "read the log")

	require.Contains(t, c.run("session", "list", "--open").is(app.ExitOK).out, "monday")
	closed := c.run("session", "close", "monday", "--outcome", "success", "--summary", "It is green.").is(app.ExitOK)
	require.Contains(t, closed.out, "of 5 events (1 to 5 of run/monday), success")
	require.NotContains(t, c.run("session", "list", "--open").is(app.ExitOK).out, "monday")
	require.NotContains(t, c.run("context", "run/monday").is(app.ExitOK).out, "Task:", "the state is discarded")
	require.Contains(t, c.run("session", "working", "monday").is(app.ExitNotFound).err, "closed")
	shown := c.run("session", "show", "monday").is(app.ExitOK)
	require.Contains(t, shown.out, "monday of "+c.cfg.Principal.Agent+": closed, 5 events (1 to 5 of run/monday)")
	var out sessions.Shown
	c.run("session", "show", "monday", "--json").is(app.ExitOK).json(&out)
	require.Len(t, out.Episodes, 1)
	require.Contains(t, shown.out, out.Episodes[0].MemoryID.String())
	require.Contains(t, c.run("get", out.Episodes[0].MemoryID.String()).is(app.ExitOK).out, "It is green.")

	recorded := c.runWith(t.Context(), strings.ReplaceAll(workDay, `"w`, `"x`), "session", "record", "tuesday", "-",
		"--outcome", "failure").is(app.ExitOK)
	require.Contains(t, recorded.out, "failure")
	list := c.run("session", "list").is(app.ExitOK)
	require.Contains(t, list.out, "tuesday")
	require.NotContains(t, c.run("session", "list", "--agent", "another").is(app.ExitOK).out, "tuesday")
	another := c.as(func(p *schema.Principal) { p.Agent = "another" })
	require.Contains(t, another.run("session", "list", "--every-agent").is(app.ExitOK).out, "tuesday")
}

// A list of sessions without a user has those without a scope, as mneme list has memories. --all-scopes adds those of
// users, for every agent too.
func TestSessionsOfUsersAreListedByScope(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	appendTo := func(name string, as ...string) {
		file := fileOf(t, `{"id":"`+name+`","kind":"user.injected","payload":{"text":"hello"}}`)
		c.run(slices.Concat([]string{"session", "append", name, file}, as)...).is(app.ExitOK)
	}
	listed := func(args ...string) (names []string) {
		var out record.SessionList
		c.run(slices.Concat([]string{"session", "list", "--json"}, args)...).is(app.ExitOK).json(&out)
		for _, s := range out.Sessions {
			names = slices.Sorted(slices.Values(slices.Concat(names, []string{s.Session})))
		}
		return names
	}
	appendTo("of-maya", "--user", "maya")
	require.Contains(t, c.run("session", "list").is(app.ExitOK).out, "--all-scopes lists those of users")
	appendTo("of-tom", "--user", "tom", "--agent", "second")
	appendTo("own")
	require.Equal(t, []string{"own"}, listed())
	require.Equal(t, []string{"own"}, listed("--every-agent", "--open"))
	require.Equal(t, []string{"of-maya", "own"}, listed("--user", "maya"))
	require.Equal(t, []string{"of-maya"}, listed("--scope", "user/maya"))
	require.Equal(t, []string{"of-maya", "own"}, listed("--all-scopes"))
	require.Equal(t, []string{"of-maya", "of-tom", "own"}, listed("--all-scopes", "--every-agent", "--open"))
	require.NotContains(t, c.run("session", "list").is(app.ExitOK).out, "--all-scopes")
}

// Erasing events lists the episode that contains them. With --everywhere the text is erased from memories too, and the
// receipt reports it.
func TestEraseEventsEverywhere(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	const secret = "The canary sings in the attic."
	day := workDay + `{"id": "w4", "kind": "user.injected", "payload": {"text": "` + secret + `"}}`
	c.runWith(t.Context(), day, "session", "record", "monday", "-", "--outcome", "failure").is(app.ExitOK)
	holding := func() []string {
		return testkit.Strings(t, testkit.Owner(t, c.cfg.DatabaseURL),
			`SELECT id::text FROM memories WHERE payload::text LIKE '%canary sings%' OR content LIKE '%canary sings%'
			UNION SELECT memory_id::text FROM memory_history h WHERE h::text LIKE '%canary sings%'`)
	}
	episode := holding()
	require.Len(t, episode, 1)

	require.Equal(t, "reason", c.run("events", "erase", "w4", "--everywhere", "--yes",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Contains(t, c.run("events", "erase", "nothing", "--yes").is(app.ExitNotFound).out,
		"event nothing is not found")
	c.run("events", "erase", "nothing", "none", "--yes").is(app.ExitPartial)
	var out record.EraseResult
	c.run("events", "erase", "w4", "nothing", "--yes", "--json").is(app.ExitPartial).json(&out)
	require.Equal(t, 1, out.Erased)
	require.Equal(t, []string{"nothing"}, out.Unknown)
	require.Equal(t, episode, out.Episodes)
	require.Equal(t, episode, holding(), "without the flag it is kept and listed")

	var all record.EraseResult
	c.run("events", "erase", "w4", "--everywhere", "--reason", "asked for", "--yes", "--json").is(app.ExitOK).json(&all)
	require.NotNil(t, all.Receipt)
	require.Equal(t, episode, all.Receipt.IDs)
	require.Empty(t, all.Episodes)
	require.Empty(t, holding())
	require.Contains(t, c.run("events", "replay", "run/monday").is(app.ExitOK).out, "Two tests fail.",
		"the other events are there")
	var page record.EventList
	c.run("events", "replay", "run/monday", "--json").is(app.ExitOK).json(&page)
	require.Len(t, page.Receipts, 1)
	require.NotEmpty(t, page.Receipts["w4"].By)
	require.Contains(t, c.run("events", "replay", "run/monday").is(app.ExitOK).out, "(erased by ")
}

// An error is one line with the field.
func TestSessionCommandsRefuse(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	require.Contains(t, c.run("session", "show", "none").is(app.ExitNotFound).err, "no such session")
	require.Contains(t, c.run("session", "working", "none").is(app.ExitNotFound).err, "no such session")
	c.run("session", "close", "none").is(app.ExitNotFound)
	require.Equal(t, "outcome", c.run("session", "close", "none", "--outcome", "great",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "stream", c.run("session", "show", "none", "--stream", "none",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	c.runWith(t.Context(), "not json", "session", "append", "x", "-").is(app.ExitUsage)
	require.Contains(t, c.runWith(t.Context(), "", "session", "append", "x", "-").is(app.ExitOK).out,
		"0 events appended", "as of mneme events append")
	c.runWith(t.Context(), "", "session", "record", "x", "-").is(app.ExitUsage)
	require.Equal(t, "settings.idle_seconds",
		c.runWith(t.Context(), workDay, "session", "append", "x", "-", "--idle-seconds", "-1", "--json").
			is(app.ExitUsage).problem().Fields[0].Field)
	wrong := `{"id": "b1", "stream": "run/other", "kind": "agent.spoke", "payload": {"text": "Hi"}}`
	require.Contains(t, c.runWith(t.Context(), wrong, "session", "append", "x", "-").is(app.ExitUsage).err, "stream")
}
