package store_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/events"
)

func believed(id, stream, agent, through string, basedOn ...string) ledger.Event {
	e := said(id, stream, agent, ledger.KindAgentReflected)
	payload, _ := json.Marshal(ledger.Reflection{Belief: "belief " + id, BasedOn: basedOn, Through: through})
	e.Payload = payload
	return e
}

// appendUnchecked appends events without checking the citations of reflections. Ledgers contain such events: the
// cited events were purged since, or the events were appended by an earlier version.
func (w *world) appendUnchecked(at time.Time, list ...ledger.Event) error {
	open, ids := views.GlobalKinds(), map[string]bool{}
	return commit.Write(ctx, w.Store.DB, "t", at, func(c *commit.Change) error {
		rows := []events.Row{}
		for _, e := range list {
			require.False(w.t, ids[e.ID])
			ids[e.ID] = true
			rows = append(rows, events.Row{Stream: e.Stream, ID: e.ID, Agent: e.Agent, PolicyGroup: e.PolicyGroup,
				Kind: e.Kind,
				Turn: e.Turn, Visibility: ledger.VisibilityOf(e, open),
				Sensitivity: cmp.Or(e.Sensitivity, schema.SensitivityLow),
				Payload:     e.Payload, OccurredAt: e.OccurredAt, RecordedAt: at.UTC()})
		}
		batch := &pgx.Batch{}
		if err := events.Queue(batch, rows); err != nil {
			return err
		}
		return c.Tx.SendBatch(ctx, batch).Close()
	})
}

// The events read for a reflection are those that package views finds pending in the whole stream.
func TestPendingMatchesTheTracker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agents, groups := []string{"ann", "bob"}, []string{"", "g", "h"}
	kinds := []string{ledger.KindAgentSpoke, ledger.KindWorldObserved, ledger.KindAgentReflected,
		ledger.KindAgentReflected}
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		stream := fmt.Sprintf("run/%d", round)
		n := rapid.IntRange(1, 40).Draw(r, "events")
		var list []ledger.Event
		for i := range n {
			e := said(fmt.Sprintf("%d-%d", round, i), stream, rapid.SampledFrom(agents).Draw(r, "agent"),
				rapid.SampledFrom(kinds).Draw(r, "kind"))
			e.PolicyGroup = rapid.SampledFrom(groups).Draw(r, "group")
			e.Visibility = rapid.SampledFrom([]schema.Visibility{"", "", schema.VisibilityPrivate,
				schema.VisibilityGroup, schema.VisibilityGlobal}).Draw(r, "visibility")
			e.Sensitivity = rapid.SampledFrom([]schema.Sensitivity{"", "",
				schema.SensitivityHyper}).Draw(r, "sensitivity")
			if e.Kind == ledger.KindAgentReflected {
				through := rapid.SampledFrom([]string{"", "elsewhere",
					fmt.Sprintf("%d-%d", round, rapid.IntRange(0, n).Draw(r, "through"))}).Draw(r, "form")
				e.Payload = believed("x", stream, "ann", through, "y").Payload
			}
			list = append(list, e)
		}
		err := w.appendUnchecked(time.Now(), list...)
		require.NoError(r, err)
		if rapid.Bool().Draw(r, "erase") {
			_, err = w.Store.Empty(ctx, "t", []string{rapid.SampledFrom(list).Draw(r, "erased").ID}, time.Now())
			require.NoError(r, err)
		}
		p := schema.Principal{Tenant: "t", Agent: rapid.SampledFrom(agents).Draw(r, "viewer"),
			PolicyGroup: rapid.SampledFrom(groups).Draw(r, "viewer's group")}
		through := int64(rapid.IntRange(0, n).Draw(r, "up to"))
		limit := rapid.IntRange(1, 12).Draw(r, "limit")
		whole, err := w.Store.Page(ctx, "t", stream, 0, events.MaxPage)
		require.NoError(r, err)
		tracker := views.ReflectionTracker{Viewer: views.Viewer{Agent: p.Agent, PolicyGroup: p.PolicyGroup,
			MaxSensitivity: schema.SensitivityMedium}}
		var want []string
		happens := false
		for _, e := range tracker.Pending(whole) {
			reflection := e.Kind == ledger.KindAgentReflected
			if through > 0 && e.Seq > through || len(want) >= limit && (happens || reflection) {
				continue
			}
			want = append(want, e.ID)
			happens = happens || !reflection
		}
		got, err := w.Store.Pending(ctx, events.PendingInput{Principal: p, Stream: stream, Through: through,
			Limit: limit})
		require.NoError(r, err)
		require.Equal(r, append([]string{}, want...), idsOf(got))

		tracker.Threshold = rapid.IntRange(1, 12).Draw(r, "threshold")
		read, err := w.Store.Pending(ctx, events.PendingInput{Principal: p, Stream: stream, Limit: views.MaxSpan})
		require.NoError(r, err)
		span, due := tracker.Due(read)
		wantSpan, wantDue := tracker.Due(whole)
		require.Equal(r, wantDue, due)
		require.Equal(r, idsOf(wantSpan.Events), idsOf(span.Events))
	})
}

