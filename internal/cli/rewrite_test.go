package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// Setting a new value keeps the rest of the sentence.
func TestReviseCommandKeepsTheSentence(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	why := []string{"--evidence", "human=Maya", "--reason", "she said so"}
	revise := func(args ...string) outcome {
		return c.run(append(append([]string{"revise", "--json", "supersede"}, args...), why...)...)
	}
	said := c.remember("Maya lives in Lyon and works at Acme.").MemoryIDs[0]

	// For a sentence without a triple, the old value must be given.
	refused := revise(said, "--object", "Oslo").is(app.ExitUsage).problem().Fields[0]
	require.Equal(t, "object", refused.Field)
	require.Contains(t, refused.Problem, "--content")
	require.Contains(t, refused.Problem, "--replace")
	require.Equal(t, "object", revise(said, "--object", "Oslo", "--content",
		"Maya lives in Oslo.").is(app.ExitUsage).problem().Fields[0].Field)
	require.Contains(t, revise(said, "--object", "Oslo", "--replace",
		"Paris").is(app.ExitUsage).problem().Fields[0].Problem, "does not occur")
	require.Equal(t, "replace", revise(said, "--replace", "Lyon").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "replace", revise(said, "--replace", "Lyon", "--content",
		"x").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "Maya lives in Lyon and works at Acme.", c.get(said).Content)
	require.Empty(t, c.get(said).SupersededBy)
	var r memories.Revised
	revise(said, "--object", "Oslo", "--replace", "Lyon").is(app.ExitOK).json(&r)
	moved := c.get(r.Created[0])
	require.Equal(t, "Maya lives in Oslo and works at Acme.", moved.Content)
	require.Contains(t, string(moved.Payload), `"object":"Maya lives in Oslo and works at Acme."`)
	revise(moved.ID, "--content", "Maya lives in Bergen and works at Acme.").is(app.ExitOK).json(&r)
	require.Equal(t, "Maya lives in Bergen and works at Acme.", c.get(r.Created[0]).Content)

	// The object of a triple must occur exactly once in the sentence; otherwise the command asks for the sentence.
	triple := func(content string) string {
		var p exchange.Put
		c.run("put", writeFile(t, `{"type":"semantic","confidence":0.9,"content":"`+content+
			`","payload":{"kind":"semantic","subject":"Ben","predicate":"`+
			"lives_in"+`","object":"Lyon","cardinality":"many","validity":{"mode":"global"}}}`),
			"--json").is(app.ExitOK).json(&p)
		return p.Items[0].ID
	}
	revise(triple("Ben lives in Lyon and works at Acme."), "--object", "Oslo").is(app.ExitOK).json(&r)
	require.Equal(t, "Ben lives in Oslo and works at Acme.", c.get(r.Created[0]).Content)
	twice := triple("Ben lives in Lyon, and Lyon is near.")
	refused = revise(twice, "--object", "Bergen").is(app.ExitUsage).problem().Fields[0]
	require.Contains(t, refused.Problem, "more than once")
	require.Contains(t, refused.Problem, "--content")
	revise(twice, "--object", "Bergen", "--content", "Ben lives in Bergen.").is(app.ExitOK).json(&r)
	require.Equal(t, "Ben lives in Bergen.", c.get(r.Created[0]).Content)
}
