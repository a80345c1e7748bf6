package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/sessions"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows/agents"
)

var steps *sessions.Sessions

// sessionStage runs Session in the SDK's test environment, where time advances automatically. Its ledger is in memory
// and behaves like the one in Postgres: an event is stored once, and sequence numbers have no gaps.
type sessionStage struct {
	*testsuite.TestWorkflowEnvironment
	mu     sync.Mutex
	ledger []string // ids of events; the first is number 1
	first  int64    // first event of the open episode
	closed []sessions.CloseRequest
	during func(append int) // called in each append with events, before they are stored
	// closing, if set, is called before an episode is made. Its error fails the step.
	closing func(sessions.CloseRequest) error
}

func newSessionStage(t *testing.T) *sessionStage {
	t.Helper()
	s := &sessionStage{TestWorkflowEnvironment: harness.Environment(), first: 1}
	s.RegisterWorkflow(agents.Session)
	s.RegisterActivity(steps)
	appends := 0
	s.OnActivity(steps.OpenSession, mock.Anything, mock.Anything).Return(func(context.Context,
		api.SessionInput) (sessions.State, error) {
		return s.state(), nil
	})
	s.OnActivity(steps.AppendSessionEvents, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in sessions.AppendRequest) (sessions.AppendResult, error) {
		if appends++; s.during != nil && len(in.Parts) > 0 {
			s.during(appends)
		}
		return s.append(in), nil
	})
	s.OnActivity(steps.CloseSession, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in sessions.CloseRequest) (api.SessionResult, error) {
		if s.closing != nil {
			if err := s.closing(in); err != nil {
				return api.SessionResult{}, err
			}
		}
		return s.close(in), nil
	})
	return s
}

func (s *sessionStage) state() sessions.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := sessions.State{FirstSeq: s.first, LastSeq: int64(len(s.ledger))}
	for seq := st.FirstSeq; seq <= st.LastSeq; seq++ {
		if strings.HasPrefix(s.ledger[seq-1], "end") { // like run.ended
			st.Ended, st.LastSeq = seq, seq
		}
	}
	st.Events = int(st.LastSeq - s.first + 1)
	return st
}

func (s *sessionStage) append(in sessions.AppendRequest) (out sessions.AppendResult) {
	s.mu.Lock()
	for _, events := range in.Parts {
		var part sessions.Part
		for i, e := range events {
			seq := int64(0)
			for at, id := range s.ledger {
				if id == e.ID {
					seq = int64(at + 1)
					part.There = append(part.There, i)
				}
			}
			if seq == 0 {
				s.ledger = append(s.ledger, e.ID)
				seq = int64(len(s.ledger))
			}
			part.Seqs = append(part.Seqs, seq)
		}
		out.Parts = append(out.Parts, part)
	}
	s.mu.Unlock()
	out.State = s.state()
	return out
}

func (s *sessionStage) close(in sessions.CloseRequest) api.SessionResult {
	st := s.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = append(s.closed, in)
	s.first = st.LastSeq + 1
	return api.SessionResult{Stream: in.StreamName(), Events: st.Events, FirstSeq: st.FirstSeq, LastSeq: st.LastSeq,
		EpisodeID: fmt.Sprintf("episode-%d", st.FirstSeq), Closed: string(in.Why)}
}

func event(id string) ledger.Event {
	return ledger.Event{ID: id, Kind: ledger.KindAgentThought, Payload: json.RawMessage(`{"text":"x"}`),
		OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func handIn(ids ...string) api.AppendSignal {
	var in api.AppendSignal
	for _, id := range ids {
		in.Events = append(in.Events, event(id))
	}
	return in
}

func sessionInput() api.SessionInput {
	return api.SessionInput{SessionRef: api.SessionRef{Principal: schema.Principal{Tenant: "t", Agent: "ann"},
		Session: "s"}}
}

// answer is the response to an update.
type answer[T any] struct {
	done   bool
	result T
	err    error
}

// update sends an update after a delay.
func update[T any](s *sessionStage, after time.Duration, name, id string, arg any) *answer[T] {
	out := &answer[T]{}
	s.RegisterDelayedCallback(func() {
		s.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { out.done, out.err = true, err },
			OnComplete: func(result any, err error) {
				out.done, out.err = true, err
				if err == nil {
					out.result = result.(T)
				}
			},
		}, arg)
	}, after)
	return out
}

