package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func TestRecallForATask(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	procedure := func(name, os string, won int) string {
		return fmt.Sprintf(`{"type": "competence", "confidence": 0.9, "payload": {"kind": "competence", "skill_name": %q, "triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": %q}}],
			"recipe": [{"step": "clear it"}], "performance": {"success_count": %d}}}`, name, os, won)
	}
	put := c.put(procedure("on_a_mac", "macos", 9)+procedure("on_linux", "linux", 9), app.ExitOK, "-")
	mac, linux := put.Items[0].ID, put.Items[1].ID
	c.put(fact("", "go"), app.ExitOK, "-")

	failure := []string{"what now", "--error-signature", "make: ld: cache mismatch at 0x12", "--intent", "build it"}
	var r schema.RecallResponse
	c.run(append([]string{"recall", "--json", "--context", "os=linux", "--budget", "400"},
		failure...)...).is(app.ExitOK).json(&r)
	require.Equal(t, linux, r.Selections[0].Selected)
	require.Len(t, r.Layers, 5)
	out := c.run(append([]string{"recall", "--context", "os=linux"}, failure...)...).is(app.ExitOK).out
	require.Contains(t, out, "competence selected: "+linux)
	require.Contains(t, out, "contradicted")
	require.Contains(t, out, "LAYER")
	require.Contains(t, out, "1 competence, 0 plan, 0 episodic")
	require.NotContains(t, strings.Split(out, "competence selected")[0], "on a mac")

	out = c.run(append([]string{"recall"}, failure...)...).is(app.ExitOK).out
	require.Contains(t, out, "no competence selected")
	require.Contains(t, out, `it would help to know: os ("linux", "macos")`)
	require.Contains(t, out, mac)

	// Ana's preferences are a card in addition to other facts about her.
	c.put(`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": "Ana", "predicate": "owns", "object": "a zither", "validity": {"mode": "global"}}}`, app.ExitOK, "-")
	out = c.run("recall", "who owns the zither", "--expand").is(app.ExitOK).out
	require.Contains(t, out, "card")
	require.Contains(t, out, "prefers language go")
	out = c.run("recall", "who owns the zither", "--expand", "--format", "prompt").is(app.ExitOK).out
	require.Contains(t, out, "- [card, ")
	require.NotContains(t, c.run("recall", "who owns the zither").is(app.ExitOK).out, "SUPPLEMENT")

	for field, args := range map[string][]string{"task.budget_tokens": {"--budget", "-1"},
		"task.intent": {"--intent", strings.Repeat("x", 300)}} {
		require.Equal(t, field, c.run(append([]string{"recall", "x", "--json"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
}
