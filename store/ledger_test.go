package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
)

func said(id, stream, agent, kind string) ledger.Event {
	return ledger.Event{ID: id, Stream: stream, Agent: agent, Kind: kind,
		OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Payload:    json.RawMessage(fmt.Sprintf(`{"text":"what %s says"}`, id))}
}

func (w *world) append(at time.Time, list ...ledger.Event) []ledger.Appended {
	w.t.Helper()
	out, err := w.Store.Append(ctx, events.AppendInput{Tenant: "t", PolicyGroup: "g", Events: list,
		Open: views.GlobalKinds(), Now: at})
	require.NoError(w.t, err)
	return out
}

// Numbers of a stream begin with 1 and have no gaps. An event that is appended again keeps its number.
func TestAppendEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	a, b, c := said("a", "run/x", "ann", ledger.KindAgentSpoke), said("b", "run/y", "ann",
		ledger.KindAgentSpoke), said("c", "run/x", "bob", ledger.KindWorldObserved)
	require.Equal(t, []ledger.Appended{{ID: "a", Stream: "run/x", Seq: 1, Added: true},
		{ID: "b", Stream: "run/y", Seq: 1, Added: true},
		{ID: "a", Stream: "run/x", Seq: 1}, {ID: "c", Stream: "run/x", Seq: 2, Added: true}}, w.append(now, a, b, a, c))
	spaced := c
	spaced.Payload = json.RawMessage(" " + string(c.Payload)[:1] + " " + string(c.Payload)[1:])
	spaced.Payload = spaced.Payload[1:]
	d := said("d", "run/x", "ann", ledger.KindAgentSpoke)
	require.Equal(t, []ledger.Appended{{ID: "c", Stream: "run/x", Seq: 2},
		{ID: "d", Stream: "run/x", Seq: 3, Added: true}}, w.append(now, spaced, d))

	page, err := w.Store.Page(ctx, "t", "run/x", 0, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "d"}, idsOf(page))
	require.Equal(t, schema.VisibilityGlobal, page[1].Visibility, "the world is seen by everyone")
	require.Equal(t, schema.VisibilityPrivate, page[0].Visibility)
	require.JSONEq(t, string(a.Payload), string(page[0].Payload))
	rest, err := w.Store.Page(ctx, "t", "run/x", 1, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, idsOf(rest))
	byID, err := w.Store.ByID(ctx, "t", []string{"b", "nothing", "d"})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"b", "d"}, idsOf(byID))
	streams, err := w.Store.Streams(ctx, "t", "", 10)
	require.NoError(t, err)
	require.Len(t, streams, 2)
	require.Equal(t, int64(3), streams[0].LastSeq)
	other, err := w.Store.Page(ctx, "another", "run/x", 0, 10)
	require.NoError(t, err)
	require.Empty(t, other)
}

func idsOf(list []ledger.Event) []string {
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	return ids
}

// A request is refused if another event has one of its ids. The error names the id, and nothing is appended.
func TestAppendAnotherEventUnderTheSameID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append(time.Now(), said("a", "run/x", "ann", ledger.KindAgentSpoke))
	changed := said("a", "run/x", "ann", ledger.KindAgentThought)
	_, err := w.Store.Append(ctx, events.AppendInput{Tenant: "t", Now: time.Now(),
		Events: []ledger.Event{said("b", "run/x", "ann", ledger.KindAgentSpoke), changed}})
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "events[1].id", invalid.Fields[0].Field)
	page, err := w.Store.Page(ctx, "t", "run/x", 0, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, idsOf(page))
}

// Sixteen writers append to a shared stream and each to its own, some of them the same events. No number is missing
// or used twice, and each event is stored once.
func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const writers, rounds = 16, 12
	errs := make(chan error, writers*rounds)
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range rounds {
				own := said(fmt.Sprintf("own-%d-%d", n, i), "run/all", fmt.Sprintf("agent-%d", n),
					ledger.KindAgentSpoke)
				shared := said(fmt.Sprintf("shared-%d", i), []string{"run/all", "run/second"}[i%2], "ann",
					ledger.KindAgentSpoke)
				list := []ledger.Event{own, shared}
				if n%2 == 1 {
					slices.Reverse(list)
				}
				_, err := w.Store.Append(ctx, events.AppendInput{Tenant: "t", Events: list, Now: time.Now()})
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	seen := map[string]bool{}
	for stream, want := range map[string]int{"run/all": writers*rounds + rounds/2, "run/second": rounds / 2} {
		page, err := w.Store.Page(ctx, "t", stream, 0, events.MaxPage)
		require.NoError(t, err)
		require.Len(t, page, want)
		for i, e := range page {
			require.Equal(t, int64(i+1), e.Seq)
			require.False(t, seen[e.ID], e.ID)
			seen[e.ID] = true
		}
	}
}

