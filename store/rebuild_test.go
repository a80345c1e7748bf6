package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

// rebuild compares or rebuilds everything that sessions of the tenant derived, page by page, and the marks of
// streams.
func (w *world) rebuild(verify, drop bool, streams ...string) (out []sessions.Compared) {
	w.t.Helper()
	in := sessions.RebuildInput{Tenant: "t", Limit: 2, Verify: verify, Drop: drop,
		Policy: proposals.DefaultWritePolicy(), Now: time.Now()}
	for {
		page, err := w.Store.RebuildSessions(ctx, in)
		require.NoError(w.t, err)
		out = append(out, page.Compared...)
		if in.After = page.Last; !page.More {
			break
		}
	}
	for _, stream := range streams {
		compared, err := w.Store.RebuildStream(ctx, events.RebuildInput{Tenant: "t", Stream: stream, Verify: verify,
			Drop: drop, Now: time.Now()})
		require.NoError(w.t, err)
		for _, seq := range compared.Marks {
			out = append(out, sessions.Compared{Kind: ledger.DerivedMarks, ID: fmt.Sprint(seq), Stream: stream,
				Fields: []string{"marks"}, Rebuilt: compared.Rebuilt})
		}
	}
	return out
}

// differing selects the differences, except those that are kept on purpose.
func differing(list []sessions.Compared) (out []sessions.Compared) {
	for _, c := range list {
		if len(c.Fields) > 0 && c.Kept == "" {
			out = append(out, c)
		}
	}
	return out
}

// derivedRows returns everything derived from the ledger, as stored in Postgres.
func (w *world) derivedRows() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for name, sql := range map[string]string{
		"memories": `SELECT coalesce(jsonb_agg(to_jsonb(m) - '{updated_at,recorded_at,last_reinforced_at,decay_due_at}'::text[] ORDER BY m.id), '[]') FROM memories m`,
		"evidence": `SELECT coalesce(jsonb_agg(to_jsonb(p) - 'created_at' ORDER BY p.memory_id, p.position), '[]')
			FROM memory_provenance p`,
		"sessions": `SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY s.id), '[]') FROM sessions s`,
		"episodes": `SELECT coalesce(jsonb_agg(to_jsonb(e) ORDER BY e.session_id, e.first_seq), '[]')
			FROM session_episodes e`,
		"marks": `SELECT coalesce(jsonb_agg(to_jsonb(m) ORDER BY m.stream, m.seq, m.audience, m.mark), '[]')
			FROM event_marks m`,
	} {
		var value string
		require.NoError(w.t, w.owner.QueryRow(ctx, sql).Scan(&value))
		out[name] = value
	}
	return out
}

func (w *world) sql(statement string, args ...any) {
	w.t.Helper()
	_, err := w.owner.Exec(ctx, statement, args...)
	require.NoError(w.t, err)
}

