package learner

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Session has an agent's actions at one task, as events of the ledger.
type Session struct {
	Agent  string
	Stream string
	// Origin names the author of an account that was submitted afterwards. If it is empty, the ledger recorded the
	// events as they happened.
	Origin string
	Events []ledger.Event

	at    time.Time
	calls int
}

// NewSession begins the session of an agent for a task. Events are one second apart.
func NewSession(agent, name string, at time.Time) *Session {
	return &Session{Agent: agent, Stream: "run/" + agent + "-" + name, at: at}
}

func (s *Session) add(kind string, payload any) {
	encoded, err := json.Marshal(payload)
	if err != nil {
		panic(fmt.Sprintf("payload of an event: %v", err)) // they are structs of texts
	}
	n := len(s.Events) + 1
	s.Events = append(s.Events, ledger.Event{ID: fmt.Sprintf("%s#%d", s.Stream, n), Stream: s.Stream, Seq: int64(n),
		Agent: s.Agent, Kind: kind, OccurredAt: s.at.Add(time.Duration(n) * time.Second), Payload: encoded})
}

// Asked adds the user's request.
func (s *Session) Asked(task string) { s.add(ledger.KindUserInjected, ledger.Text{Text: task}) }

// In adds the environment: os, and the rest of the context.
func (s *Session) In(dir string, context map[string]string) {
	rest := map[string]string{}
	for key, v := range context {
		if key != "os" {
			rest[key] = v
		}
	}
	raw, _ := json.Marshal(rest) // of texts
	s.add(ledger.KindEnvironment, schema.Environment{OS: context["os"], WorkingDir: dir, Context: raw})
}

func callID(n int) string { return fmt.Sprintf("c%d", n) }

// Did adds a command and its outcome; problem is empty if it succeeded.
func (s *Session) Did(tool, cmd, problem string) {
	s.calls++
	id := callID(s.calls)
	args, _ := json.Marshal(map[string]string{"cmd": cmd}) // of a text
	s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: tool, Args: args})
	if problem != "" {
		s.add(ledger.KindToolFailed, ledger.ToolResult{CallID: id, Error: problem, DurationMS: 20})
		return
	}
	s.add(ledger.KindToolReturned, ledger.ToolResult{CallID: id, Result: json.RawMessage(`"ok"`), DurationMS: 20})
}

// Ended adds the outcome.
func (s *Session) Ended(outcome schema.Outcome) {
	s.add(ledger.KindOutcome, ledger.Outcome{Outcome: outcome})
}

func (s *Session) meta() trace.Meta {
	source := trace.Source{Agent: s.Agent, Session: s.Stream, Origin: s.Origin, Witnessed: s.Origin == "", Trust: 0.9}
	return trace.Meta{Episode: s.Stream, Source: source}
}

// attempts returns the attempts that the rules read from the session.
func (s *Session) attempts() []trace.Attempt {
	t := trace.NewSession(s.meta())
	for _, e := range s.Events {
		t.Add(e)
	}
	return t.Attempts()
}
