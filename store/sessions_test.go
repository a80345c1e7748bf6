package store_test

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
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/sessions"
)

func sessionKey(agent, name, stream string) sessions.Key {
	return sessions.Key{Principal: schema.Principal{Tenant: "t", Agent: agent, PolicyGroup: "g"}, Session: name,
		Stream: stream, WorkflowID: "session/t/" + agent + "/" + name}
}

func (w *world) takeIn(key sessions.Key) sessions.State {
	w.t.Helper()
	out, err := w.Store.TakeIn(ctx, key, time.Now())
	require.NoError(w.t, err)
	return out
}

func (w *world) closeSession(key sessions.Key, first int64, why session.Closing) sessions.Closed {
	w.t.Helper()
	out, err := w.Store.CloseSession(ctx, sessions.CloseInput{Key: key, FirstSeq: first, Why: why,
		Policy: proposals.DefaultWritePolicy(), Now: time.Now()})
	require.NoError(w.t, err)
	return out
}

func updated(id, stream, agent, summary string) ledger.Event {
	e := said(id, stream, agent, ledger.KindWorkingUpdated)
	e.Payload = json.RawMessage(fmt.Sprintf(`{"context_summary":%q,"next_actions":["go on"]}`, summary))
	return e
}

func ended(id, stream, agent string) ledger.Event {
	e := said(id, stream, agent, ledger.KindOutcome)
	e.Payload = json.RawMessage(`{"outcome":"success"}`)
	return e
}

// A stream may have more events than one attempt can process, when a session on a shared stream is opened again after a
// long time. An attempt that is interrupted keeps what it has processed, and the next one continues there.
func TestASessionTakesInALongStreamByParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const all = 25_000
	for from := 0; from < all; from += ledger.MaxAppend {
		list := make([]ledger.Event, ledger.MaxAppend)
		for i := range list {
			list[i] = said(fmt.Sprintf("e%d", from+i), "world/town", "bob", ledger.KindWorldObserved)
		}
		w.append(time.Now(), list...)
	}
	key := sessionKey("ann", "x", "world/town")
	_, err := w.owner.Exec(ctx, `
		INSERT INTO sessions (tenant, id, workflow_id, agent_id, scope, session, stream, state, first_seq, last_seq,
			opened_at, updated_at, closed_at)
		VALUES ('t', $1, $2, 'ann', '', 'x', 'world/town', 'closed', 1, 0, now(), now(), now())`, key.ID(), key.WorkflowID)
	require.NoError(t, err)
	interrupted, interrupt := context.WithCancel(ctx)
	defer interrupt()
	progress := 0
	_, err = w.Store.TakeIn(pg.WithProgress(interrupted, func() {
		if progress++; progress == all/events.MaxPage-1 {
			interrupt()
		}
	}), key, time.Now())
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, w.count("sessions", "last_seq >= 10000"))
	st := w.takeIn(key)
	require.Equal(t, []int64{1, all}, []int64{st.FirstSeq, st.LastSeq})
	require.Equal(t, all, st.Events)

	// The same holds when the state of the work has to be computed again, as after an erasure.
	_, err = w.owner.Exec(ctx, `UPDATE sessions SET working = NULL`)
	require.NoError(t, err)
	require.Equal(t, st, w.takeIn(key))
}

