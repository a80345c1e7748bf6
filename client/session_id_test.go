package client

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// A run answers an update with a known id without looking at it. Other events under the same ids must therefore have
// another update id, so that the ledger refuses them. The time is not part of it, because a caller that sets none sends
// another time with each retry.
func TestOtherEventsHaveAnotherUpdateID(t *testing.T) {
	t.Parallel()
	first := ledger.Event{ID: "e1", Stream: "run/s", Agent: "a", Kind: ledger.KindAgentSpoke,
		OccurredAt: time.Unix(1, 0), Payload: json.RawMessage(`{"text":"one"}`)}
	id := appendUpdateID([]ledger.Event{first})
	for name, change := range map[string]func(*ledger.Event){
		"payload":     func(e *ledger.Event) { e.Payload = json.RawMessage(`{"text":"two"}`) },
		"kind":        func(e *ledger.Event) { e.Kind = ledger.KindAgentThought },
		"agent":       func(e *ledger.Event) { e.Agent = "b" },
		"turn":        func(e *ledger.Event) { e.Turn = 2 },
		"visibility":  func(e *ledger.Event) { e.Visibility = schema.VisibilityPrivate },
		"sensitivity": func(e *ledger.Event) { e.Sensitivity = schema.SensitivityHigh },
	} {
		other := first
		change(&other)
		require.NotEqual(t, id, appendUpdateID([]ledger.Event{other}), name)
	}
	again := first
	again.OccurredAt, again.Payload = time.Unix(2, 0), json.RawMessage(`{ "text" : "one" }`)
	require.Equal(t, id, appendUpdateID([]ledger.Event{again}))
	require.NotEqual(t, id, appendUpdateID([]ledger.Event{first, again}))
}