// Whatever the ledger contains, everything that sessions derived from it can be lost and rebuilt unchanged.
func TestDerivedIsRebuiltFromTheLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	streams := []string{"run/x", "world/w", "conversation/c"}
	kinds := []string{ledger.KindRunStarted, ledger.KindAgentSpoke, ledger.KindAgentThought, ledger.KindWorldObserved,
		ledger.KindUserInjected, ledger.KindToolCalled, ledger.KindToolReturned, ledger.KindToolFailed,
		ledger.KindWorkingUpdated, ledger.KindOutcome, ledger.KindEnvironment}
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{"session_episodes", "sessions", "memory_versions", "memories"} {
			w.sql(`DELETE FROM ` + table)
		}
		run := uuid.NewString()
		keys := []sessions.Key{}
		for i, stream := range streams {
			for _, agent := range []string{"ann", "bob"} {
				key := sessionKey(agent, fmt.Sprint(i, run), stream+run)
				if agent == "bob" {
					key.Principal.PolicyGroup = ""
				}
				if i == 2 { // a conversation with a user, for whom both agents act
					key.Principal.User = "u"
				}
				keys = append(keys, key)
			}
		}
		n := 0
		event := func(stream string) ledger.Event {
			n++
			kind, agent := rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.SampledFrom([]string{"ann", "bob",
				"eve"}).Draw(rt, "agent")
			e := said(fmt.Sprint(run, n), stream, agent, kind)
			e.Visibility = rapid.SampledFrom([]schema.Visibility{"", "", "group", "shared",
				"private"}).Draw(rt, "visibility")
			e.Sensitivity = rapid.SampledFrom([]schema.Sensitivity{"", "medium", "high"}).Draw(rt, "class")
			call := fmt.Sprint("c", rapid.IntRange(0, 3).Draw(rt, "call"))
			var payload any
			switch kind {
			case ledger.KindWorldObserved:
				payload = map[string]any{"door": n, "text": fmt.Sprint("note ", n)}
			case ledger.KindToolCalled:
				payload = ledger.ToolCall{CallID: call, Tool: "open",
					Args: json.RawMessage(fmt.Sprintf(`{"path":"/a/%d"}`, n))}
			case ledger.KindToolReturned:
				payload = ledger.ToolResult{CallID: call, Result: json.RawMessage(`"ok"`),
					Artifacts: []string{fmt.Sprint("file-", n)}}
			case ledger.KindToolFailed:
				payload = ledger.ToolResult{CallID: call, Error: "it is locked"}
			case ledger.KindWorkingUpdated:
				payload = map[string]any{"context_summary": fmt.Sprint("step ", n), "next_actions": []string{"go on"},
					"active_constraints": []any{map[string]any{"b": 1, "a": 2}}}
			case ledger.KindOutcome:
				payload = ledger.Outcome{Outcome: schema.OutcomeFailure}
			case ledger.KindEnvironment:
				payload = schema.Environment{OS: "linux", Context: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
			default:
				return e
			}
			e.Payload, _ = json.Marshal(payload)
			return e
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			key := rapid.SampledFrom(keys).Draw(rt, "session")
			var list []ledger.Event
			for range rapid.IntRange(1, 5).Draw(rt, "events") {
				list = append(list, event(key.Stream))
			}
			w.takeIn(key)
			w.append(time.Now(), list...)
			w.takeIn(key)
			if rapid.IntRange(0, 2).Draw(rt, "close") == 0 {
				_, err := w.Store.CloseSession(ctx, sessions.CloseInput{Key: key, Why: session.Idle,
					Policy:  proposals.DefaultWritePolicy(),
					Outcome: rapid.SampledFrom([]schema.Outcome{"", "partial"}).Draw(rt, "outcome"), Now: time.Now()})
				require.NoError(t, err)
			}
		}
		all := []string{}
		for _, stream := range streams {
			all = append(all, stream+run)
		}
		before := w.derivedRows()
		compared := w.rebuild(true, false, all...)
		require.Empty(t, differing(compared), "nothing differs")

		w.sql(`DELETE FROM memories WHERE type = 'episodic'`)
		w.sql(`UPDATE sessions SET working = NULL, events = 0, ended_seq = NULL, changed_seq = 0 WHERE state = 'open'`)
		w.sql(`DELETE FROM event_marks`)
		lost := differing(w.rebuild(true, false))
		require.Len(t, lost, len(compared), "every record and every state is reported missing")
		for _, c := range lost {
			require.NotEmpty(t, c.Fields)
			require.False(t, c.Rebuilt, "it only compares")
		}
		for _, c := range w.rebuild(false, false, all...) {
			require.True(t, c.Rebuilt, c)
		}
		// Marks of streams of earlier cases stay lost: they belong to another ledger.
		after := w.derivedRows()
		require.Equal(t, before["memories"], after["memories"])
		require.Equal(t, before["evidence"], after["evidence"])
		require.Equal(t, before["sessions"], after["sessions"])
		require.Equal(t, before["episodes"], after["episodes"])
		require.Empty(t, differing(w.rebuild(true, false, all...)))

		for _, c := range w.rebuild(false, true, all...) {
			require.True(t, c.Rebuilt || c.Kept != "", c)
		}
		again := w.derivedRows()
		require.Equal(t, after, again, "after a rebuild everything is as before")
		w.sql(`DELETE FROM memories WHERE type = 'episodic'`) // contents must not repeat across cases
	})
}

// A record changed by a person or forgotten, and events missing from the ledger, are not reported as differences.
func TestRebuildKeepsChangesMadeElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var closed []sessions.Closed
	for i := range 5 {
		name := fmt.Sprint("s", i)
		key := sessionKey("ann", name, "run/"+name)
		w.append(time.Now(), updated("a"+name, key.Stream, "ann", "so far "+name),
			said("b"+name, key.Stream, "ann", ledger.KindAgentSpoke),
			ended("e"+name, key.Stream, "ann"))
		w.takeIn(key)
		closed = append(closed, w.closeSession(key, 1, session.Finished))
	}
	require.Empty(t, differing(w.rebuild(true, false)))
	id := func(i int) uuid.UUID { return *closed[i].MemoryID }
	w.sql(`UPDATE memories SET tags = '{mine}', version = version + 1 WHERE id = $1`, id(0))
	w.sql(`UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1`, id(1))
	_, err := w.Store.EraseEvents(ctx, sessions.EraseInput{Tenant: "t", IDs: []string{"bs2"}, Now: time.Now()})
	require.NoError(t, err)
	_, err = w.Store.EraseEvents(ctx, sessions.EraseInput{Tenant: "t", IDs: []string{"bs3"}, Now: time.Now()})
	require.NoError(t, err)
	w.sql(`DELETE FROM memories WHERE id = $1`, id(3))
	w.sql(`DELETE FROM memories WHERE id = $1`, id(4))
	w.sql(`INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, created_at, action, version)
		VALUES ('t', gen_random_uuid(), $1, 'deleted', 'x', 'forced', now(), 'delete', 2)`, id(4))
	want := map[uuid.UUID]string{id(0): ledger.KeptChanged, id(1): ledger.KeptForgotten, id(2): ledger.KeptEventsGone,
		id(3): ledger.KeptEventsGone, id(4): ledger.KeptForgotten}
	for _, drop := range []bool{false, true} {
		before := w.derivedRows()
		got := map[uuid.UUID]string{}
		for _, c := range w.rebuild(false, drop) {
			require.False(t, c.Rebuilt, c)
			got[uuid.MustParse(c.ID)] = c.Kept
		}
		require.Equal(t, want, got)
		require.Equal(t, before, w.derivedRows())
	}
}