// Reads of the ledger read few of 100,000 rows, with and without statistics. A reflection and the events after it are
// found by index: for an agent that reflects, for one that never did, and for one whose beliefs are among those of
// fifty others.
func TestTheLedgerReadsFewRows(t *testing.T) {
	t.Parallel()
	w := newUnplannedWorld(t)
	w.exec(`INSERT INTO events (tenant, stream, seq, id, agent_id, kind, visibility, sensitivity, occurred_at,
		recorded_at, payload)
		SELECT 't', 'run/' || n % 2, n / 2 + 1, 'e' || n, 'agent' || n % 50,
			CASE WHEN n % 50 = 7 AND n % 8 = 3 THEN 'agent.reflected' ELSE 'agent.spoke' END,
			CASE WHEN n % 10 = 0 THEN 'global' ELSE 'private' END, 'low', now(), now(),
			CASE WHEN n % 50 = 7 AND n % 8 = 3 THEN jsonb_build_object('belief', 'x', 'based_on',
			jsonb_build_array('e' || n - 100), 'through', 'e' || n - 50) END
		FROM generate_series(0, 99999) n`)
	w.exec(`INSERT INTO event_ids (tenant, id, stream, seq, recorded_at) SELECT tenant, id, stream, seq, recorded_at
		FROM events`)
	for _, analysed := range []bool{false, true} {
		if analysed {
			w.exec(`ANALYZE`)
		}
		listen := &tracer{}
		s, err := store.OpenTraced(ctx, w.url, listen)
		require.NoError(t, err)
		t.Cleanup(s.Close)
		for name, run := range map[string]func() error{
			"page": func() error { return second(s.Page(ctx, "t", "run/1", 30_000, 20)) },
			"latest": func() error {
				return second(s.Latest(ctx, events.LatestInput{Principal: schema.Principal{Tenant: "t",
					Agent: "agent7"}, Stream: "run/1", Limit: 20}))
			},
			"by id": func() error { return second(s.ByID(ctx, "t", []string{"e7", "e70000", "e99999"})) },
			"pending": func() error {
				return second(s.Pending(ctx, events.PendingInput{Principal: schema.Principal{Tenant: "t",
					Agent: "agent7"}, Stream: "run/1", Limit: 20}))
			},
			"pending without a reflection": func() error {
				return second(s.Pending(ctx, events.PendingInput{Principal: schema.Principal{Tenant: "t",
					Agent: "agent9"}, Stream: "run/1", Limit: 20}))
			},
			"reflections of a stream": func() error {
				return second(s.Reflections(ctx, events.ReflectionsInput{Principal: schema.Principal{Tenant: "t",
					Agent: "agent7"}, Stream: "run/1", Limit: 20}))
			},
		} {
			n, worst := rowsRead(t, s, listen, run)
			require.LessOrEqual(t, n, 200.0, "%s, analysed %v\n%s", name, analysed, worst)
		}
		// The search in mneme_empty_events for the beliefs that cite an erased event.
		plan := testkit.Strings(t, w.owner,
			`EXPLAIN SELECT b.id FROM (SELECT * FROM events WHERE kind = 'agent.reflected'
			AND payload -> 'based_on' ?| ARRAY['e7', 'e107'] OFFSET 0) b WHERE b.tenant = 't' AND b.erased_at IS NULL`)
		part := testkit.Strings(t, w.owner, `SELECT tableoid::regclass::text FROM events WHERE id = 'e7'`)[0]
		require.Contains(t, strings.Join(plan, "\n"), part+"_expr_idx", "analysed %v", analysed)
	}
}

