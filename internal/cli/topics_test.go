package cli

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema/topics"
)

func TestTopicsCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	show := func(args ...string) string {
		t.Helper()
		out := c.run(args...).is(app.ExitOK).out
		t.Logf("$ mneme %v\n%s", args, out)
		return out
	}
	c.remember("The billing service runs on Postgres 15.")
	owner := c.remember("The billing service is owned by the payments team.").MemoryIDs[0]
	var topic topics.Topic
	c.run("topics", "add", "What do we know about the billing service?", "--json").is(app.ExitOK).json(&topic)
	require.Contains(t, show("topics", "add", "What do we know about the billing service?"), topic.ID)
	require.Contains(t, show("topics", "list"), "never answered")
	require.Contains(t, show("topics", "refresh", topic.ID), "answered: ")
	require.Contains(t, show("topics", "refresh", topic.ID), "fresh: ")
	require.Contains(t, show("topics", "show", topic.ID),
		"- The billing service is owned by the payments team.\n    "+owner)
	c.remember("The billing service is deployed on Tuesdays.")
	require.Contains(t, show("topics", "refresh", "--all"), "1 answered")
	require.Contains(t, show("topics", "show", topic.ID, "--history"), "answer 1, as of")
	c.forget(app.ExitOK, owner, "--yes", "--reason", "it is wrong")
	require.Contains(t, show("topics", "list"), "stale (1 changed)")
	require.Contains(t, show("topics", "show", topic.ID), "blanked")
	require.Contains(t, show("topics", "refresh", topic.ID), "answer 3")
	require.NotContains(t, show("topics", "show", topic.ID, "--history"), "payments team")

	var out struct {
		topics.Topic
		History []topics.TopicAnswer `json:"history"`
		Result  api.RefreshTopicResult
	}
	c.run("topics", "show", topic.ID, "--history", "--json").is(app.ExitOK).json(&out)
	require.Equal(t, topics.Fresh, out.Freshness)
	require.Len(t, out.History, 3)
	require.NotNil(t, out.History[1].BlankedAt)
	for _, command := range []string{"show", "refresh", "remove"} {
		c.run("topics", command, topic.ID, "--agent", "another").is(app.ExitNotFound)
		c.run("topics", command, uuid.NewString()).is(app.ExitNotFound)
	}
	c.run("topics", "refresh").is(app.ExitUsage)
	c.run("topics", "add", "").is(app.ExitUsage)
	show("topics", "remove", topic.ID)
	require.Contains(t, show("topics", "list"), "no topics")
}
