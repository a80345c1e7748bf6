package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/record"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// An agent reflects by command; its beliefs are listed, shown and drawn with their evidence, including evidence that
// was erased.
func TestReflectAndBeliefsCommands(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	var lines strings.Builder
	for i, says := range []string{"The oven is cold, because the wood is wet.", "From now on I keep the wood inside.",
		"Good morning."} {
		fmt.Fprintf(&lines,
			`{"id": "e%d", "stream": "run/bakery", "agent": "baker", "kind": "agent.thought", "turn": %d, "payload": {"text": %q}}`+"\n", i+1, i+1, says)
	}
	c.runWith(t.Context(), lines.String(), "events", "append", "-").is(app.ExitOK)
	require.Contains(t, c.run("reflect", "run/bakery", "--agent", "baker", "--threshold", "4").is(app.ExitOK).out,
		"not due")
	require.Equal(t, "threshold", c.run("reflect", "run/bakery", "--threshold", "0",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	var made api.ReflectResult
	c.run("reflect", "run/bakery", "--agent", "baker", "--threshold", "3", "--json").is(app.ExitOK).json(&made)
	require.Equal(t, api.ReflectResult{Due: true, Beliefs: 1, EventID: made.EventID, Seq: 4, Covers: 3, BasedOn: 2},
		made)

	list := c.run("beliefs", "list", "run/bakery", "--agent", "miller").is(app.ExitOK)
	require.Contains(t, list.out, "From now on I keep the wood inside.", "every agent sees it")
	show := c.run("beliefs", "show", made.EventID, "--agent", "baker").is(app.ExitOK)
	require.Contains(t, show.out, "The oven is cold, because the wood is wet.")
	require.Contains(t, c.run("beliefs", "show", made.EventID, "--agent", "miller").is(app.ExitOK).out,
		"not visible to this agent")
	require.Contains(t, c.run("beliefs", "draw", "run/bakery", "--agent", "baker").is(app.ExitOK).out, "flowchart LR")
	c.run("beliefs", "show", "e1").is(app.ExitNotFound)

	c.run("events", "erase", "e1", "--yes").is(app.ExitOK)
	require.Contains(t, c.run("beliefs", "show", made.EventID, "--agent", "baker").is(app.ExitOK).out,
		"It has lost support")
	require.Contains(t, c.run("events", "erase", "e2", "--yes").is(app.ExitOK).out, "2 events emptied",
		"the belief is listed with it")
	var left record.BeliefList
	c.run("beliefs", "list", "--agent", "baker", "--json").is(app.ExitOK).json(&left)
	require.Empty(t, left.Beliefs)
	require.Equal(t, []string{made.EventID}, left.Erased)
	require.Contains(t, c.run("beliefs", "list", "--agent", "baker").is(app.ExitOK).out, "(erased)")
}