// A difference is reported with its field. A record that others refer to is not removed.
func TestRebuildNamesDifferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := sessionKey("ann", "x", "run/x")
	w.append(time.Now(), updated("a", "run/x", "ann", "so far"), ended("b", "run/x", "ann"),
		updated("c", "run/x", "ann", "go on"))
	w.takeIn(key)
	closed := w.closeSession(key, 1, session.Finished)
	w.takeIn(key)
	w.sql(`UPDATE sessions SET working = jsonb_set(working, '{payload,context_summary}', '"forged"'), events = 7`)
	w.sql(`ALTER TABLE memories DISABLE TRIGGER USER`)
	w.sql(`UPDATE memories SET payload = jsonb_set(payload, '{outcome}', '"partial"') WHERE id = $1`, *closed.MemoryID)
	w.sql(`ALTER TABLE memories ENABLE TRIGGER USER`)
	found := differing(w.rebuild(true, false))
	require.Len(t, found, 2)
	require.Equal(t, []string{"events", "working.context_summary"}, found[0].Fields)
	require.Equal(t, []string{"payload.outcome"}, found[1].Fields)

	other := w.memory("drawn from the episode")
	w.sql(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'derived_from', $2, now())`, other, *closed.MemoryID)
	for _, c := range w.rebuild(false, false) {
		require.Equal(t, c.Kind == ledger.DerivedEpisode, c.Kept == ledger.KeptReferred)
		require.Equal(t, c.Kind == ledger.DerivedWorking, c.Rebuilt)
	}
	w.sql(`DELETE FROM memory_links`)
	w.rebuild(false, false)
	require.Empty(t, differing(w.rebuild(true, false)))
}

// The working state is that of the agent's own open session, up to the end of the stream, as its group sees it.
func TestWorkingOfAnOpenSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := sessionKey("ann", "x", "run/x")
	working := func(in sessions.WorkingInput) *session.Working {
		out, err := w.Store.WorkingOf(ctx, in)
		require.NoError(t, err)
		return out
	}
	in := sessions.WorkingInput{Principal: key.Principal, Streams: []string{"world/w", "run/x"}}
	require.Nil(t, working(in), "there is no session")
	w.append(time.Now(), updated("a", "run/x", "ann", "so far"))
	w.takeIn(key)
	w.append(time.Now(), updated("b", "run/x", "ann", "on"))
	before := w.derivedRows()
	require.Equal(t, "on", working(in).Payload.ContextSummary, "events after the last snapshot of the session count")
	require.Equal(t, before, w.derivedRows(), "it only reads")
	in.Streams = []string{"run/y"}
	require.Nil(t, working(in))
	in.Session = "x"
	require.Equal(t, "on", working(in).Payload.ContextSummary, "by the name of the session")
	in.Principal.Agent = "bob"
	require.Nil(t, working(in), "it is ann's session")
	in.Principal = key.Principal
	in.Principal.User = "u"
	require.Nil(t, working(in), "it belongs to no user")

	in.Principal = key.Principal
	thing := ended("c", "run/x", "bob")
	thing.Visibility = schema.VisibilityGroup
	w.append(time.Now(), thing)
	require.Equal(t, schema.TaskDone, working(in).Payload.State, "bob shows its group how the run ended")
	w.takeIn(key)
	in.Principal.PolicyGroup = "another"
	require.NotEqual(t, schema.TaskDone, working(in).Payload.State, "another group does not see that")
	_, err := w.Store.EraseEvents(ctx, sessions.EraseInput{Tenant: "t", IDs: []string{"b"}, Now: time.Now()})
	require.NoError(t, err)
	require.Equal(t, "so far", working(in).Payload.ContextSummary, "erased events are not shown")
	w.closeSession(key, 0, session.Finished)
	require.Nil(t, working(in), "it is closed")
}
