package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/recall/contexts"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/vector/qdranttest"
)

const fire = `
{"id": "f1", "stream": "run/night", "kind": "agent.thought", "turn": 1, "payload": {"text": "The bakery smokes."}}
{"id": "f2", "stream": "run/night", "kind": "agent.thought", "turn": 2, "payload": {"text": "The mill stands still."}}
{"id": "f3", "stream": "run/night", "kind": "agent.thought", "turn": 3, "payload": {"text": "It is late."}}
{"id": "f4", "stream": "run/night", "kind": "world.observed", "turn": 4, "payload": {"text": "The bakery burns."}}
`

// Every part of a context request has a flag.
func TestContextFlags(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.runWith(t.Context(), fire, "events", "append", "-").is(app.ExitOK)
	out := c.run("context", "run/night", "--scene", "Nobody is in the bakery.", "--extra", "You have 3 coins.",
		"--format", "Answer in JSON.", "--window", "1", "--reflection-threshold", "2", "--max-beliefs", "1").is(app.ExitOK).out
	require.Equal(t, `## IDENTITY


## CURRENT SCENE
- Nobody is in the bakery.

## YOUR MEMORY
Remembered:
- turn 4, world.observed: The bakery burns.

## VISITOR
(none)

## EXTRA
You have 3 coins.

## OUTPUT FORMAT
Answer in JSON.
`, out)
}

// `mneme context` prints the same events when its memory index in Qdrant is down, reports that the index was left out,
// and exits with success.
func TestContextWithoutItsIndex(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.runWith(t.Context(), fire, "events", "append", "-").is(app.ExitOK)
	salient := []string{"context", "run/night", "--use-salience", "--top-k", "2"}
	byWords := c.run(salient...).is(app.ExitOK).out
	require.Contains(t, byWords, "The bakery smokes.")
	byIndex := append(salient, "--use-index")

	server := qdranttest.Start(t)
	c.cfg.MemoryIndex.Kind, c.cfg.Qdrant.URL = config.MemoryIndexQdrant, server.URL
	require.NotContains(t, c.run(byIndex...).is(app.ExitOK).out, "left out")
	server.Stop()
	down := c.run(byIndex...).is(app.ExitOK)
	require.Equal(t, byWords+"\nleft out: index\n", down.out)
	var out ledger.ContextResponse
	c.run(append(byIndex, "--json")...).is(app.ExitOK).json(&out)
	require.Equal(t, []string{contexts.WithoutIndex}, out.Degraded)
	require.Equal(t, byWords, out.Text+"\n")
}
