package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// as returns the command line for a changed principal.
func (c *cli) as(change func(*schema.Principal)) *cli {
	other := *c
	change(&other.cfg.Principal)
	return &other
}

// Two users state the same words under the same key. No command of one user changes the other's memories.
func TestUsersOnTheCommandLine(t *testing.T) {
	t.Parallel()
	agent := newCLI(t, harness.New(t, nil))
	maya := agent.as(func(p *schema.Principal) { p.User = "maya" })
	tom := agent.as(func(p *schema.Principal) { p.User = "tom" })
	const said = "I live in Lyon with two cats."
	ids := map[*cli]string{}
	for _, c := range []*cli{maya, tom} {
		r := c.remember(said, "--source-kind", "user_input", "--speaker", "User", "--idempotency-key", "k")
		require.False(t, r.Deduped)
		require.NotContains(t, r.WorkflowID, "maya")
		ids[c] = r.MemoryIDs[0]
	}
	agent.remember("Opening hours are nine to five in Lyon.")
	require.NotEqual(t, ids[maya], ids[tom])

	seen := func(c *cli, query string) (out []string) {
		for _, r := range c.recall(query, "--read-policy", "shared").Results {
			out = append(out, c.record(r.ID).Scope)
		}
		return out
	}
	require.Contains(t, seen(maya, "who lives in Lyon"), "user/maya")
	require.NotContains(t, seen(maya, "who lives in Lyon"), "user/tom")
	require.Contains(t, seen(maya, "opening hours"), "", "the agent's memories are visible to all of its users")
	require.NotContains(t, seen(agent, "who lives in Lyon"), "user/maya")
	require.Equal(t, []string{""}, seen(agent, "opening hours"))
	require.Contains(t, seen(agent.as(func(p *schema.Principal) { p.Scope = "user/maya" }), "who lives in Lyon"),
		"user/maya", "the agent asks for a scope")

	answer := maya.recall("who lives in Lyon")
	tom.run("feedback", answer.RetrievalID, "--outcome", "success").is(app.ExitNotFound)
	tom.run("feedback", answer.RetrievalID).is(app.ExitNotFound)
	for _, command := range [][]string{{"get"}, {"history"}, {"lineage"}} {
		tom.run(append(command, ids[maya])...).is(app.ExitNotFound)
	}
	tom.run("modify", ids[maya], "--content", "I live in Oslo.", "--reason", "mine").is(app.ExitNotFound)
	tom.run("revise", "retract", ids[maya], "--evidence", "event=1", "--reason", "mine").is(app.ExitNotFound)
	tom.run("forget", ids[maya], "--execute", "--reason", "mine").is(app.ExitNotFound)
	tom.run("erase", ids[maya], "--yes", "--reason", "mine").is(app.ExitNotFound)
	require.Equal(t, said, maya.record(ids[maya]).Content)

	// Erasing one person's memories leaves the others unchanged.
	var out memories.Forgotten
	tom.run("forget", "--all", "--mode", "erase", "--reason", "asked for by the user", "--yes",
		"--json").is(app.ExitOK).json(&out)
	require.Positive(t, out.Receipt.Forgotten)
	maya.run("forget", "status", out.Preview.RunID).is(app.ExitNotFound)
	tom.run("forget", "status", out.Preview.RunID).is(app.ExitOK)
	require.NotContains(t, seen(tom, "who lives in Lyon"), "user/tom")
	require.Contains(t, seen(maya, "who lives in Lyon"), "user/maya")
	require.Equal(t, []string{""}, seen(agent, "opening hours"))

	// A user's export contains only that user's memories, and its import restores them.
	path := filepath.Join(t.TempDir(), "maya.jsonl")
	maya.run("export", "-o", path).is(app.ExitOK)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), said)
	require.NotContains(t, string(data), "Opening hours")
	require.Equal(t, "principal.user", maya.run("import", path, "--json").is(app.ExitUsage).problem().Fields[0].Field)
	there := agent.as(func(p *schema.Principal) { p.Tenant = uuid.NewString() })
	there.run("import", path).is(app.ExitOK)
	require.Empty(t, there.list().Items)
	require.NotEmpty(t, there.list("--user", "maya").Items)
	require.Empty(t, there.list("--user", "tom").Items)
}

func TestUserAndScopeTogetherAreRefused(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.NewIdle(t, testkit.DatabaseURL(t), nil, nil))
	for _, command := range [][]string{{"remember", "x"}, {"recall", "x"}, {"list"}, {"get", uuid.NewString()},
		{"export"}} {
		body := c.run(append(command, "--user", "maya", "--scope", "kitchen", "--json")...).is(app.ExitUsage).problem()
		require.Equal(t, []schema.FieldError{{Field: "principal.scope",
			Problem: "must be empty where principal.user is given: a user has the scope user/<name>"}}, body.Fields)
		body = c.run(append(command, "--user", "maya/tom", "--json")...).is(app.ExitUsage).problem()
		require.Equal(t, "principal.user", body.Fields[0].Field)
	}
}
