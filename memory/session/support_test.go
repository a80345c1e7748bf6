package session_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

const run = "run/build-42"

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// story builds the events of a session.
type story struct {
	events []ledger.Event
}

// add appends an event of the agent a, a second after the one before. The payload is JSON or a value.
func (s *story) add(kind string, payload any) *story {
	raw, ok := payload.(string)
	if !ok {
		encoded, err := json.Marshal(payload)
		if err != nil {
			panic(err)
		}
		raw = string(encoded)
	}
	n := len(s.events) + 1
	e := ledger.Event{ID: fmt.Sprintf("e%d", n), Stream: run, Seq: int64(n), Agent: "a", Kind: kind,
		OccurredAt: start.Add(time.Duration(n) * time.Second)}
	if raw != "" {
		e.Payload = json.RawMessage(raw)
	}
	s.events = append(s.events, e)
	return s
}

func (s *story) call(id, tool, args string) *story {
	return s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: tool, Args: json.RawMessage(args)})
}

func (s *story) returned(id, result string) *story {
	return s.add(ledger.KindToolReturned, ledger.ToolResult{CallID: id, Result: json.RawMessage(result)})
}

func (s *story) failed(id, problem string) *story {
	return s.add(ledger.KindToolFailed, ledger.ToolResult{CallID: id, Error: problem})
}

func (s *story) text(kind, text string) *story { return s.add(kind, ledger.Text{Text: text}) }

func (s *story) episode(t require.TestingT, why session.Closing) session.Episode {
	episode, ok := session.Close(run, s.events, why)
	require.True(t, ok)
	return episode
}

// valid requires that a record can have the payload.
func valid(t require.TestingT, kind schema.MemoryType, payload any) json.RawMessage {
	encoded, err := json.Marshal(payload)
	require.NoError(t, err)
	require.NoError(t, schema.ValidatePayload(kind, encoded))
	return encoded
}

// edges are the dependencies of a graph as "later<-earlier".
func edges(nodes []schema.ToolNode) []string {
	var out []string
	for _, node := range nodes {
		for _, before := range node.DependsOn {
			out = append(out, node.ID+"<-"+before)
		}
	}
	return out
}

// each adds events one by one.
func each(t testing.TB, events []ledger.Event) *session.Accumulator {
	t.Helper()
	a := session.NewAccumulator(run)
	for _, e := range events {
		require.True(t, a.Add(e))
	}
	return a
}
