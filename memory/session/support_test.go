package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// add appends an event of the agent a, one second after the preceding one. The payload is JSON or a value.
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

// valid requires that the payload is valid for a record, and returns it as JSON.
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

var kinds = []string{
	ledger.KindRunStarted, ledger.KindUserInjected, ledger.KindWorldObserved, ledger.KindEnvironment,
	ledger.KindAgentSpoke, ledger.KindAgentThought, ledger.KindAgentReflected, ledger.KindClueFound,
	ledger.KindJudgeVerdict, ledger.KindVerdictFinal,
	ledger.KindToolCalled, ledger.KindToolReturned, ledger.KindToolFailed, ledger.KindArtifact,
	ledger.KindWorkingUpdated,
	ledger.KindOutcome, ledger.KindCandidate, "market.closed",
}

// drawEvents draws events that a ledger may hold: of any kind, with valid payloads, with payloads of another shape,
// and erased.
func drawEvents(t *rapid.T) *story {
	var s story
	text := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "fix the build", "password: hunter2x", "main.go:12: undefined", "é\x00\xff"}),
	)
	object := func() json.RawMessage {
		v := map[string]any{
			text.Draw(t, "key"): text.Draw(t, "value"),
			"n":                 rapid.Int().Draw(t, "n"),
			"list":              []any{text.Draw(t, "item"), nil, true},
		}
		for range rapid.IntRange(0, 30).Draw(t, "depth") {
			v = map[string]any{"in": v}
		}
		encoded, _ := json.Marshal(v)
		return encoded
	}
	callID := rapid.OneOf(rapid.SampledFrom([]string{"1", "2", "3"}), rapid.StringN(1, 200, 400))
	artifacts := rapid.SliceOfN(
		rapid.SampledFrom([]string{"shot://1", "sha256:" + strings.Repeat("a", 64), "sha256:AB", ""}),
		0,
		3,
	)
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		var payload any
		switch kind {
		case ledger.KindToolCalled:
			payload = ledger.ToolCall{
				CallID:    callID.Draw(t, "call"),
				Tool:      rapid.OneOf(rapid.Just("go"), rapid.StringN(1, 300, 900)).Draw(t, "tool"),
				Args:      object(),
				DependsOn: []string{callID.Draw(t, "on")},
			}
		case ledger.KindToolReturned, ledger.KindToolFailed:
			payload = ledger.ToolResult{
				CallID:    callID.Draw(t, "call"),
				Result:    object(),
				Error:     text.Draw(t, "error"),
				Artifacts: artifacts.Draw(t, "artifacts"),
			}
		case ledger.KindEnvironment:
			payload = schema.Environment{
				OS:           text.Draw(t, "os"),
				ToolVersions: map[string]string{text.Draw(t, "tool"): text.Draw(t, "version")},
				Context:      object(),
			}
		case ledger.KindWorkingUpdated:
			payload = map[string]any{"state": rapid.SampledFrom([]string{"waiting", "blocked", "done",
				"?"}).Draw(t, "state"),
				"context_summary": text.Draw(t, "summary"), "next_actions": []string{text.Draw(t, "next")},
				"active_constraints": []any{object(), 4},
				"task_id":            rapid.StringN(0, 150, 600).Draw(t, "task")}
		case ledger.KindOutcome:
			payload = ledger.Outcome{
				Outcome: rapid.SampledFrom([]schema.Outcome{"success", "failure", "partial", "?"}).Draw(t, "outcome"),
			}
		default:
			payload = ledger.Text{Text: text.Draw(t, "text"), Artifacts: artifacts.Draw(t, "artifacts")}
		}
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			payload = rapid.SampledFrom([]string{"", "{", "{}", `{"text":5}`, `{"call_id":7}`, string(object())}).
				Draw(t, "payload")
		}
		s.add(kind, payload)
		e := &s.events[len(s.events)-1]
		e.OccurredAt = start.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, "at")) * time.Second)
		e.Agent = rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "agent")
		unnumbered := *e
		if unnumbered.Seq = 0; unnumbered.Validate() != nil { // the ledger refuses invalid events
			e.Payload, e.Erased = nil, true
		}
		e.Sensitivity = rapid.SampledFrom([]schema.Sensitivity{"", schema.SensitivityLow, schema.SensitivityMedium}).
			Draw(t, "sensitivity")
	}
	return &s
}
