package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// A list without elements is [] in JSON and not null, so that programs need no special case for it.
func TestEmptyListsInJSON(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	for _, command := range []string{"list", "recall anything", "sweeps", "jobs list", "review list", "contradictions",
		"topics list", "beliefs list", "beliefs list run/x", "events tail run/x", "events replay run/x",
		"events streams", "session list", "learned list", "index parked", "index status", "retention list",
		"retention changes", "stats --days 2"} {
		t.Run(command, func(t *testing.T) {
			out := c.run(append(strings.Fields(command), "--json")...).is(app.ExitOK).out
			require.NotContains(t, out, ":null")
			require.NotContains(t, out, ": null")
		})
	}
}