// Latest returns for an agent what the rule of package views lets it see.
func TestLatestMatchesTheView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agents, groups := []string{"ann", "bob", "cas"}, []string{"", "g", "h"}
	kinds := []string{ledger.KindAgentSpoke, ledger.KindAgentThought, ledger.KindWorldObserved,
		ledger.KindAgentReflected, "market.closed"}
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		stream := fmt.Sprintf("run/%d", round)
		var list []ledger.Event
		for i := range rapid.IntRange(1, 40).Draw(r, "events") {
			e := said(fmt.Sprintf("%d-%d", round, i), stream, rapid.SampledFrom(agents).Draw(r, "agent"),
				rapid.SampledFrom(kinds).Draw(r, "kind"))
			e.PolicyGroup = rapid.SampledFrom(groups).Draw(r, "group")
			e.Visibility = rapid.SampledFrom([]schema.Visibility{"", schema.VisibilityPrivate, schema.VisibilityGroup,
				schema.VisibilityShared, schema.VisibilityGlobal}).Draw(r, "visibility")
			e.Sensitivity = rapid.SampledFrom([]schema.Sensitivity{"", schema.SensitivityMedium,
				schema.SensitivityHyper}).Draw(r, "sensitivity")
			if e.Kind == ledger.KindAgentReflected {
				e.Payload = json.RawMessage(`{"belief":"x","based_on":["y"]}`)
			}
			list = append(list, e)
		}
		err := w.appendUnchecked(time.Now(), list...)
		require.NoError(r, err)
		if rapid.Bool().Draw(r, "erase") {
			_, err = w.Store.Empty(ctx, "t", []string{list[0].ID}, time.Now())
			require.NoError(r, err)
			list[0].Erased = true
		}
		p := schema.Principal{Tenant: "t", Agent: rapid.SampledFrom(agents).Draw(r, "viewer"),
			PolicyGroup: rapid.SampledFrom(groups).Draw(r, "viewer's group")}
		ceiling := rapid.SampledFrom([]schema.Sensitivity{schema.SensitivityMedium,
			schema.SensitivityHyper}).Draw(r, "ceiling")
		limit := rapid.IntRange(1, 12).Draw(r, "limit")
		viewer := views.Viewer{Agent: p.Agent, PolicyGroup: p.PolicyGroup, MaxSensitivity: ceiling}
		var want []string
		for _, e := range list {
			if viewer.Sees(e) {
				want = append(want, e.ID)
			}
		}
		want = want[max(0, len(want)-limit):]
		got, err := w.Store.Latest(ctx, events.LatestInput{Principal: p, Stream: stream, MaxSensitivity: ceiling,
			Limit: limit})
		require.NoError(r, err)
		require.Equal(r, append([]string{}, want...), idsOf(got))
	})
}

// Erasing keeps the skeleton row. A late writer may append the event again, which restores nothing.
func TestEmptyEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := said("a", "run/x", "ann", ledger.KindAgentSpoke)
	w.append(time.Now(), e, said("b", "run/x", "ann", ledger.KindAgentSpoke))
	for _, want := range []int{1, 0} {
		n, err := w.Store.Empty(ctx, "t", []string{"a", "nothing"}, time.Now())
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	w.append(time.Now(), e)
	page, err := w.Store.Page(ctx, "t", "run/x", 0, 10)
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.True(t, page[0].Erased)
	require.Empty(t, page[0].Payload)
	require.Equal(t, int64(1), page[0].Seq)
	require.NotEmpty(t, page[1].Payload)
	for _, sql := range []string{`UPDATE events SET turn = 5`, `UPDATE events SET payload = '{}'`,
		`DELETE FROM events`} {
		_, err := w.owner.Exec(ctx, sql)
		require.Error(t, err, sql)
	}
}

