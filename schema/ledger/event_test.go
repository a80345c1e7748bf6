package ledger_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

func event(change func(*ledger.Event)) ledger.Event {
	e := ledger.Event{ID: "e1", Stream: ledger.StreamRun.Stream("build-42"), Agent: "a", Kind: ledger.KindToolCalled,
		OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Payload:    json.RawMessage(`{"call_id":"c1","tool":"go"}`)}
	change(&e)
	return e
}

// The error names every invalid field and quotes no values.
func TestValidateEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ledger.Event)
		fields []string
	}{
		"well formed": {func(*ledger.Event) {}, nil},
		"no payload":  {func(e *ledger.Event) { e.Payload = nil }, nil},
		"kind of its own": {func(e *ledger.Event) {
			e.Kind = "market.closed"
			e.Payload = json.RawMessage(`{"x":[1]}`)
		}, nil},
		"no id":             {func(e *ledger.Event) { e.ID = "" }, []string{"id"}},
		"long id":           {func(e *ledger.Event) { e.ID = strings.Repeat("x", 201) }, []string{"id"}},
		"stream of no kind": {func(e *ledger.Event) { e.Stream = "build-42" }, []string{"stream"}},
		"stream, no name":   {func(e *ledger.Event) { e.Stream = "run/" }, []string{"stream"}},
		"no agent":          {func(e *ledger.Event) { e.Agent = "" }, []string{"agent"}},
		"kind in capitals":  {func(e *ledger.Event) { e.Kind = "Tool.Called" }, []string{"kind"}},
		"negative turn":     {func(e *ledger.Event) { e.Turn = -1 }, []string{"turn"}},
		"turn too large":    {func(e *ledger.Event) { e.Turn = 1 << 31 }, []string{"turn"}},
		"no time":           {func(e *ledger.Event) { e.OccurredAt = time.Time{} }, []string{"occurred_at"}},
		"visibility":        {func(e *ledger.Event) { e.Visibility = "everyone" }, []string{"visibility"}},
		"sensitivity":       {func(e *ledger.Event) { e.Sensitivity = "secret" }, []string{"sensitivity"}},
		"given sequence":    {func(e *ledger.Event) { e.Seq = 4 }, []string{"seq"}},
		"payload no object": {func(e *ledger.Event) { e.Payload = json.RawMessage(`[1]`) }, []string{"payload"}},
		"name twice": {func(e *ledger.Event) { e.Payload = json.RawMessage(`{"tool":"a","tool":"b"}`) },
			[]string{"payload.tool"}},
		"no call id": {func(e *ledger.Event) { e.Payload = json.RawMessage(`{"tool":"a"}`) },
			[]string{"payload.call_id"}},
		"another shape": {func(e *ledger.Event) { e.Payload = json.RawMessage(`{"tool":5}`) }, []string{"payload"}},
		"belief without events": {func(e *ledger.Event) {
			e.Kind, e.Payload = ledger.KindAgentReflected, json.RawMessage(`{"belief":"x","based_on":[]}`)
		}, []string{"payload.based_on"}},
		"long group": {func(e *ledger.Event) { e.PolicyGroup = strings.Repeat("x", 999) }, []string{"policy_group"}},
		"long id of the last covered": {func(e *ledger.Event) {
			e.Kind = ledger.KindAgentReflected
			e.Payload = json.RawMessage(`{"belief":"x","based_on":["a"],"through":"` + strings.Repeat("x", 201) + `"}`)
		}, []string{"payload.through"}},
		"part of a state": {func(e *ledger.Event) {
			e.Kind, e.Payload = ledger.KindWorkingUpdated, json.RawMessage(`{"next_actions":[],"context_summary":null}`)
		}, nil},
		"unknown state": {func(e *ledger.Event) {
			e.Kind, e.Payload = ledger.KindWorkingUpdated, json.RawMessage(`{"state":"resting"}`)
		}, []string{"payload.state"}},
		"outcome": {func(e *ledger.Event) {
			e.Kind, e.Payload = ledger.KindOutcome, json.RawMessage(`{"outcome":"fine"}`)
		}, []string{"payload.outcome"}},
	} {
		e := event(c.change)
		err := e.Validate()
		var invalid *schema.ValidationError
		var fields []string
		if errors.As(err, &invalid) {
			for _, f := range invalid.Fields {
				fields = append(fields, f.Field)
			}
		}
		require.Equal(t, c.fields, fields, "%s: %v", name, err)
	}
}

func TestStreamKinds(t *testing.T) {
	t.Parallel()
	require.Equal(t, ledger.StreamWorld, ledger.StreamKindOf("world/town"))
	require.Equal(t, ledger.StreamConversation, ledger.StreamKindOf("conversation/a/b"))
	require.Empty(t, ledger.StreamKindOf("town/x"))
	require.Empty(t, ledger.StreamKindOf("world"))
}

// A line is one event, and nothing in it is lost.
func TestDecodeEvent(t *testing.T) {
	t.Parallel()
	e := ledger.Event{Agent: "a"}
	require.NoError(t, ledger.DecodeEvent([]byte(`{"id":"e1","stream":"run/x","payload":{"text":"x","text2":"y"}}`), &e))
	require.Equal(t, ledger.Event{ID: "e1", Stream: "run/x", Agent: "a",
		Payload: json.RawMessage(`{"text":"x","text2":"y"}`)}, e)
	for line, want := range map[string]string{
		`{"id":"e1"} {"id":"e2"}`:             "(json): has something after its end",
		`{"id":"e1","id":"e2"}`:               "id: is given twice",
		`{"id":"e1","ID":"e2"}`:               "ID: is given twice",
		"{\"id\":\"\xff\"}":                   "id: is not valid UTF-8",
		`{"id":"\ud800"}`:                     "id: contains half of a surrogate pair",
		`{"id":"e1","secret":1}`:              "secret: unknown field",
		`{"turn":"one"}`:                      "turn: must be a whole number",
		`{"occurred_at":"noon"}`:              "occurred_at: must be a time in RFC 3339",
		`nonsense`:                            "(json): is not valid JSON (at byte 2)",
		`null`:                                "(json): must be an object",
		`{"payload":{"text":"a","text":"b"}}`: "payload.text: is given twice",
	} {
		require.EqualError(t, ledger.DecodeEvent([]byte(line), new(ledger.Event)), "invalid request: "+want, line)
	}
}