// A session without events closes its episode as idle after the idle time and completes. An event restarts the idle
// time.
func TestAnIdleSessionCompletes(t *testing.T) {
	s := newSessionStage(t)
	in := sessionInput()
	in.Settings.IdleSeconds = 600
	begin := s.Now()
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("a")) }, time.Minute)
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("b")) }, 10*time.Minute)
	s.ExecuteWorkflow(agents.Session, in)
	require.True(t, s.IsWorkflowCompleted())
	var out api.SessionResult
	require.NoError(t, s.GetWorkflowResult(&out))
	require.Equal(t, api.SessionResult{Stream: "run/s", Events: 2, FirstSeq: 1, LastSeq: 2, EpisodeID: "episode-1",
		Closed: "idle"}, out)
	require.Len(t, s.closed, 1)
	require.Equal(t, session.Idle, s.closed[0].Why)
	require.InDelta(t, 20, s.Now().Sub(begin).Minutes(), 0.1, "ten minutes after the last event")
}

// A close that arrives while events are appended waits for them, and for events that arrive together with it. All of
// them are in the episode.
func TestCloseDuringAppend(t *testing.T) {
	s := newSessionStage(t)
	s.during = func(append int) {
		if append == 1 {
			s.SignalWorkflow(api.SignalClose, api.CloseRequest{Outcome: schema.OutcomeSuccess, Summary: "done"})
			s.SignalWorkflow(api.SignalAppend, handIn("b", "c"))
		}
	}
	appended := update[api.AppendResult](s, time.Second, api.UpdateAppend, "1", handIn("a"))
	s.ExecuteWorkflow(agents.Session, sessionInput())
	var out api.SessionResult
	require.NoError(t, s.GetWorkflowResult(&out))
	require.Equal(t, []string{"a", "b", "c"}, s.ledger)
	require.Equal(t, 3, out.Events)
	require.Equal(t, "finished", out.Closed)
	require.Equal(t, schema.OutcomeSuccess, s.closed[0].Outcome)
	require.True(t, appended.done)
	require.NoError(t, appended.err)
	require.Equal(t, []ledger.Appended{{ID: "a", Stream: "run/s", Seq: 1, Added: true}}, appended.result.Appended)
}

// A close covers all events that arrived before it, including those after an event that ended the session.
func TestCloseAfterAnEnd(t *testing.T) {
	t.Parallel()
	s := newSessionStage(t)
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(api.SignalAppend, handIn("a", "end", "b"))
		s.SignalWorkflow(api.SignalClose, api.CloseRequest{Outcome: schema.OutcomePartial})
	}, time.Second)
	began := s.Now()
	s.ExecuteWorkflow(agents.Session, sessionInput())
	require.NoError(t, s.GetWorkflowError())
	require.Less(t, s.Now().Sub(began), time.Minute, "before the idle time")
	require.Len(t, s.closed, 2)
	require.Equal(t, int64(1), s.closed[0].FirstSeq)
	require.Empty(t, s.closed[0].Outcome)
	require.Equal(t, int64(3), s.closed[1].FirstSeq)
	require.Equal(t, session.Finished, s.closed[1].Why)
	require.Equal(t, schema.OutcomePartial, s.closed[1].Outcome)
}

