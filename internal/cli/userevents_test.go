package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// The events of a user's session are in no context, list or belief of another user, and all of them can be erased.
func TestEventsOfAUser(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(`{"id":"`+name+`","kind":"user.injected","payload":{"text":"`+text+
			`"}}`), 0o600))
		return path
	}
	maya, tom := file("m1", "I live in Lyon"), file("t1", "I live in Oslo")
	c.run("session", "append", "chat", maya, "--user", "maya").is(app.ExitOK)
	for _, command := range []string{"append", "record"} {
		problem := c.run("session", command, "chat", tom, "--user", "tom", "--json").is(app.ExitUsage).problem()
		require.Equal(t, "stream", problem.Fields[0].Field)
	}
	require.Equal(t, "events[0].stream", c.run("events", "append", "--user", "tom", "--json", fileOf(t,
		`{"id":"t2","stream":"run/chat","kind":"agent.spoke"}`)).is(app.ExitUsage).problem().Fields[0].Field)
	c.run("session", "append", "talk", tom, "--user", "tom").is(app.ExitOK)
	second := fileOf(t, `{"id":"t9","kind":"user.injected","payload":{"text":"I like Bergen"}}`)
	c.run("session", "append", "chat", second, "--user", "tom", "--stream", "run/of-tom").is(app.ExitOK)
	require.Contains(t, c.run("session", "show", "chat", "--user", "tom").is(app.ExitOK).out, "of run/of-tom")
	require.Contains(t, c.run("session", "show", "chat", "--user", "maya").is(app.ExitOK).out, "of run/chat)")

	for _, args := range [][]string{{"context", "run/chat"}, {"events", "tail", "run/chat"}, {"session", "list"}} {
		require.NotContains(t, c.run(append(args, "--user", "tom")...).is(app.ExitOK).out, "Lyon")
		require.NotContains(t, c.run(append(args, "--user", "tom")...).is(app.ExitOK).out, "run/chat")
	}
	require.Contains(t, c.run("context", "run/chat", "--user", "maya").is(app.ExitOK).out, "Lyon")
	require.Regexp(t, `run/chat +maya`, c.run("events", "streams").is(app.ExitOK).out)

	require.Contains(t, c.run("events", "erase", "m1", "--yes", "--user", "tom").is(app.ExitNotFound).out, "0 events")
	require.Contains(t, c.run("events", "replay", "run/chat").is(app.ExitOK).out, "Lyon")

	refused := func(field string, args ...string) {
		t.Helper()
		args = append([]string{"events", "erase", "--yes", "--json"}, args...)
		require.Equal(t, field, c.run(args...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	refused("id")
	refused("user", "--all")
	refused("all", "m1", "--all", "--user", "maya")
	refused("everywhere", "--all", "--everywhere", "--reason", "asked for", "--user", "maya")

	c.run("session", "close", "chat", "--user", "maya").is(app.ExitOK)
	erased := c.run("events", "erase", "--all", "--user", "maya", "--reason", "asked for", "--yes").is(app.ExitOK).out
	require.Contains(t, erased, "1 events emptied")
	require.Contains(t, erased, "1 episodes repeat them: mneme forget --user maya --all --mode erase")
	require.Contains(t, c.run("forget", "--user", "maya", "--all", "--mode", "erase", "--reason", "asked for",
		"--yes").is(app.ExitOK).out, "nothing is stored of user maya")
	require.NotContains(t, c.run("events", "replay", "run/chat").is(app.ExitOK).out, "Lyon")
	require.Contains(t, c.run("events", "replay", "run/talk").is(app.ExitOK).out, "Oslo")
	require.Contains(t, c.run("events", "erase", "--all", "--user", "maya", "--yes").is(app.ExitOK).out,
		"0 events emptied")
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