func (w *world) reflect(e ledger.Event, r ledger.Reflection) (ledger.Appended, error) {
	e.Payload = nil
	return w.Store.Reflect(ctx, events.ReflectInput{Tenant: "t", Viewer: views.Viewer{Agent: e.Agent, PolicyGroup: "g"},
		Event: e, Reflection: r,
		Open: views.GlobalKinds(), Now: w.now})
}

// A belief is appended once, on events that its agent sees, with the highest class of these. A belief on other events
// is refused.
func TestAppendReflection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	high := said("high", "run/x", "ann", ledger.KindAgentSpoke)
	high.Sensitivity = schema.SensitivityHigh
	w.append(w.now, said("own", "run/x", "ann", ledger.KindAgentSpoke), high,
		said("private", "run/x", "bob", ledger.KindAgentThought),
		said("world", "run/x", "bob", ledger.KindWorldObserved), said("erased", "run/x", "ann", ledger.KindAgentSpoke))
	_, err := w.Store.Empty(ctx, "t", []string{"erased"}, w.now)
	require.NoError(t, err)
	e := said("r", "run/x", "ann", ledger.KindAgentReflected)
	for field, r := range map[string]ledger.Reflection{
		"based_on[0]": {Belief: "x", BasedOn: []string{"private", "own"}},
		"based_on[1]": {Belief: "x", BasedOn: []string{"own", "invented"}},
		"based_on[2]": {Belief: "x", BasedOn: []string{"own", "world", "erased"}},
		"through":     {Belief: "x", BasedOn: []string{"own"}, Through: "erased"},
		"based_on":    {Belief: "x"},
		"belief":      {BasedOn: []string{"own"}},
	} {
		_, err := w.reflect(e, r)
		var invalid *schema.ValidationError
		require.True(t, errors.As(err, &invalid), "%s: %v", field, err)
		require.Equal(t, field, invalid.Fields[0].Field)
	}
	require.Zero(t, w.count("events", "kind = 'agent.reflected'"))

	first, err := w.reflect(e, ledger.Reflection{Belief: "the cache lies", BasedOn: []string{"own", "high", "world"},
		Through: "world", Covers: 3})
	require.NoError(t, err)
	require.Equal(t, ledger.Appended{ID: "r", Stream: "run/x", Seq: 6, Added: true}, first)
	again, err := w.reflect(e, ledger.Reflection{Belief: "another wording", BasedOn: []string{"own"}})
	require.NoError(t, err)
	require.Equal(t, ledger.Appended{ID: "r", Stream: "run/x", Seq: 6}, again)
	found, err := w.Store.ByID(ctx, "t", []string{"r"})
	require.NoError(t, err)
	require.Equal(t, schema.SensitivityHigh, found[0].Sensitivity)
	require.Equal(t, schema.VisibilityGlobal, found[0].Visibility)
	r, _ := ledger.Payload[ledger.Reflection](found[0])
	require.Equal(t, "the cache lies", r.Belief)
}

