package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

// Story is the events of one session of an agent in which tools are called.
type Story struct {
	Principal schema.Principal
	Session   string
	Events    []ledger.Event

	at    time.Time
	calls int
}

// NewStory begins the session of an agent with a number.
func NewStory(p schema.Principal, n int) *Story {
	return &Story{Principal: p, Session: fmt.Sprintf("%s-%d", p.Agent, n),
		at: time.Now().Add(-48*time.Hour + time.Duration(n)*time.Minute).UTC().Truncate(time.Microsecond)}
}

func (s *Story) add(kind string, payload any) *Story {
	encoded, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	i := len(s.Events) + 1
	s.Events = append(s.Events, ledger.Event{ID: fmt.Sprintf("%s/%s/%s/%d", s.Principal.Scope, s.Principal.Project,
		s.Session, i), Stream: ledger.StreamRun.Stream(s.Session), Agent: s.Principal.Agent, Kind: kind,
		Payload:    encoded,
		OccurredAt: s.at.Add(time.Duration(i) * time.Second)})
	return s
}

// Says adds a message of the user.
func (s *Story) Says(text string) *Story {
	return s.add(ledger.KindUserInjected, ledger.Text{Text: text})
}

// In adds the agent's environment.
func (s *Story) In(os, dir string, context map[string]string) *Story {
	raw, _ := json.Marshal(context)
	return s.add(ledger.KindEnvironment, schema.Environment{OS: os, WorkingDir: dir, Context: raw})
}

// Does adds a call of the shell; problem is empty for a call that succeeds.
func (s *Story) Does(cmd, problem string) *Story {
	s.calls++
	id := fmt.Sprintf("c%d", s.calls)
	args, _ := json.Marshal(map[string]string{"cmd": cmd})
	s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: "shell", Args: args})
	if problem != "" {
		return s.add(ledger.KindToolFailed, ledger.ToolResult{CallID: id, Error: problem, DurationMS: 20})
	}
	return s.add(ledger.KindToolReturned,
		ledger.ToolResult{CallID: id, Result: json.RawMessage(`"ok"`), DurationMS: 20})
}

// Works adds the agent's report on its work.
func (s *Story) Works(update ledger.WorkingUpdate) *Story {
	return s.add(ledger.KindWorkingUpdated, update)
}

// Ends ends the session.
func (s *Story) Ends(outcome schema.Outcome) *Story {
	return s.add(ledger.KindOutcome, ledger.Outcome{Outcome: outcome})
}

// Mismatch returns the error of a linker with a stale cache, with other values for each n.
func Mismatch(n int) string {
	return fmt.Sprintf("ld: cache mismatch in /home/dev%d/.cache/build (expected %d, got %d)", n, n, n+7)
}

// Build returns a session in which a build fails until the last of the commands has run.
func Build(p schema.Principal, n int, os string, commands ...string) *Story {
	s := NewStory(p, n).Says("Build the app please").In(os, fmt.Sprintf("/w/app%d", n), nil)
	s.Does("make app", Mismatch(n))
	for i, c := range commands {
		s.Does(c, "")
		if i < len(commands)-1 {
			s.Does("make app", Mismatch(n))
		}
	}
	return s.Does("make app", "").Ends(schema.OutcomeSuccess)
}

// ClearCache returns the command that repairs the build.
func ClearCache(n int) string { return fmt.Sprintf("rm -rf /home/dev%d/.cache/build", n) }

// Record appends the events of a session to the ledger and closes it. It returns the id of the episode.
func (s *Story) Record(t testing.TB, st *store.Store) uuid.UUID {
	t.Helper()
	ctx := context.Background()
	now := time.Now()
	key := sessions.Key{Principal: s.Principal, Session: s.Session, Stream: ledger.StreamRun.Stream(s.Session),
		WorkflowID: "session/" + s.Principal.Tenant + "/" + s.Principal.Agent + "/" + s.Session}
	_, err := st.Append(ctx, events.AppendInput{Tenant: s.Principal.Tenant, Events: s.Events, Open: views.GlobalKinds(),
		Now: now})
	require.NoError(t, err)
	_, err = st.TakeIn(ctx, key, now)
	require.NoError(t, err)
	closed, err := st.CloseSession(ctx, sessions.CloseInput{Key: key, Why: session.Finished,
		Policy: proposals.DefaultWritePolicy(), Now: now})
	require.NoError(t, err)
	require.NotNil(t, closed.MemoryID)
	return *closed.MemoryID
}
