package cli

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/learn"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// `consolidate` learns from sessions; the result is shown with its success rate and its evidence.
func TestConsolidateAndLearnedCommands(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	p := c.cfg.Principal
	var episode uuid.UUID
	for n := range 3 {
		episode = testkit.Build(p, n, "linux", "make clean", testkit.ClearCache(n)).Record(t, h.Store)
		s := testkit.NewStory(p, 10+n).Says("Set up my project").In("linux", fmt.Sprintf("/w/p%d", n), nil)
		s.Does("git init", "").Does(fmt.Sprintf("go mod init /w/p%d", n), "").Does("gofmt -l .", "").
			Ends(schema.OutcomeSuccess).Record(t, h.Store)
	}
	show := func(args ...string) string {
		t.Helper()
		out := c.run(args...).is(app.ExitOK).out
		t.Logf("$ mneme %v\n%s", args, out)
		return out
	}
	require.Contains(t, show("learned", "list"), "nothing was learned yet")
	require.Contains(t, show("consolidate", "--shadow"), "shadow: nothing was written")
	require.Contains(t, show("consolidate"), "2 added")
	require.Contains(t, show("consolidate"), "nothing new")
	require.Contains(t, show("consolidate", "--all"), "0 scopes")
	var out struct {
		Learned []learn.Learned `json:"learned"`
	}
	c.run("learned", "list", "--json").is(app.ExitOK).json(&out)
	require.Len(t, out.Learned, 2)
	for _, l := range out.Learned {
		text := show("learned", "show", l.ID)
		require.Contains(t, text, "learned from 3 episodes")
		if l.Type == schema.TypePlanGraph {
			require.Contains(t, show("plan", "show", l.ID), "flowchart")
			continue
		}
		require.Contains(t, text, episode.String())
		require.Contains(t, text, "rm -rf")
		c.run("plan", "show", l.ID).is(app.ExitUsage)
		c.run("learned", "show", l.ID, "--agent", "another").is(app.ExitNotFound)
	}
	c.run("learned", "show", uuid.NewString()).is(app.ExitNotFound)
	c.run("consolidate", "--all", "--full").is(app.ExitUsage)
}