// A reflection appended as a plain event needs evidence too: events that are in the ledger or earlier in the request,
// that its agent sees, and that were not erased. Otherwise no event of the request is appended.
func TestAppendedReflectionsNeedEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	high, grouped := said("high", "run/x", "ann", ledger.KindAgentSpoke), said("grouped", "run/x", "bob",
		ledger.KindAgentSpoke)
	high.Sensitivity, grouped.Visibility = schema.SensitivityHigh, schema.VisibilityGroup
	w.append(w.now, said("own", "run/x", "ann", ledger.KindAgentSpoke), high, grouped,
		said("private", "run/x", "bob", ledger.KindAgentThought),
		said("world", "run/y", "bob", ledger.KindWorldObserved), said("erased", "run/x", "ann", ledger.KindAgentSpoke))
	_, err := w.Store.Empty(ctx, "t", []string{"erased"}, w.now)
	require.NoError(t, err)
	first, later := said("first", "run/x", "ann", ledger.KindAgentSpoke), said("later", "run/x", "ann",
		ledger.KindAgentSpoke)
	silent := said("r", "run/x", "ann", ledger.KindAgentReflected)
	silent.Payload = nil
	for problem, r := range map[string]ledger.Event{
		"based_on[0]: is not an event that the agent sees": believed("r", "run/x", "ann", "", "private", "own"),
		"based_on[1]: is not an event that the agent sees": believed("r", "run/x", "ann", "", "own", "invented"),
		"based_on[2]: was erased":                          believed("r", "run/x", "ann", "", "own", "world", "erased"),
		"based_on[3]: is not an event that the agent sees": believed("r", "run/x", "ann", "", "own", "own", "own",
			"later"),
		"based_on[4]: is not an event that the agent sees": believed("r", "run/x", "ann", "", "own", "own", "own",
			"own", "r"),
		"through: was erased": believed("r", "run/x", "ann", "erased", "own"),
		"belief: is required": silent,
	} {
		_, err := w.Store.Append(ctx, events.AppendInput{Tenant: "t", PolicyGroup: "g",
			Events: []ledger.Event{first, r, later}, Now: w.now})
		var invalid *schema.ValidationError
		require.True(t, errors.As(err, &invalid), "%s: %v", problem, err)
		require.Equal(t, "events[1].payload."+problem, invalid.Fields[0].Error())
	}
	require.Equal(t, 6, w.count("events", "TRUE"), "nothing of a refused request is appended")

	done := w.append(w.now, first, believed("r", "run/x", "ann", "first", "own", "high", "grouped", "world", "first"),
		believed("on a belief", "run/x", "ann", "", "r"))
	require.Equal(t, []bool{true, true, true}, []bool{done[0].Added, done[1].Added, done[2].Added})
	require.Equal(t, []string{"high", "high"},
		testkit.Strings(t, w.owner, `SELECT sensitivity FROM events WHERE kind = 'agent.reflected'`),
		"the class of its evidence, also for a belief on a belief")

	_, err = w.Store.Empty(ctx, "t", []string{"first"}, w.now)
	require.NoError(t, err)
	again := w.append(w.now, believed("r", "run/x", "ann", "first", "own", "high", "grouped", "world", "first"))
	require.False(t, again[0].Added, "a retry finds the event, although its evidence was erased since")
}

// A belief is appended while its evidence is erased: no belief remains whose evidence was erased.
func TestAppendedReflectionDuringErasure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 30 {
		a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
		w.append(w.now, said(a, "run/x", "ann", ledger.KindAgentSpoke), said(b, "run/x", "ann", ledger.KindAgentSpoke))
		done := make(chan error, 1)
		go func() {
			_, err := w.Store.Empty(ctx, "t", []string{b, a}, w.now)
			done <- err
		}()
		_, err := w.Store.Append(ctx, events.AppendInput{Tenant: "t",
			Events: []ledger.Event{believed(fmt.Sprintf("r%d", i), "run/x", "ann", b, a, b)},
			Open:   views.GlobalKinds(), Now: w.now})
		var invalid *schema.ValidationError
		require.True(t, err == nil || errors.As(err, &invalid), "%v", err)
		require.NoError(t, <-done)
	}
	require.Zero(t, w.count("events", "kind = 'agent.reflected' AND erased_at IS NULL"))
}