// An event of a closed episode that is sent or announced again starts a run, which answers with the episode of that
// event and completes at once. A repeated append thus leaves no open session.
func TestEventsOfAClosedEpisodeStartNoSession(t *testing.T) {
	for name, again := range map[string]func(s *sessionStage){
		"told": func(s *sessionStage) {
			s.SignalWorkflow(api.SignalAppended, api.AppendedSignal{Seq: 2})
		},
		"by signal": func(s *sessionStage) { s.SignalWorkflow(api.SignalAppend, handIn("b")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessionStage(t)
			s.ledger, s.first = []string{"a", "b"}, 3
			begin := s.Now()
			s.RegisterDelayedCallback(func() { again(s) }, 0)
			s.ExecuteWorkflow(agents.Session, sessionInput())
			require.NoError(t, s.GetWorkflowError())
			require.Less(t, s.Now().Sub(begin), time.Minute)
			require.Equal(t, []string{"a", "b"}, s.ledger)
		})
	}
	t.Run("with a new event announced in the meantime", func(t *testing.T) {
		s := newSessionStage(t)
		s.ledger, s.first = []string{"a", "b"}, 3
		begin := s.Now()
		s.during = func(int) { s.SignalWorkflow(api.SignalAppended, api.AppendedSignal{Seq: 9}) }
		s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("b")) }, 0)
		s.ExecuteWorkflow(agents.Session, sessionInput())
		require.NoError(t, s.GetWorkflowError())
		require.Less(t, s.Now().Sub(begin), time.Minute)
	})
	t.Run("by update", func(t *testing.T) {
		s := newSessionStage(t)
		s.ledger, s.first = []string{"a", "b"}, 3
		begin := s.Now()
		out := update[api.AppendResult](s, 0, api.UpdateAppend, "again", handIn("b"))
		s.ExecuteWorkflow(agents.Session, sessionInput())
		require.NoError(t, s.GetWorkflowError())
		require.Less(t, s.Now().Sub(begin), time.Minute)
		require.True(t, out.done)
		require.NoError(t, out.err)
		require.Equal(t, int64(2), out.result.LastSeq)
	})
}

// An event that is sent again, by update or by signal, is answered with its existing number and counted once.
func TestSessionCountsDuplicatesOnce(t *testing.T) {
	s := newSessionStage(t)
	first := update[api.AppendResult](s, time.Second, api.UpdateAppend, "1", handIn("a", "b"))
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("b", "a")) }, 2*time.Second)
	again := update[api.AppendResult](s, 3*time.Second, api.UpdateAppend, "2", handIn("b", "c"))
	closed := update[api.SessionResult](s, 4*time.Second, api.UpdateClose, "3", api.CloseRequest{})
	s.ExecuteWorkflow(agents.Session, sessionInput())
	require.NoError(t, s.GetWorkflowError())
	require.Equal(t, []string{"a", "b", "c"}, s.ledger)
	require.Equal(t, int64(2), first.result.LastSeq)
	require.Equal(t, []ledger.Appended{{ID: "b", Stream: "run/s", Seq: 2},
		{ID: "c", Stream: "run/s", Seq: 3, Added: true}}, again.result.Appended)
	require.NoError(t, closed.err)
	require.Equal(t, 3, closed.result.Events)
}

// A cancelled run appends the events that it accepted, answers waiting callers, and ends as cancelled without an
// episode: the session stays open.
func TestCancelledSessionKeepsItsEvents(t *testing.T) {
	s := newSessionStage(t)
	s.during = func(append int) {
		if append == 1 {
			s.SignalWorkflow(api.SignalAppend, handIn("b"))
			s.CancelWorkflow()
		}
	}
	appended := update[api.AppendResult](s, time.Second, api.UpdateAppend, "1", handIn("a"))
	s.ExecuteWorkflow(agents.Session, sessionInput())
	require.True(t, s.IsWorkflowCompleted())
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, s.GetWorkflowError(), &cancelled)
	require.Equal(t, []string{"a", "b"}, s.ledger)
	require.Empty(t, s.closed)
	require.True(t, appended.done)
	require.NoError(t, appended.err)
	require.Equal(t, int64(1), appended.result.Appended[0].Seq)
}

// invalid is the failure of a step that refuses its request.
func invalid(what string) error {
	return temporal.NewNonRetryableApplicationError(what, api.ErrTypeInvalidRequest, nil)
}

// A signal to close is not validated before it arrives. One with an outcome that does not exist closes the session
// without an outcome; it does not end the run.
func TestASignalWithAWrongOutcomeClosesTheSession(t *testing.T) {
	s := newSessionStage(t)
	s.closing = func(in sessions.CloseRequest) error {
		if in.Outcome != "" && !in.Outcome.Valid() {
			return invalid("outcome: must be success, failure or partial")
		}
		return nil
	}
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("a")) }, time.Second)
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(api.SignalClose, api.CloseRequest{Outcome: "splendid", Summary: "it went well"})
	}, 2*time.Second)
	s.ExecuteWorkflow(agents.Session, sessionInput())
	var out api.SessionResult
	require.NoError(t, s.GetWorkflowResult(&out))
	require.Equal(t, 1, out.Events)
	require.Equal(t, string(session.Finished), out.Closed)
	require.Len(t, s.closed, 1)
	require.Empty(t, s.closed[0].Outcome)
	require.Empty(t, s.closed[0].Summary)
}

