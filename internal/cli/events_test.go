package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/record"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows"
)

const baking = `
{"id": "e1", "stream": "run/bakery", "agent": "baker", "kind": "world.observed", "turn": 1, "payload": {"text": "The oven is cold."}}
{"id": "e2", "stream": "run/bakery", "agent": "baker", "kind": "agent.thought", "turn": 1, "payload": {"text": "The miller lies to me."}}
{"id": "e3", "stream": "run/bakery", "agent": "miller", "kind": "agent.thought", "turn": 2, "payload": {"text": "The baker knows nothing."}}
{"id": "e4", "stream": "run/bakery", "agent": "miller", "kind": "agent.spoke", "turn": 2, "visibility": "shared", "payload": {"text": "The flour comes at noon."}}
`

func TestEventsCommands(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	for _, to := range [][]string{{"events", "append"}, {"session", "append", "none"}} {
		var none record.AppendResult
		c.runWith(t.Context(), "\n", append(to, "-", "--json")...).is(app.ExitOK).json(&none)
		require.Equal(t, []ledger.Appended{}, none.Events, "an empty list, not null")
	}
	var appended record.AppendResult
	c.runWith(t.Context(), baking, "events", "append", "-", "--json").is(app.ExitOK).json(&appended)
	require.Len(t, appended.Events, 4)
	require.Equal(t, ledger.Appended{ID: "e4", Stream: "run/bakery", Seq: 4, Added: true}, appended.Events[3])
	again := c.runWith(t.Context(),
		baking+
			`{"stream": "run/bakery", "agent": "passer-by", "kind": "agent.spoke", "payload": {"text": "Who are you?"}}`, "events", "append", "-").is(app.ExitOK)
	require.Contains(t, again.out, "1 events appended, 4 existed already")

	var seen record.EventList
	c.run("events", "tail", "run/bakery", "--agent", "baker", "--json").is(app.ExitOK).json(&seen)
	var kinds []string
	for _, e := range seen.Events {
		kinds = append(kinds, e.ID)
	}
	require.Equal(t, []string{"e1", "e2", "e4"}, kinds)
	table := c.run("events", "replay", "run/bakery", "-n", "3").is(app.ExitOK)
	require.Contains(t, table.out, "The baker knows nothing.", "an operator reads all")
	require.Contains(t, table.out, "more: --after 3")
	require.Contains(t, c.run("events", "streams").is(app.ExitOK).out, "run/bakery")

	var context ledger.ContextResponse
	c.run("context", "run/bakery", "--agent", "baker", "--json").is(app.ExitOK).json(&context)
	text := context.Text
	require.Contains(t, text, "The oven is cold.")
	require.Contains(t, text, "The miller lies to me.")
	require.Contains(t, text, "The flour comes at noon.")
	require.NotContains(t, text, "The baker knows nothing.")
	c.run("context", "run/bakery", "world/none", "--agent", "baker", "--use-salience", "--use-index", "--recall",
		"flour", "--json").is(app.ExitOK).json(&context)
	require.Contains(t, context.Text, "The miller lies to me.")
	require.Contains(t, context.Degraded, "index", "none is configured")
	require.Equal(t, "streams[0]", c.run("context", "bakery", "--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Less(t, strings.Index(text, "IDENTITY"), strings.Index(text, "YOUR MEMORY"))

	require.Equal(t, "yes", c.run("events", "erase", "e2", "--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Contains(t, c.run("events", "erase", "e2", "--yes").is(app.ExitOK).out, "1 events emptied")
	table = c.run("events", "replay", "run/bakery").is(app.ExitOK)
	require.Contains(t, table.out, "(erased by ")
	require.NotContains(t, table.out, "lies to me")
}

// A malformed line is named by its number and its field, without its text.
func TestEventsAppendRefuses(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	for line, want := range map[string]string{
		`{"stream": "run/x", "kind": "agent.spoke", "visiblity": "secret"}`: "line 2 is not an event: invalid request: " +
			"visiblity: unknown field",
		`{"id": "a", "stream": "run/x", "kind": "agent.spoke"} {"id": "b"}`: "line 2 is not an event: invalid request: " +
			"(json): has something after its end",
		`nonsense`:                               "line 2",
		`{"stream": "x", "kind": "agent.spoke"}`: "stream",
		`{"stream": "run/x", "kind": "tool.called", "payload": {"tool":1}}`: "payload",
	} {
		o := c.runWith(t.Context(), "\n"+line+"\n", "events", "append", "-", "--json").is(app.ExitUsage)
		require.Contains(t, o.err, want, line)
		require.NotContains(t, o.err, "secret")
	}
	c.runWith(t.Context(), `{"id": "a", "stream": "run/x", "kind": "agent.spoke", "payload": {"text": "one"}}`,
		"events", "append", "-").is(app.ExitOK)
	o := c.runWith(t.Context(), `{"id": "a", "stream": "run/x", "kind": "agent.spoke", "payload": {"text": "two"}}`,
		"events", "append", "-").is(app.ExitUsage)
	require.Contains(t, o.err, "events[0].id: is the id of another event")
}

// The kinds of events that every agent sees can be configured, for the command line and for the worker.
func TestGlobalKindsAreSet(t *testing.T) {
	t.Parallel()
	kinds := []string{"market.closed"}
	c := newCLI(t, harness.New(t, func(d *workflows.Dependencies) { d.GlobalKinds = kinds }))
	c.cfg.GlobalKinds = kinds
	const day = `
{"id": "%[1]s-m", "kind": "market.closed", "payload": {"text": "The market is closed."}}
{"id": "%[1]s-u", "kind": "user.injected", "payload": {"text": "I told this to you alone."}}`
	inStream := strings.ReplaceAll(fmt.Sprintf(day, "e"), `"kind"`, `"stream": "run/monday", "kind"`)
	c.runWith(t.Context(), inStream, "events", "append", "-").is(app.ExitOK)
	c.runWith(t.Context(), fmt.Sprintf(day, "s"), "session", "append", "tuesday", "-").is(app.ExitOK)
	for _, stream := range []string{"run/monday", "run/tuesday"} {
		seen := c.run("events", "tail", stream, "--agent", "another").is(app.ExitOK).out
		require.Contains(t, seen, "The market is closed.", stream)
		require.NotContains(t, seen, "alone", stream)
		require.Contains(t, c.run("events", "tail", stream).is(app.ExitOK).out, "alone", stream)
	}
}