// A session processes the events of its stream that its agent sees, and closes into one episode with its evidence.
// Later events belong to the next episode.
func TestSessionClosesIntoAnEpisode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := sessionKey("ann", "x", "run/x")
	w.append(time.Now(), said("a", "run/x", "ann", ledger.KindRunStarted), updated("b", "run/x", "ann", "so far"),
		said("c", "run/x", "bob", ledger.KindAgentThought), said("d", "run/x", "bob", ledger.KindWorldObserved))
	st := w.takeIn(key)
	require.True(t, st.Open)
	require.Equal(t, []int64{1, 4, 2}, []int64{st.FirstSeq, st.LastSeq, st.Changed},
		"a session on its own stream begins with the first event")
	require.Equal(t, 3, st.Events, "bob's thoughts are private")
	require.Equal(t, "so far", st.Working.Payload.ContextSummary)
	require.Equal(t, st, w.takeIn(key), "nothing new")

	w.append(time.Now(), ended("e", "run/x", "ann"), said("f", "run/x", "ann", ledger.KindAgentSpoke))
	st = w.takeIn(key)
	require.Equal(t, []int64{5, 5}, []int64{st.LastSeq, st.Ended}, "it stops at the end")
	require.Equal(t, schema.TaskDone, st.Working.Payload.State)

	closed := w.closeSession(key, 1, session.Idle)
	require.Equal(t, []int64{1, 5}, []int64{closed.FirstSeq, closed.LastSeq})
	require.Equal(t, session.Finished, closed.Closed, "the agent ended it")
	require.Equal(t, schema.OutcomeSuccess, closed.Outcome)
	require.Equal(t, key.EpisodeID(1), *closed.MemoryID)
	again := w.closeSession(key, 1, session.Idle)
	require.Equal(t, closed.MemoryID, again.MemoryID)
	require.Equal(t, 1, w.count("memories", "true"))
	require.Equal(t, 1, w.count("sessions", "state = 'closed' AND working IS NULL"), "the working state is removed")
	require.Equal(t, 4, w.count("memory_provenance", "kind = 'event'"))
	require.Equal(t, 1, w.count("memories",
		"type = 'episodic' AND agent_id = 'ann' AND agent_session_id = 'x' AND visibility = 'private'"))
	require.Equal(t, 1, w.count("memory_history", "event = 'created' AND metadata->>'workflowId' = 'session/t/ann/x'"))

	st = w.takeIn(key)
	require.Equal(t, []int64{6, 6}, []int64{st.FirstSeq, st.LastSeq}, "f belongs to the next episode")
	require.Empty(t, st.Working.Payload.ContextSummary)
	next := w.closeSession(key, 6, session.Idle)
	require.Equal(t, schema.OutcomePartial, next.Outcome)
	require.NotEqual(t, closed.MemoryID, next.MemoryID)
	require.Equal(t, closed.MemoryID, w.closeSession(key, 1, session.Idle).MemoryID, "each episode keeps its own")

	_, err := w.Store.OpenSession(ctx, key, time.Now())
	require.NoError(t, err)
	nothing := w.closeSession(key, 0, session.Finished)
	require.Equal(t, next.MemoryID, nothing.MemoryID, "there are no new events")
	require.Equal(t, 2, w.count("memories", "true"))
}

// A session on a stream that others use begins with the next event. A session without events has no episode.
func TestSessionOnASharedStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append(time.Now(), said("a", "conversation/z", "ann", ledger.KindAgentSpoke))
	key := sessionKey("ann", "x", "conversation/z")
	st, err := w.Store.OpenSession(ctx, key, time.Now())
	require.NoError(t, err)
	require.Equal(t, []int64{2, 1}, []int64{st.FirstSeq, st.LastSeq})
	closed := w.closeSession(key, 2, session.Idle)
	require.Nil(t, closed.MemoryID)
	require.Zero(t, w.count("memories", "true"))
	key.Stream = "conversation/other"
	_, err = w.Store.OpenSession(ctx, key, time.Now())
	require.ErrorContains(t, err, "stream: is not the stream of the session")
}

// EraseEvents returns the sessions and episodes that may contain the events. After it, the working state no longer
// depends on them.
func TestEraseEventsOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := sessionKey("ann", "x", "run/x")
	w.append(time.Now(), updated("a", "run/x", "ann", "first"), ended("b", "run/x", "ann"),
		updated("c", "run/x", "ann", "second"), updated("d", "run/x", "ann", "third"))
	w.takeIn(key)
	closed := w.closeSession(key, 1, session.Finished)
	require.Equal(t, "third", w.takeIn(key).Working.Payload.ContextSummary)
	erased, err := w.Store.EraseEvents(ctx,
		sessions.EraseInput{Tenant: "t", IDs: []string{"a", "d", "nothing"}, Now: time.Now()})
	require.NoError(t, err)
	require.Equal(t, sessions.Erased{Events: 2, Workflows: []string{"session/t/ann/x"},
		Episodes: []uuid.UUID{*closed.MemoryID}, Unknown: []string{"nothing"}}, erased)
	require.Equal(t, 0, w.count("sessions", "working IS NOT NULL"))
	st := w.takeIn(key)
	require.Equal(t, "second", st.Working.Payload.ContextSummary)
	require.Equal(t, []int64{3, 4}, []int64{st.FirstSeq, st.LastSeq})
	again, err := w.Store.EraseEvents(ctx, sessions.EraseInput{Tenant: "t", IDs: []string{"a", "d"}, Now: time.Now()})
	require.NoError(t, err)
	require.Zero(t, again.Events)
	require.Equal(t, erased.Workflows, again.Workflows)
}
