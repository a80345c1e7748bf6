package cli

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func (c *cli) revise(code int, args ...string) memories.Revised {
	c.t.Helper()
	var r memories.Revised
	c.run(append([]string{"revise", "--json"}, args...)...).is(code).json(&r)
	return r
}

// putFact puts a record that states a preference and returns its id.
func (c *cli) putFact(object string) string {
	c.t.Helper()
	path := writeFile(c.t,
		`{"type":"semantic","confidence":0.9,"tags":["lang"],"payload":{"kind":"semantic","subject":"user","predicate":"prefers_language","object":"`+
			object+`","validity":{"mode":"global"}}}`)
	var p exchange.Put
	c.run("put", path, "--json").is(app.ExitOK).json(&p)
	return p.Items[0].ID
}

func TestReviseCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	why := []string{"--evidence", "human=Mia", "--evidence", "event=evt://4=2", "--reason", "she said so"}
	run := func(code int, args ...string) memories.Revised { return c.revise(code, append(args, why...)...) }

	golang := c.putFact("go")
	r := run(app.ExitOK, "supersede", golang+"@1", "--object", "rust", "--confidence", "0.8")
	require.Equal(t, schema.ReviseApplied, r.Status)
	require.NotEmpty(t, r.WorkflowID)
	rust := c.get(r.Created[0])
	require.Contains(t, rust.Content, "rust")
	require.Equal(t, []string{"lang"}, rust.Tags)
	require.InDelta(t, 0.8, rust.Confidence, 0)
	require.Equal(t, []schema.Ref{{Kind: "human", Ref: "Mia"}, {Kind: "event", Ref: "evt://4=2"}},
		rust.Provenance.Sources)
	require.Equal(t, golang, rust.Supersedes)

	r = run(app.ExitConflict, "retract", golang+"@1")
	require.Equal(t, schema.ReviseVersionConflict, r.Status)
	r = run(app.ExitConflict, "retract", golang)
	require.Equal(t, schema.ReviseNotLive, r.Status)

	r = run(app.ExitOK, "fork", rust.ID, "--object", "python", "--conditions", `{"kind":"data"}`, "--target-conditions",
		`{"kind":["backend","cli"]}`)
	require.Len(t, r.Created, 2)
	python, left := r.Created[0], r.Created[1]
	require.Equal(t, app.ExitOK, c.run("get", left).code)

	r = run(app.ExitOK, "contest", python, "--object", "julia", "--conditions", `{"kind":"data"}`)
	julia := r.Created[0]
	r = run(app.ExitOK, "resolve", python, julia, "--winner", julia)
	require.Equal(t, schema.StatusActive, c.get(julia).Status)
	require.Equal(t, julia, c.get(python).SupersededBy)

	r = run(app.ExitOK, "reconcile", julia, "--object", "r", "--conditions", `{"kind":"data"}`)
	require.Equal(t, schema.ReviseSupersede, r.Action)
	require.NotEmpty(t, r.Why)

	tea := c.remember("Mia drinks tea.").MemoryIDs[0]
	green := c.remember("Mia drinks green tea.").MemoryIDs[0]
	r = run(app.ExitOK, "merge", tea, green, "--content", "Mia drinks tea, mostly green.")
	merged := c.get(r.Created[0])
	require.Equal(t, "Mia drinks tea, mostly green.", merged.Content)
	again := c.remember("Mia drinks coffee.").MemoryIDs[0]
	r = run(app.ExitOK, "supersede", again, "--by", merged.ID)
	require.Equal(t, merged.ID, r.Record.ID)
	require.Equal(t, merged.ID, c.get(again).SupersededBy)

	path := writeFile(t,
		`{"type":"semantic","confidence":0.5,"content":"Mia drinks water.","payload":{"kind":"semantic","subject":"Mia","predicate":"states","object":"Mia drinks water.","validity":{"mode":"global"}}}`)
	r = run(app.ExitOK, "supersede", merged.ID, "--with", path, "--operation-id", "op-7")
	for _, target := range []string{merged.ID, merged.ID + "@2"} {
		require.Equal(t, r.Created, run(app.ExitOK, "supersede", target, "--with", path, "--operation-id", "op-7").Created,
			"the same operation returns the first result")
	}
	require.Equal(t, "operation_id", c.run(append([]string{"revise", "--json", "retract", merged.ID, "--operation-id",
		"op-7"}, why...)...).is(app.ExitUsage).problem().Fields[0].Field, "another operation with the same id")
	o := c.run(append([]string{"revise", "retract", r.Created[0]}, why...)...).is(app.ExitOK)
	require.Contains(t, o.out, "retract: applied")
	require.Contains(t, o.out, "retracted")
	require.Contains(t, c.run(append([]string{"revise", "retract", r.Created[0]}, why...)...).is(app.ExitConflict).err,
		"not_live: is retracted")

	run2 := func(args ...string) outcome {
		return c.run(append(append([]string{"revise", "--json"}, args...), why...)...)
	}
	require.Contains(t, run2("retract", uuid.NewString()).is(app.ExitNotFound).err, "not found")
	require.Equal(t, app.ExitNotFound, run2("retract", uuid.NewString()+"@1").code)
	for field, args := range map[string][]string{
		"targets[0].id": {"retract", "x"}, "record": {"supersede", left}, "targets": {"merge", left, "--content", "x"},
		"by":             {"supersede", left, "--by", "x"},
		"conditions":     {"fork", left, "--object", "x", "--conditions", "{"},
		"object":         {"supersede", left, "--by", left, "--object", "x"},
		"valid_from":     {"fork", left, "--object", "x", "--valid-from", "noon"},
		"confidence":     {"supersede", left, "--with", path, "--confidence", "1"},
		"winner":         {"resolve", left, "--winner", golang},
		"record.payload": {"supersede", left, "--with", writeFile(t, `{"type":"semantic","confidence":1}`)},
	} {
		require.Equal(t, field, run2(args...).is(app.ExitUsage).problem().Fields[0].Field, "%v", args)
	}
	require.Equal(t, "evidence", c.run("revise", "retract", left, "--reason", "x",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "evidence[0]",
		c.run("revise", "retract", left, "--reason", "x", "--evidence", "x",
			"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "reason", c.run("revise", "retract", left, "--evidence", "event=x",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
}