// Erasing events empties the beliefs that have no other evidence, and the beliefs based on these. A belief with other
// evidence stays, and the view reports the lost support.
func TestErasingEmptiesBeliefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append(w.now, said("a", "run/x", "ann", ledger.KindAgentSpoke), said("b", "run/x", "ann", ledger.KindAgentSpoke),
		said("c", "run/x", "ann", ledger.KindAgentSpoke))
	w.append(w.now, believed("on a", "run/x", "ann", "b", "a"), believed("on a and b", "run/x", "ann", "b", "a", "b"),
		believed("on c", "run/x", "ann", "c", "c"), believed("on a belief", "run/y", "ann", "", "on a"))
	n, err := w.Store.Empty(ctx, "t", []string{"a"}, w.now)
	require.NoError(t, err)
	require.Equal(t, 3, n, "the event and two beliefs")
	require.Equal(t, []string{"a", "on a", "on a belief"},
		testkit.Strings(t, w.owner, `SELECT id FROM events WHERE erased_at IS NOT NULL ORDER BY id`))

	stream, err := w.Store.Page(ctx, "t", "run/x", 0, 10)
	require.NoError(t, err)
	graph := views.Beliefs(views.Viewer{Agent: "ann"}, stream)
	require.Len(t, graph.Beliefs, 2)
	require.Equal(t, []bool{true, false}, []bool{graph.Beliefs[0].LostSupport, graph.Beliefs[1].LostSupport})

	n, err = w.Store.Empty(ctx, "t", []string{"b", "a"}, w.now)
	require.NoError(t, err)
	require.Equal(t, 2, n, "the second belief has no evidence left")
}

// A reflection runs while its evidence is erased: in either order, no belief remains whose evidence was erased.
func TestReflectionDuringErasure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 40 {
		evidence, belief := fmt.Sprintf("e%d", i), fmt.Sprintf("b%d", i)
		w.append(w.now, said(evidence, "run/x", "ann", ledger.KindAgentSpoke))
		done := make(chan error, 1)
		go func() {
			_, err := w.Store.Empty(ctx, "t", []string{evidence}, w.now)
			done <- err
		}()
		_, err := w.reflect(said(belief, "run/x", "ann", ledger.KindAgentReflected),
			ledger.Reflection{Belief: "x", BasedOn: []string{evidence}})
		var invalid *schema.ValidationError
		require.True(t, err == nil || errors.As(err, &invalid), "%v", err)
		require.NoError(t, <-done)
	}
	require.Zero(t, w.count("events", "kind = 'agent.reflected' AND erased_at IS NULL"))
}

// With a stream, the beliefs are those that the agent sees; without a stream, its own.
func TestReflections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	private := believed("private", "run/x", "bob", "", "y")
	private.Visibility = schema.VisibilityPrivate
	w.append(w.now, said("y", "world/w", "cas", ledger.KindWorldObserved))
	w.append(w.now, believed("1", "run/x", "ann", "", "y"), private, believed("2", "run/x", "bob", "", "y"),
		believed("3", "run/y", "ann", "", "y"))
	of := func(stream string) []string {
		found, err := w.Store.Reflections(ctx, events.ReflectionsInput{Principal: schema.Principal{Tenant: "t",
			Agent: "ann"}, Stream: stream, Limit: 10})
		require.NoError(t, err)
		return idsOf(found)
	}
	require.Equal(t, []string{"1", "2"}, of("run/x"))
	own := of("")
	slices.Sort(own)
	require.Equal(t, []string{"1", "3"}, own)
}

// Erasing a memory empties the event that it came from, and the beliefs based on that event alone.
func TestErasingAMemoryEmptiesBeliefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(schema.Candidate{Content: "The pump leaks."})
	require.NoError(t, w.CompleteJobs(ctx, r, w.now))
	ids := testkit.Strings(t, w.owner, `SELECT id FROM events WHERE memory_id IS NOT NULL`)
	require.Len(t, ids, 1)
	w.append(w.now, said("a", "run/x", w.p.Agent, ledger.KindAgentSpoke),
		believed("belief", "run/x", w.p.Agent, "", ids[0]),
		believed("other", "run/x", w.p.Agent, "", "a", ids[0]))
	receipt := w.forgetAll(w.forgets(schema.ForgetErase, named(uuid.MustParse(ack.MemoryIDs[0]))))
	require.Equal(t, 2, receipt.Removed["events"], "the receipt counts the belief")
	require.Equal(t, []string{"other"},
		testkit.Strings(t, w.owner, `SELECT id FROM events WHERE kind = 'agent.reflected' AND erased_at IS NULL`))
}