// Partitions are created ahead, and are dropped when their month is over and they are empty.
func TestEventPartitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2031, 5, 20, 0, 0, 0, 0, time.UTC)
	made, dropped, err := w.Store.KeepPartitions(ctx, at, time.Time{})
	require.NoError(t, err)
	require.Equal(t, []int{3, 0}, []int{made, dropped})
	w.append(at, said("a", "run/x", "ann", ledger.KindAgentSpoke))
	var part string
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT tableoid::regclass::text FROM events WHERE id = 'a'`).Scan(&part))
	require.Equal(t, "events_2031_05", part)
	made, dropped, err = w.Store.KeepPartitions(ctx, at, at.AddDate(1, 0, 0))
	require.NoError(t, err)
	require.Zero(t, made)
	require.GreaterOrEqual(t, dropped, 2, "all but the one that holds an event")
	page, err := w.Store.Page(ctx, "t", "run/x", 0, 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
}

// A reader may hold the ledger for as long as an export takes. Partitions are then made and dropped another time: the
// purge goes on, and those who read and append meanwhile do not wait.
func TestEventPartitionsWaitForNoReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2031, 5, 20, 0, 0, 0, 0, time.UTC)
	whileRead := func(before time.Time) (made, dropped int) {
		reader, err := w.owner.Begin(ctx)
		require.NoError(t, err)
		defer func() { require.NoError(t, reader.Rollback(ctx)) }()
		_, err = reader.Exec(ctx, `SELECT count(*) FROM events`)
		require.NoError(t, err)
		kept := make(chan error)
		began := time.Now()
		go func() {
			var err error
			made, dropped, err = w.Store.KeepPartitions(ctx, at, before)
			kept <- err
		}()
		for waiting := true; waiting; {
			asked := time.Now()
			_, err := w.Store.Page(ctx, "t", "run/x", 0, 10)
			require.NoError(t, err)
			require.Less(t, time.Since(asked), 2*time.Second)
			select {
			case err := <-kept:
				require.NoError(t, err)
				waiting = false
			case <-time.After(20 * time.Millisecond):
			}
		}
		require.Less(t, time.Since(began), 10*time.Second)
		return made, dropped
	}
	made, dropped := whileRead(time.Time{})
	require.Equal(t, []int{0, 0}, []int{made, dropped})
	made, _, err := w.Store.KeepPartitions(ctx, at, time.Time{})
	require.NoError(t, err)
	require.Equal(t, 3, made)
	made, dropped = whileRead(at.AddDate(1, 0, 0))
	require.Equal(t, []int{0, 0}, []int{made, dropped})
	_, dropped, err = w.Store.KeepPartitions(ctx, at, at.AddDate(1, 0, 0))
	require.NoError(t, err)
	require.GreaterOrEqual(t, dropped, 3)
}

// An invalid request is refused with the name of the field.
func TestAppendRefusesInvalidRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, list := range [][]ledger.Event{nil, make([]ledger.Event, ledger.MaxAppend+1), {{ID: "a"}}} {
		_, err := w.Store.Append(ctx, events.AppendInput{Tenant: "t", Events: list, Now: time.Now()})
		var invalid *schema.ValidationError
		require.True(t, errors.As(err, &invalid), "%v", err)
	}
}

// An event is removed after its window, unless it is of a world, became a memory that still exists, or is the
// evidence of a memory.
func TestPurgeOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append(w.now, said("old", "run/x", "ann", ledger.KindAgentSpoke),
		said("of a world", "world/town", "ann", ledger.KindAgentSpoke),
		said("evidence", "run/y", "ann", ledger.KindAgentSpoke), said("alone", "run/z", "ann", ledger.KindAgentSpoke))
	_, r := w.stage(schema.Candidate{Content: "The pump leaks.", Refs: []schema.Ref{{Kind: "event", Ref: "evidence"}}})
	require.NoError(t, w.CompleteJobs(ctx, r, w.now))
	w.now = w.now.Add(100 * day)
	w.append(w.now, said("new", "run/x", "ann", ledger.KindAgentSpoke))
	w.purge(500)
	require.Equal(t, 6, w.count("events", "true"), "the window is half a year")
	w.now = w.now.Add(90 * day)
	require.Equal(t, 2, w.purge(1)[lifecycle.PurgeEvents])
	left := testkit.Strings(t, w.owner, `SELECT id FROM events WHERE memory_id IS NULL ORDER BY id`)
	require.Equal(t, []string{"evidence", "new", "of a world"}, left)
	require.Zero(t, w.count("event_ids", "id IN ('old', 'alone')"))
	require.Zero(t, w.count("event_streams", "stream = 'run/z'"), "the stream is empty")
	require.Equal(t, []ledger.Appended{{ID: "newer", Stream: "run/x", Seq: 3, Added: true}},
		w.append(w.now, said("newer", "run/x", "ann", ledger.KindAgentSpoke)))
}
