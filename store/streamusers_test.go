package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

// appendFor appends events for a user.
func (w *world) appendFor(user string, list ...ledger.Event) error {
	_, err := w.Store.Append(ctx, events.AppendInput{Tenant: "t", PolicyGroup: "g", User: user, Events: list,
		Open: views.GlobalKinds(), Now: w.now})
	return err
}

func requireField(t *testing.T, err error, field string) {
	t.Helper()
	var invalid *schema.ValidationError
	require.True(t, errors.As(err, &invalid), "%v", err)
	require.Equal(t, field, invalid.Fields[0].Field, "%v", err)
}

func (w *world) scopeOf(stream string) (scope string) {
	w.t.Helper()
	require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT scope FROM event_streams WHERE tenant = 't' AND stream = $1`,
		stream).Scan(&scope))
	return scope
}

func TestAStreamBelongsToTheUserWhoBeganIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.appendFor("maya", said("m1", "run/m", "ann", ledger.KindUserInjected),
		said("w1", "world/town", "ann", ledger.KindWorldObserved)))
	require.Equal(t, []string{"user/maya", ""}, []string{w.scopeOf("run/m"), w.scopeOf("world/town")})
	require.NoError(t, w.appendFor("maya", said("m2", "run/m", "ann", ledger.KindAgentSpoke)))
	require.NoError(t, w.appendFor("", said("m3", "run/m", "ann", ledger.KindAgentSpoke),
		said("a1", "run/a", "ann", ledger.KindAgentSpoke)), "an agent keeps its users' streams")
	require.NoError(t, w.appendFor("tom", said("w2", "world/town", "ann", ledger.KindWorldObserved)))

	own := said("t1", "run/t", "ann", ledger.KindUserInjected)
	for _, stream := range []string{"run/m", "run/a", "world/town"} {
		requireField(t, w.appendFor("tom", own, said("t2", stream, "ann", ledger.KindAgentSpoke)), "events[1].stream")
	}
	require.Zero(t, w.count("events", "id IN ('t1', 't2')"), "nothing of a refused request is appended")
	require.Zero(t, w.count("event_streams", "stream = 'run/t'"))
}

func TestOneOfTwoUsersGetsANewStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, stream := range []string{"run/1", "run/2", "run/3", "run/4", "run/5"} {
		users := []string{"maya", "tom", "ana", "bo"}
		errs := make([]error, len(users))
		var all sync.WaitGroup
		for i, user := range users {
			all.Go(func() { errs[i] = w.appendFor(user, said(stream+user, stream, "ann", ledger.KindAgentSpoke)) })
		}
		all.Wait()
		appended := 0
		for i, err := range errs {
			if err == nil {
				appended++
				require.Equal(t, schema.UserScope(users[i]), w.scopeOf(stream))
				continue
			}
			requireField(t, err, "events[0].stream")
		}
		require.Equal(t, 1, appended)
	}
}

// Every read of the ledger for a user leaves out the streams of other users, whatever the events' visibility.
func TestAUserReadsNoStreamOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shared := said("m1", "run/m", "ann", ledger.KindUserInjected)
	shared.Visibility = schema.VisibilityGlobal
	require.NoError(t, w.appendFor("maya", shared, believed("m-belief", "run/m", "ann", "", "m1"),
		said("m2", "run/m", "ann", ledger.KindAgentSpoke)))
	require.NoError(t, w.appendFor("tom", said("t1", "run/t", "ann", ledger.KindUserInjected),
		believed("t-belief", "run/t", "ann", "", "t1")))
	require.NoError(t, w.appendFor("", said("a1", "run/a", "ann", ledger.KindAgentSpoke)))

	streams := []string{"run/m", "run/t", "run/a"}
	for user, want := range map[string]map[string][]string{
		"maya": {"run/m": {"m1", "m-belief", "m2"}, "run/a": {"a1"}},
		"tom":  {"run/t": {"t1", "t-belief"}, "run/a": {"a1"}},
		"ana":  {"run/a": {"a1"}},
		"": {"run/m": {"m1", "m-belief", "m2"}, "run/t": {"t1", "t-belief"},
			"run/a": {"a1"}},
	} {
		p := schema.Principal{Tenant: "t", Agent: "ann", User: user}
		var all, beliefs []string
		for _, stream := range streams {
			latest, err := w.Store.Latest(ctx, events.LatestInput{Principal: p, Stream: stream, Limit: 10})
			require.NoError(t, err)
			require.ElementsMatch(t, want[stream], idsOf(latest), "latest of %s for %q", stream, user)
			all = append(all, want[stream]...)

			pending, err := w.Store.Pending(ctx, events.PendingInput{Principal: p, Stream: stream, Limit: 10})
			require.NoError(t, err)
			if want[stream] == nil {
				require.Empty(t, pending)
			}
			found, err := w.Store.Reflections(ctx, events.ReflectionsInput{Principal: p, Stream: stream, Limit: 10})
			require.NoError(t, err)
			for _, id := range idsOf(found) {
				require.Contains(t, want[stream], id)
			}
			beliefs = append(beliefs, idsOf(found)...)
		}
		own, err := w.Store.Reflections(ctx, events.ReflectionsInput{Principal: p, Limit: 10})
		require.NoError(t, err)
		if user == "" { // by the name of a stream, or of the user's scope
			beliefs = nil
			scoped, err := w.Store.Reflections(ctx, events.ReflectionsInput{Limit: 10,
				Principal: schema.Principal{Tenant: "t", Agent: "ann", Scope: schema.UserScope("maya")}})
			require.NoError(t, err)
			require.Equal(t, []string{"m-belief"}, idsOf(scoped))
		}
		require.ElementsMatch(t, beliefs, idsOf(own))
		byID, err := w.Store.ByIDFor(ctx, "t", user, []string{"m1", "m-belief", "m2", "t1", "t-belief", "a1"})
		require.NoError(t, err)
		require.ElementsMatch(t, all, idsOf(byID))

		for _, memory := range []views.Memory{{}, {UseSalience: true}, {UseSalience: true, ReflectionThreshold: 1},
			{ReflectionThreshold: 1}} {
			view, err := w.Store.ForView(ctx, events.ViewInput{Tenant: "t", Streams: streams, Memory: memory,
				Viewer: views.Viewer{Agent: "ann", User: user}})
			require.NoError(t, err)
			for _, id := range idsOf(view.Events) {
				require.Contains(t, all, id, "view %+v for %q", memory, user)
			}
		}
	}
}

// A user's belief cites no event of another user's stream, neither as a reflection nor as an appended event.
func TestABeliefCitesNoStreamOfAnotherUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.appendFor("maya", said("m1", "run/m", "ann", ledger.KindUserInjected)))
	require.NoError(t, w.appendFor("tom", said("t1", "run/t", "ann", ledger.KindUserInjected)))
	requireField(t, w.appendFor("tom", believed("r", "run/t", "ann", "", "t1", "m1")), "events[0].payload.based_on[1]")

	reflect := func(stream string, based ...string) error {
		_, err := w.Store.Reflect(ctx, events.ReflectInput{Tenant: "t", Viewer: views.Viewer{Agent: "ann", User: "tom"},
			Event:      ledger.Event{ID: "r", Stream: stream, Agent: "ann", Kind: ledger.KindAgentReflected, OccurredAt: w.now},
			Reflection: ledger.Reflection{Belief: "x", BasedOn: based}, Open: views.GlobalKinds(), Now: w.now})
		return err
	}
	requireField(t, reflect("run/t", "t1", "m1"), "based_on[1]")
	requireField(t, reflect("run/m", "t1"), "stream")
	require.NoError(t, reflect("run/t", "t1"))
}

func TestASessionOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := func(user, name string) sessions.Key {
		k := sessionKey("ann", name, "run/chat")
		k.Principal.User = user
		k.WorkflowID += user
		return k
	}
	_, err := w.Store.OpenSession(ctx, key("maya", "chat"), w.now) // before the first event
	require.NoError(t, err)
	for _, user := range []string{"tom", "ana"} {
		_, err := w.Store.OpenSession(ctx, key(user, "chat"), w.now)
		requireField(t, err, "stream")
		_, err = w.Store.TakeIn(ctx, key(user, "other"), w.now)
		requireField(t, err, "stream")
	}
	require.Equal(t, 1, w.count("sessions", "TRUE"))
	list := func(scopes ...string) int {
		listed, err := w.Store.ListSessions(ctx, sessions.ListInput{Tenant: "t", Scopes: scopes, Limit: 10})
		require.NoError(t, err)
		return len(listed)
	}
	require.Equal(t, 1, list(schema.UserScope("maya"), ""))
	require.Zero(t, list(schema.UserScope("tom"), ""))
	require.Zero(t, list(""))
	require.Equal(t, 1, list(), "of every scope")
	require.NoError(t, w.appendFor("maya", said("m1", "run/chat", "ann", ledger.KindUserInjected)))
	_, err = w.Store.OpenSession(ctx, key("", "helper"), w.now)
	requireField(t, err, "stream") // its episode would be a memory of no user
	world := key("maya", "town")
	world.Stream = "world/town"
	_, err = w.Store.OpenSession(ctx, world, w.now)
	requireField(t, err, "stream") // its episode would have what other users say there
	state, err := w.Store.TakeIn(ctx, key("maya", "chat"), w.now)
	require.NoError(t, err)
	require.Equal(t, 1, state.Events)
}

// The events of a user are those of its streams. They are erased page by page; pages include erased ones, unless only
// those that are left are requested.
func TestEventsOfAUserByPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.appendFor("maya", said("m1", "run/a", "ann", ledger.KindUserInjected),
		said("m2", "run/a", "ann", ledger.KindAgentSpoke), said("m3", "run/c", "bob", ledger.KindAgentSpoke),
		said("w1", "world/town", "ann", ledger.KindWorldObserved)))
	require.NoError(t, w.appendFor("tom", said("t1", "run/b", "ann", ledger.KindUserInjected)))
	w.append(w.now, said("a1", "run/d", "ann", ledger.KindUserInjected))
	_, err := w.Store.Empty(ctx, "t", []string{"m2"}, w.now)
	require.NoError(t, err)
	pages := func(limit int, left bool) (read, erased int) {
		for place := (events.Place{}); ; {
			out, err := w.Store.EraseUserPage(ctx, sessions.EraseInput{Tenant: "t", User: "maya", Now: w.now},
				events.UserPage{After: place, Left: left, Limit: limit})
			require.NoError(t, err)
			require.LessOrEqual(t, out.Read, limit)
			if out.Read == 0 {
				return read, erased
			}
			read, erased, place = read+out.Read, erased+out.Events, out.Last
		}
	}
	read, erased := pages(1, true)
	require.Equal(t, []int{2, 2}, []int{read, erased})
	require.Equal(t, 3, w.count("events", "erased_at IS NULL"), "those of others stay")
	for limit := 1; limit <= 4; limit++ {
		read, erased := pages(limit, false)
		require.Equal(t, []int{3, 0}, []int{read, erased})
		read, _ = pages(limit, true)
		require.Zero(t, read)
	}
}

// A step that erases events is carried out once: when it is repeated, it returns the first result and erases nothing,
// not even events that have arrived since.
func TestAStepErasesEventsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	say := func(id string) {
		require.NoError(t, w.appendFor("maya", said(id, "run/a", "ann", ledger.KindUserInjected)))
	}
	say("m1")
	in := sessions.EraseInput{Tenant: "t", User: "maya", Now: w.now, Operation: "erase-events/run/1"}
	page := events.UserPage{Left: true, Limit: 10}
	first, err := w.Store.EraseUserPage(ctx, in, page)
	require.NoError(t, err)
	require.Equal(t, 1, first.Events)
	say("m2")
	again, err := w.Store.EraseUserPage(ctx, in, page)
	require.NoError(t, err)
	require.Equal(t, []any{first.Events, first.Read, first.Last}, []any{again.Events, again.Read, again.Last})
	require.Equal(t, 1, w.count("events", "erased_at IS NULL"))
	in.Operation, in.IDs = "erase-events/run/2", []string{"m2", "none"}
	for range 2 {
		out, err := w.Store.EraseEvents(ctx, in)
		require.NoError(t, err)
		require.Equal(t, 1, out.Events)
		require.Equal(t, []string{"none"}, out.Unknown)
	}
}

// A user erases only events of its own streams. Others are unknown to it.
func TestAUserErasesItsOwnEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.appendFor("maya", said("m1", "run/a", "ann", ledger.KindUserInjected)))
	require.NoError(t, w.appendFor("tom", said("t1", "run/b", "ann", ledger.KindUserInjected)))
	w.append(w.now, said("a1", "run/d", "ann", ledger.KindUserInjected))
	erase := func(user string) sessions.Erased {
		out, err := w.Store.EraseEvents(ctx, sessions.EraseInput{Tenant: "t", User: user,
			IDs: []string{"m1", "t1", "a1", "none"}, Now: w.now})
		require.NoError(t, err)
		return out
	}
	tom := erase("tom")
	require.Equal(t, 1, tom.Events)
	require.Equal(t, []string{"a1", "m1", "none"}, tom.Unknown)
	require.Equal(t, 2, w.count("events", "erased_at IS NULL"))
	agent := erase("")
	require.Equal(t, 2, agent.Events)
	require.Equal(t, []string{"none"}, agent.Unknown)
}

// Streams from before they had users get the user of their sessions.
func TestStreamsFromBeforeGetTheirUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for user, stream := range map[string]string{"maya": "run/m", "tom": "run/both", "ana": "world/town", "": "run/a"} {
		k := sessionKey("ann", user+"s", stream)
		k.Principal.User = user
		if user == "ana" {
			k.Principal.User = "" // a user has no session on a world any more
		}
		_, err := w.Store.OpenSession(ctx, k, w.now)
		require.NoError(t, err)
		w.append(w.now, said(user+"1", stream, "ann", ledger.KindAgentSpoke))
	}
	w.sql(`UPDATE sessions SET scope = 'user/ana' WHERE stream = 'world/town'`)
	_, err := w.owner.Exec(ctx, `
		INSERT INTO sessions (tenant, id, workflow_id, agent_id, scope, session, stream, state, first_seq, last_seq,
			opened_at, updated_at)
		SELECT tenant, gen_random_uuid(), 'second', agent_id, 'user/maya', 'second', stream, state, first_seq, last_seq,
			opened_at, updated_at
		FROM sessions WHERE stream = 'run/both'`)
	require.NoError(t, err)
	_, err = w.owner.Exec(ctx, `UPDATE event_streams SET scope = ''`)
	require.NoError(t, err)
	text, err := os.ReadFile("../schema/migrations/00138_stream_users.sql")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "UPDATE event_streams")
	require.True(t, found)
	update, _, _ := strings.Cut(rest, ";")
	_, err = w.owner.Exec(ctx, "UPDATE event_streams"+update)
	require.NoError(t, err)
	require.Equal(t, []string{"user/maya", "user/", "", ""},
		[]string{w.scopeOf("run/m"), w.scopeOf("run/both"), w.scopeOf("world/town"), w.scopeOf("run/a")})
	for user, n := range map[string]int{"tom": 0, "maya": 0, "": 1} {
		found, err := w.Store.Latest(ctx, events.LatestInput{Stream: "run/both", Limit: 10,
			Principal: schema.Principal{Tenant: "t", Agent: "ann", User: user}})
		require.NoError(t, err)
		require.Len(t, found, n, "a stream of several users is hidden from each")
	}
}

func TestARestoredStreamKeepsItsUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.appendFor("maya", said("m1", "run/m", w.p.Agent, ledger.KindUserInjected)))
	w.append(w.now, said("a1", "run/a", w.p.Agent, ledger.KindUserInjected))
	w.restore("copy", w.export(w.whole()), 10)
	require.Equal(t, 2, w.count("events", "tenant = 'copy'"))
	for user, n := range map[string]int{"maya": 1, "tom": 0, "": 1} {
		found, err := w.Store.Latest(ctx, events.LatestInput{Stream: "run/m", Limit: 10,
			Principal: schema.Principal{Tenant: "copy", Agent: w.p.Agent, User: user}})
		require.NoError(t, err)
		require.Len(t, found, n, user)
	}
	for _, line := range w.export(w.whole()) {
		var read struct {
			Event map[string]json.RawMessage `json:"event"`
		}
		require.NoError(t, json.Unmarshal(line, &read))
		if string(read.Event["id"]) == `"a1"` {
			require.NotContains(t, read.Event, "stream_scope")
		}
	}
}