// A run that cannot close its session fails. Before that it appends the events that it accepted meanwhile.
func TestAFailedSessionKeepsItsEvents(t *testing.T) {
	s := newSessionStage(t)
	s.closing = func(sessions.CloseRequest) error {
		s.SignalWorkflow(api.SignalAppend, handIn("b"))
		return invalid("episode: cannot be stored")
	}
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("a")) }, time.Second)
	closed := update[api.SessionResult](s, 2*time.Second, api.UpdateClose, "close", api.CloseRequest{})
	s.ExecuteWorkflow(agents.Session, sessionInput())
	require.ErrorContains(t, s.GetWorkflowError(), "cannot be stored")
	require.ErrorContains(t, closed.err, "cannot be stored")
	require.Equal(t, []string{"a", "b"}, s.ledger)
}

// A run that continues as new passes only sequence numbers. The next run continues them and closes one episode with all
// events.
func TestSessionContinuesAsNewWithItsState(t *testing.T) {
	per := agents.SessionEventsPerRun
	agents.SessionEventsPerRun = 3
	t.Cleanup(func() { agents.SessionEventsPerRun = per })
	s := newSessionStage(t)
	in := sessionInput()
	in.Settings = api.SessionSettings{IdleSeconds: 120, ReflectionThreshold: 100}
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("a", "b")) }, time.Second)
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn("c", "d")) }, 2*time.Second)
	s.ExecuteWorkflow(agents.Session, in)
	var renewed *workflow.ContinueAsNewError
	require.ErrorAs(t, s.GetWorkflowError(), &renewed)
	var next api.SessionInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(renewed.Input, &next))
	want := in
	want.State = &api.SessionState{FirstSeq: 1, LastSeq: 4, Events: 4, Runs: 1, Told: 4, Unreflected: 4}
	require.Equal(t, want, next)

	second := newSessionStage(t)
	second.ledger = s.ledger
	var progress api.SessionProgress
	second.RegisterDelayedCallback(func() { second.SignalWorkflow(api.SignalAppend, handIn("d", "e")) }, time.Second)
	second.RegisterDelayedCallback(func() {
		value, err := second.QueryWorkflow(api.QueryProgress)
		require.NoError(t, err)
		require.NoError(t, value.Get(&progress))
	}, 2*time.Second)
	second.ExecuteWorkflow(agents.Session, next)
	var out api.SessionResult
	require.NoError(t, second.GetWorkflowResult(&out))
	require.Equal(t, 2, progress.Runs)
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, second.ledger)
	require.Equal(t, 5, out.Events)
	require.Equal(t, int64(1), out.FirstSeq)
}

// A run that is asked for a new history continues as new, even when it is idle.
func TestSessionRenewsItsHistoryWhenAsked(t *testing.T) {
	s := newSessionStage(t)
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalRenew, nil) }, time.Second)
	s.ExecuteWorkflow(agents.Session, sessionInput())
	var renewed *workflow.ContinueAsNewError
	require.ErrorAs(t, s.GetWorkflowError(), &renewed)
	require.Empty(t, s.closed)
}

// A session may reflect less often than one reflection reads events. The request to reflect is still valid, because the
// reflection makes several beliefs.
func TestAHighReflectionThreshold(t *testing.T) {
	s := newSessionStage(t)
	s.RegisterWorkflow(agents.Reflect)
	var asked []api.ReflectInput
	s.OnWorkflow(agents.Reflect, mock.Anything, mock.Anything).Return(func(_ workflow.Context,
		in api.ReflectInput) (api.ReflectResult, error) {
		asked = append(asked, in)
		return api.ReflectResult{}, in.Validate()
	})
	in := sessionInput()
	in.Settings = api.SessionSettings{IdleSeconds: 60, ReflectionThreshold: api.MaxReflectionThreshold + 500}
	var ids []string
	for i := range in.Settings.ReflectionThreshold {
		ids = append(ids, fmt.Sprint("e", i))
	}
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, handIn(ids[:900]...)) }, time.Second)
	s.RegisterDelayedCallback(func() {
		require.Empty(t, asked)
		s.SignalWorkflow(api.SignalAppend, handIn(ids[900:]...))
	}, 2*time.Second)
	s.ExecuteWorkflow(agents.Session, in)
	require.NoError(t, s.GetWorkflowError())
	require.Len(t, asked, 1)
	require.NoError(t, asked[0].Validate())
}

