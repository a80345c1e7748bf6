package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// No command that reads shows a text of one user to another user. It shows none to a call without a user, either,
// unless the call names the user's scope, an id or a stream, or is an export, which is a copy of all that an agent
// keeps.
func TestNoCommandShowsAnotherUsersText(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	const maya, tom, house = "quonzal", "brimvok", "glenfarn"
	ids := map[string][]string{}
	words := map[string]string{"maya": maya, "tom": tom, "": house}
	for i, user := range []string{"maya", "tom", ""} {
		word, number := words[user], i+1
		as := func(args ...string) outcome {
			if user != "" {
				args = append(args, "--user", user)
			}
			return c.run(args...)
		}
		for _, text := range []string{"I live in Lyon, in %s street.", "I moved to Oslo, to %s street.",
			"The printer of %s is called Bert.", "The printer of %s is called Egon.", "To print, use %s paper."} {
			as("remember", fmt.Sprintf(text, word), "--wait", "--source-kind", "user_input", "--speaker", "Ana", "--session",
				"chat", "--no-update-delete").is(app.ExitOK)
		}
		as("topics", "add", "What is known about "+word+"?").is(app.ExitOK)
		as("advise", "open the "+word+" door", "--error", word+" is stuck").is(app.ExitOK)
		event := func(id, kind, payload string) string {
			return fmt.Sprintf(`{"id":"%s%d","kind":%q,"payload":%s}`+"\n", id, number, kind,
				strings.ReplaceAll(payload, "WORD", word))
		}
		for _, id := range []string{"open", "closed"} {
			as("session", "append", fmt.Sprint(id, number), fileOf(t, event(id+"a", "user.injected", `{"text":"fix the WORD"}`)+
				event(id+"b", "tool.called", `{"call_id":"c","tool":"sh","args":{"cmd":"make WORD"}}`)+
				event(id+"c", "tool.returned", `{"call_id":"c","ok":false,"error":"WORD is missing"}`))).is(app.ExitOK)
		}
		as("session", "close", fmt.Sprint("closed", number), "--outcome", "failure").is(app.ExitOK)
		as("reflect", fmt.Sprint("run/closed", number), "--threshold", "1").is(app.ExitOK)
		ids[user] = testkit.Strings(t, testkit.Owner(t, h.DatabaseURL),
			`SELECT id::text FROM memories WHERE scope = $1`, map[bool]string{true: "user/" + user}[user != ""])
	}
	c.run("topics", "refresh", "--all").is(app.ExitOK)
	c.run("consolidate", "--all").is(app.ExitOK)
	require.NotEmpty(t, ids["maya"])

	reads := []string{"recall printer street", "recall fix --layers", "recall print --expand --min-score=0", "list",
		"list --read-policy=shared", "review list", "review list --state=all", "contradictions", "topics list",
		"session list", "session list --every-agent", "beliefs list", "beliefs draw", "learned list",
		"advise door --error=stuck", "stats", "status", "jobs list", "events streams", "retention preview",
		"session show closed1", "session working open1",
		"session working open2", "session working open3", "decay outlook", "sweeps"}
	named := []string{"export",
		"context run/closed1 run/closed2 run/closed3 run/open1 run/open2 run/open3 --recall=printer",
		"events tail run/closed1", "events tail run/closed2", "events tail run/closed3", "beliefs list run/closed1",
		"beliefs list run/closed2", "beliefs list run/closed3"}
	for _, viewer := range []string{"maya", "tom", ""} {
		lines := reads
		if viewer != "" {
			lines = slices.Concat(reads, named)
		}
		for _, line := range lines {
			for _, more := range [][]string{nil, {"--json"}} {
				args := append(strings.Fields(line), more...)
				if viewer != "" {
					args = append(args, "--user", viewer)
				}
				out := c.run(args...)
				for user, word := range words {
					if user == "" || user == viewer {
						continue
					}
					if strings.Contains(out.out+out.err, word) {
						t.Errorf("%q for %q shows %q:\n%s", args, viewer, word, out.out)
					}
				}
			}
		}
	}
	for _, id := range ids["maya"] {
		for _, line := range []string{"get", "history", "lineage"} {
			c.run(line, id, "--user", "tom").is(app.ExitNotFound)
			require.NotContains(t, c.run(line, id).is(app.ExitOK).out, tom)
		}
	}
	require.Contains(t, c.run("list", "--scope", "user/maya").is(app.ExitOK).out, maya)
	require.Contains(t, c.run("review", "list", "--all-scopes").is(app.ExitOK).out, maya)
	require.Contains(t, c.run("review", "list", "--scope", "user/maya").is(app.ExitOK).out, maya)
	require.NotContains(t, c.run("review", "list", "--scope", "user/maya").is(app.ExitOK).out, tom)
	empty := c.run("review", "list", "--scope", "elsewhere").is(app.ExitOK).out
	require.Contains(t, empty, "--all-scopes lists those of users")
}
