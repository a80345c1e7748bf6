package reasoning_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules/reasoning"
	"github.com/mneme/mneme/schema/ledger"
)

// run makes events from lines "agent kind payload"; a payload that is not JSON is a text.
func run(lines ...string) []ledger.Event {
	var out []ledger.Event
	for i, line := range lines {
		part := strings.SplitN(line, " ", 3)
		payload := json.RawMessage(part[2])
		if !strings.HasPrefix(part[2], "{") {
			payload, _ = json.Marshal(ledger.Text{Text: part[2]})
		}
		out = append(out, ledger.Event{ID: fmt.Sprintf("e%d", i+1), Stream: "run/x", Seq: int64(i + 1), Agent: part[0],
			Kind: part[1], Payload: payload})
	}
	return out
}

// TestReflect checks the beliefs on runs of several kinds, with their citations.
func TestReflect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		span []ledger.Event
		text string
		on   string
	}{
		"a build that is fixed": {run(
			"user user.injected Make the build green, and do not touch the vendored code",
			`coder tool.called {"call_id":"1","tool":"go build","args":{"dir":"."}}`,
			`coder tool.failed {"call_id":"1","error":"undefined: parseFlags"}`,
			"coder agent.thought I look at main.go first",
			`coder tool.called {"call_id":"2","tool":"edit","args":{"file":"main.go"}}`,
			`coder tool.returned {"call_id":"2","result":"ok"}`,
			`coder tool.called {"call_id":"3","tool":"go build"}`,
			`coder tool.failed {"call_id":"3","error":"main.go:7: missing return"}`,
			`coder tool.called {"call_id":"4","tool":"go build"}`,
			`coder tool.returned {"call_id":"4","result":"ok"}`,
			"coder agent.thought I decided to keep parseFlags in a file of its own",
			`coder run.ended {"outcome":"success","summary":"the build is green"}`,
		),
			"A user said: Make the build green, and do not touch the vendored code. go build failed 2 times and then " +
				"worked; last error: main.go:7: missing return. " +
				"coder: I decided to keep parseFlags in a file of its own. The run ended: success: the build is green.",
			"e1 e3 e8 e10 e11 e12"},
		"a tool that stays broken": {run(
			`ops tool.called {"call_id":"1","tool":"deploy"}`,
			`ops tool.failed {"call_id":"1","error":"permission denied"}`,
			`ops tool.called {"call_id":"2","tool":"deploy"}`,
			`ops tool.failed {"call_id":"2","error":"permission denied"}`,
			`ops tool.failed {"call_id":"unknown","error":"from before"}`,
		), "deploy failed 2 times and has not worked since: permission denied.", "e2 e4"},
		"a trial in a village": {run(
			"world world.observed It rains on the mill and the bread is wet",
			"smith clue.found A burnt letter under the oven",
			"baker agent.spoke Good morning to you all",
			"judge judge.verdict The baker was seen at the mill",
			"judge verdict.final The smith is free",
		), "smith found: A burnt letter under the oven. Final verdict: The smith is free.", "e2 e5"},
		"recurring words": {run(
			"ann agent.spoke the cache was stale again",
			"ann agent.spoke I cleared the cache",
			"ann agent.spoke nothing to see here",
			"ann agent.spoke the cache is stale as before",
		), "Recurring words in 4 events: cache.", "e1 e2 e4"},
		"nothing notable": {run("ann agent.spoke good morning", "ann agent.spoke lunch?"),
			"Nothing notable in 2 events. The last, by ann: lunch?", "e2"},
		"events without a text": {run("ann market.closed {}", "ann market.opened {}"),
			"2 events without text: market.closed, market.opened.", "e2"},
		"the latest requests, without the secret": {run(
			"user user.injected first", "user user.injected second",
			"user user.injected the key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
		), "A user said: second. A user said: [withheld: api_key].", "e2 e3"},
		"beliefs of others come last": {run("bob agent.reflected "+`{"belief":"ann lies","based_on":["x"]}`,
			"ann clue.found a letter"),
			"bob believes: ann lies. ann found: a letter.", "e1 e2"},
	} {
		got, usage, err := reasoning.Reasoner{}.Reflect(context.Background(), "ann", c.span)
		require.NoError(t, err, name)
		require.Zero(t, usage, name)
		require.Equal(t, c.text, got.Text, name)
		if c.on != "" {
			require.Equal(t, c.on, strings.Join(got.BasedOn, " "), name)
		}
	}
}

// Reflect makes a short belief from any events. It cites some of them in order, each once, and is the same on every
// call.
func TestAnyEventsGiveABelief(t *testing.T) {
	t.Parallel()
	kinds := []string{"user.injected", "agent.spoke", "tool.called", "tool.failed", "tool.returned", "agent.reflected",
		"run.ended", "market.closed"}
	payloads := []string{`{}`, `{"text":"the mill is burning because of the oven"}`, `{"call_id":"1","tool":"go"}`,
		`{"call_id":"1","error":"bad","result":"x"}`,
		`{"belief":"b","based_on":["z"]}`, `{"outcome":"failure","summary":"s"}`, `[]`,
		`{"text":"` + strings.Repeat("ü", 3_000) + `"}`}
	rapid.Check(t, func(r *rapid.T) {
		var span []ledger.Event
		for i := range rapid.IntRange(1, 60).Draw(r, "events") {
			span = append(span, ledger.Event{ID: fmt.Sprintf("%03d", i), Stream: "run/x",
				Agent:   rapid.SampledFrom([]string{"a", "b"}).Draw(r, "agent"),
				Kind:    rapid.SampledFrom(kinds).Draw(r, "kind"),
				Payload: json.RawMessage(rapid.SampledFrom(payloads).Draw(r, "payload")),
				Erased:  rapid.Bool().Draw(r, "erased")})
		}
		got, _, err := reasoning.Reasoner{}.Reflect(context.Background(), "a", span)
		require.NoError(r, err)
		require.NotEmpty(r, got.Text)
		require.LessOrEqual(r, len([]rune(got.Text)), inference.MaxBeliefChars)
		require.NotEmpty(r, got.BasedOn)
		require.LessOrEqual(r, len(got.BasedOn), inference.MaxCitations)
		require.True(r, slices.IsSorted(got.BasedOn))
		require.Len(r, slices.Compact(slices.Clone(got.BasedOn)), len(got.BasedOn))
		for _, id := range got.BasedOn {
			require.True(r, slices.ContainsFunc(span, func(e ledger.Event) bool { return e.ID == id }))
		}
		again, _, err := reasoning.Reasoner{}.Reflect(context.Background(), "a", span)
		require.NoError(r, err)
		require.Equal(r, got, again)
	})
}