// An update with a misspelt field is refused with the path of the field: a misspelt visibility must not show an event
// to others. No one waits for a signal, so unknown fields are left out; if a field has a wrong type, no event is
// stored.
func TestASessionNamesMisreadFields(t *testing.T) {
	s := newSessionStage(t)
	in := sessionInput()
	in.Settings.IdleSeconds = 60
	events := func(text string) json.RawMessage { return json.RawMessage(`{"events":[` + text + `]}`) }
	const good = `{"id":"good","kind":"agent.thought","payload":{"text":"x"}}`
	misspelt := update[api.AppendResult](s, time.Second, api.UpdateAppend, "1",
		events(`{"id":"a","kind":"world.observed","visiblity":"private"}`))
	twice := update[api.AppendResult](s, 2*time.Second, api.UpdateAppend, "2",
		events(`{"id":"b","kind":"world.observed","visibility":"private","Visibility":"global"}`))
	var progress api.SessionProgress
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(api.SignalAppend, events(good+`,{"id":"c","kind":"agent.thought","turn":"one"}`))
	}, 3*time.Second)
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(api.SignalAppend, events(good)) }, 4*time.Second)
	s.RegisterDelayedCallback(func() {
		value, err := s.QueryWorkflow(api.QueryProgress)
		require.NoError(t, err)
		require.NoError(t, value.Get(&progress))
	}, 5*time.Second)
	s.ExecuteWorkflow(agents.Session, in)
	require.NoError(t, s.GetWorkflowError())
	require.ErrorContains(t, misspelt.err, "events[0].visiblity: unknown field")
	require.ErrorContains(t, twice.err, "events[0].Visibility: is given twice")
	require.Equal(t, []string{"good"}, s.ledger)
	require.Equal(t, 2, progress.Refused)
}

// A session with a misspelt setting is not opened. If events came by signal with the start, the field is left out,
// because no one waits for the answer and the events would be lost.
func TestASessionNamesMisreadInput(t *testing.T) {
	const input = `{"principal":{"tenant":"t","agent":"a"},"session":"s","settings":{"idle_secnds":60}}`
	s := newSessionStage(t)
	s.ExecuteWorkflow(api.WorkflowSession, json.RawMessage(input))
	require.ErrorContains(t, s.GetWorkflowError(), "settings.idle_secnds: unknown field")

	s = newSessionStage(t)
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(api.SignalAppend, api.AppendSignal{Events: []ledger.Event{event("end")}})
	}, 0)
	s.ExecuteWorkflow(api.WorkflowSession, json.RawMessage(input))
	require.NoError(t, s.GetWorkflowError())
	require.Equal(t, []string{"end"}, s.ledger)
}

// A request to close with a misspelt outcome is refused. A signal with a wrong type is ignored, as ever.
func TestASessionNamesMisreadRequestsToClose(t *testing.T) {
	s := newSessionStage(t)
	misspelt := update[api.SessionResult](s, time.Second, api.UpdateClose, "1", json.RawMessage(`{"outcom":"success"}`))
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(api.SignalClose, json.RawMessage(`{"outcome":5}`))
	}, 2*time.Second)
	closed := update[api.SessionResult](s, 3*time.Second, api.UpdateClose, "2",
		json.RawMessage(`{"outcome":"success"}`))
	s.RegisterDelayedCallback(func() {
		s.SignalWorkflow(api.SignalAppend, api.AppendSignal{Events: []ledger.Event{event("a")}})
	}, 0)
	s.ExecuteWorkflow(agents.Session, sessionInput())
	require.NoError(t, s.GetWorkflowError())
	require.ErrorContains(t, misspelt.err, "outcom: unknown field")
	require.NoError(t, closed.err)
	require.Len(t, s.closed, 1)
	require.Equal(t, schema.OutcomeSuccess, s.closed[0].Outcome)
}
