package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
)

// randomEvent draws an event for a ledger with every condition that can break a view.
func randomEvent(r *rapid.T, id, stream string, before []ledger.Event) ledger.Event {
	e := said(id, stream, rapid.SampledFrom([]string{"ann", "ann", "bob", "cas"}).Draw(r, "agent"),
		rapid.SampledFrom([]string{ledger.KindAgentSpoke, ledger.KindAgentThought, ledger.KindWorldObserved,
			ledger.KindWorldObserved,
			ledger.KindEnvironment, ledger.KindUserInjected, ledger.KindAgentReflected, ledger.KindVerdictFinal,
			"market.closed"}).Draw(r, "kind"))
	e.Turn = rapid.IntRange(0, 60).Draw(r, "turn")
	e.PolicyGroup = rapid.SampledFrom([]string{"", "g", "h"}).Draw(r, "group")
	e.Visibility = rapid.SampledFrom([]schema.Visibility{"", "", schema.VisibilityPrivate, schema.VisibilityGroup,
		schema.VisibilityShared, schema.VisibilityGlobal}).Draw(r, "visibility")
	e.Sensitivity = rapid.SampledFrom([]schema.Sensitivity{"", "", schema.SensitivityMedium,
		schema.SensitivityHyper}).Draw(r, "sensitivity")
	words := fmt.Sprint(rapid.SliceOfN(rapid.SampledFrom([]string{"oven", "fire", "rain", "mill", "bread"}), 0,
		4).Draw(r, "words"))
	payload := map[string]any{"text": words}
	field := rapid.SampledFrom([]string{"oven", "door", "artifacts", "text", "Text",
		fmt.Sprintf("%0300d", 1)}).Draw(r, "field")
	value := rapid.SampledFrom([]any{nil, "", "open", 3, map[string]any{"x": nil}}).Draw(r, "value")
	switch e.Kind {
	case ledger.KindWorldObserved:
		if payload = map[string]any{}; rapid.Bool().Draw(r, "note") {
			payload["text"] = words
		}
		payload[field] = value
	case ledger.KindUserInjected:
		payload = rapid.SampledFrom([]map[string]any{{"text": words}, {}, {"x": map[string]any{}},
			{"artifacts": []string{"sha256:aa"}}}).Draw(r, "input")
	case ledger.KindEnvironment:
		payload = rapid.SampledFrom([]map[string]any{{"os": words}, {"os": ""}, {"working_dir": "/" + words},
			{"context": nil},
			{"context": map[string]any{"a": words}}, {"tool_versions": map[string]string{"go": words}},
			{"tool_versions": map[string]string{"make": words, "go": ""}}, {"OS": "plan9"}}).Draw(r, "environment")
	case ledger.KindAgentReflected:
		payload = map[string]any{"belief": words + " it is", "based_on": []string{"x"}}
		if len(before) > 0 && rapid.IntRange(0, 4).Draw(r, "names its last") > 0 {
			payload["through"] = rapid.SampledFrom(before).Draw(r, "through").ID
		}
	}
	e.Payload, _ = json.Marshal(payload)
	return e
}

// Reading for a view gives the same context as reading all events, over several streams, with clocks that step back,
// erased events, and secrets of other agents.
func TestReadingForAViewGivesTheSameContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	round, left := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		streams := []string{fmt.Sprintf("run/%d", round), fmt.Sprintf("world/%d", round),
			fmt.Sprintf("conversation/%d", round)}
		var list []ledger.Event
		for i := range rapid.IntRange(1, 60).Draw(r, "events") {
			e := randomEvent(r, fmt.Sprintf("%d-%d", round, i), rapid.SampledFrom(streams).Draw(r, "stream"), list)
			list = append(list, e)
		}
		for batch := range slices.Chunk(list, 7) {
			at := w.now.Add(time.Duration(rapid.IntRange(-50, 50).Draw(r, "clock")) * time.Minute)
			require.NoError(r, w.appendUnchecked(at, batch...))
		}
		if rapid.Bool().Draw(r, "erase") {
			_, err := w.Store.Empty(ctx, "t", []string{rapid.SampledFrom(list).Draw(r, "erased").ID}, time.Now())
			require.NoError(r, err)
		}
		streams = streams[:rapid.IntRange(1, 3).Draw(r, "streams")]
		var all []ledger.Event
		for _, stream := range streams {
			page, err := w.Store.Page(ctx, "t", stream, 0, events.MaxPage)
			require.NoError(r, err)
			all = append(all, page...)
		}

		viewer := views.Viewer{Agent: rapid.SampledFrom([]string{"ann", "bob", "dan"}).Draw(r, "viewer"),
			PolicyGroup: rapid.SampledFrom([]string{"", "g"}).Draw(r, "viewer's group"),
			MaxSensitivity: rapid.SampledFrom([]schema.Sensitivity{schema.SensitivityMedium,
				schema.SensitivityHyper}).Draw(r, "ceiling")}
		in := events.ViewInput{Tenant: "t", Viewer: viewer, Streams: streams,
			Turn: rapid.SampledFrom([]int{0, 30, 70}).Draw(r, "turn"),
			Memory: views.Memory{Window: rapid.IntRange(1, 6).Draw(r, "window"),
				MaxBeliefs:          rapid.IntRange(1, 4).Draw(r, "beliefs"),
				UseSalience:         rapid.Bool().Draw(r, "salience"),
				ReflectionThreshold: rapid.SampledFrom([]int{0, 3}).Draw(r, "threshold")}}
		got, err := w.Store.ForView(ctx, in)
		require.NoError(r, err)
		require.False(r, got.Partial)
		for _, e := range got.Events {
			require.True(r, viewer.Sees(e) || e.Kind == ledger.KindAgentReflected && e.Agent == viewer.Agent ||
				e.Payload == nil, "%+v", e)
		}
		left += len(all) - len(got.Events)

		request := views.Request{Viewer: viewer, Events: all, Turn: in.Turn, Memory: in.Memory}
		whole, err := views.Build(ctx, request)
		require.NoError(r, err)
		request.Events, request.Turn = got.Events, got.Turn
		part, err := views.Build(ctx, request)
		require.NoError(r, err)
		require.Equal(r, whole.Text(), part.Text())
	})
	require.Positive(t, left, "some events were left out")
}

// Marks are derived: rebuilt from the ledger they are unchanged, and an erased event has none.
func TestMarksCanBeRebuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		var list []ledger.Event
		for i := range rapid.IntRange(1, 20).Draw(r, "events") {
			list = append(list, randomEvent(r, fmt.Sprintf("%d-%d", time.Now().UnixNano(), i), "run/x", list))
		}
		require.NoError(r, w.appendUnchecked(w.now, list...))
		_, err := w.Store.Empty(ctx, "t", []string{list[0].ID}, time.Now())
		require.NoError(r, err)
	})
	marks := func() (out []string) {
		rows, err := w.owner.Query(ctx, `SELECT m::text FROM event_marks m ORDER BY 1`)
		require.NoError(t, err)
		for rows.Next() {
			var row string
			require.NoError(t, rows.Scan(&row))
			out = append(out, row)
		}
		return out
	}
	before := marks()
	require.NotEmpty(t, before)
	require.Zero(t, w.count("event_marks m",
		"EXISTS (SELECT FROM events e WHERE e.stream = m.stream AND e.seq = m.seq AND e.erased_at IS NOT NULL)"))
	w.exec(`DELETE FROM event_marks`)
	w.exec(`
		INSERT INTO event_marks (tenant, stream, seq, audience, mark, sensitivity)
		SELECT DISTINCT e.tenant, e.stream, e.seq, v.audience, m.mark, e.sensitivity
		FROM events e
			CROSS JOIN LATERAL mneme_event_audiences(e.visibility, e.agent_id, e.policy_group) v(audience)
			CROSS JOIN LATERAL mneme_event_marks(e.kind, e.payload) m(mark)
		WHERE e.erased_at IS NULL`)
	require.Equal(t, before, marks(), "they follow from the events")
}

// A view of many events reads few of them, with and without statistics. Without statistics, Postgres estimates the
// table by its size on disk, so that the plans of 40,000 events and of 100,000 may differ.
func TestAViewReadsFewRows(t *testing.T) {
	t.Parallel()
	w := newUnplannedWorld(t)
	length := 0
	for _, next := range []int{20_000, 40_000, 100_000} {
		w.addEvents(length, next)
		length = next
		viewReadsFewRows(t, w, fmt.Sprintf("%d events without statistics", length))
		w.exec(`ANALYZE`)
		viewReadsFewRows(t, w, fmt.Sprintf("%d events, analysed", length))
		w.exec(`DELETE FROM pg_statistic WHERE starelid >= 16384`)
		w.exec(`UPDATE pg_class SET reltuples = -1, relpages = 0
			WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'i')`)
	}
}

// addEvents inserts the events after from up to to, half of them into each of two streams.
func (w *world) addEvents(from, to int) {
	w.t.Helper()
	w.exec(`INSERT INTO events (tenant, stream, seq, id, agent_id, policy_group, kind, turn, visibility,
		sensitivity, payload, occurred_at, recorded_at)
		SELECT 't', 'run/' || n % 2, n / 2 + 1, 'e' || n, 'agent' || n % 10, 'others',
			(ARRAY['agent.spoke', 'agent.thought', 'world.observed', 'world.observed', 'agent.reflected',
			'agent.spoke', 'tool.called'])[n % 7 + 1],
			n / 20, CASE n % 3 WHEN 0 THEN 'global' WHEN 1 THEN 'group' ELSE 'private' END, 'low',
			jsonb_build_object('text', 'word' || n, 'field' || n % 20, n), now(), now()
		FROM generate_series($1::int + 1, $2::int) n`, from, to)
	w.exec(`INSERT INTO event_ids (tenant, id, stream, seq, recorded_at) SELECT tenant, id, stream, seq, recorded_at
		FROM events ON CONFLICT DO NOTHING`)
	w.exec(`INSERT INTO event_streams (tenant, stream, last_seq, created_at, updated_at)
		SELECT tenant, stream, max(seq), now(), now() FROM events GROUP BY 1, 2
		ON CONFLICT (tenant, stream) DO UPDATE SET last_seq = excluded.last_seq`)
}

func viewReadsFewRows(t *testing.T, w *world, when string) {
	t.Helper()
	listen := &tracer{}
	s, err := store.OpenTraced(ctx, w.url, listen)
	require.NoError(t, err)
	defer s.Close()
	for name, c := range map[string]struct {
		memory views.Memory
		scene  string
		most   float64
	}{
		"window":      {most: 2_000},
		"reflections": {memory: views.Memory{ReflectionThreshold: 8}, most: 2_000},
		"salience":    {memory: views.Memory{UseSalience: true}, scene: "-", most: 8_000},
	} {
		n, worst := rowsRead(t, s, listen, func() error {
			return second(s.ForView(ctx, events.ViewInput{Tenant: "t", Viewer: views.Viewer{Agent: "agent3"},
				Streams: []string{"run/0", "run/1"}, Memory: c.memory, Scene: c.scene}))
		})
		t.Logf("%s, %s: %v rows", name, when, n)
		require.LessOrEqual(t, n, c.most, "%s, %s\n%s", name, when, worst)
	}
}

// Salience stops reading when no older event can be salient enough, and has the same result as over all events.
// Without words in the scene, old events of any kind can be left out; with words, only those of unimportant kinds.
func TestSalienceStopsReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const length = 4_000
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"oven", "fire", "rain", "mill", "bread", "door", "letter", "smoke"}
	kinds := []string{ledger.KindAgentSpoke, ledger.KindAgentThought, ledger.KindRunStarted, "market.closed",
		ledger.KindAgentSpoke}
	var all []ledger.Event
	for i := range length {
		e := said(fmt.Sprintf("e%d", i), "run/x", []string{"ann", "bob"}[random.IntN(2)],
			kinds[random.IntN(len(kinds))])
		if random.IntN(200) == 0 {
			e.Kind = []string{ledger.KindUserInjected, ledger.KindVerdictFinal, ledger.KindJudgeVerdict}[random.IntN(3)]
		}
		e.Turn = max(0, i/8+random.IntN(20)-10)
		e.Payload = json.RawMessage(fmt.Sprintf(`{"text":"the %s and the %s"}`, words[random.IntN(8)],
			words[random.IntN(8)]))
		all = append(all, e)
	}
	for page := range slices.Chunk(all, ledger.MaxAppend) {
		w.append(w.now, page...)
	}
	all = nil
	for len(all) < length {
		page, err := w.Store.Page(ctx, "t", "run/x", int64(len(all)), events.MaxPage)
		require.NoError(t, err)
		all = append(all, page...)
	}
	for scene, most := range map[string]int{"-": 1_000, "the oven and the fire": 3_000, "smoke": 3_000} {
		for k := 1; k <= 20; k += 3 {
			viewer := views.Viewer{Agent: "ann", MaxSensitivity: schema.SensitivityMedium}
			memory := views.Memory{UseSalience: true, TopK: k}
			got, err := w.Store.ForView(ctx, events.ViewInput{Tenant: "t", Viewer: viewer, Streams: []string{"run/x"},
				Memory: memory, Scene: scene})
			require.NoError(t, err)
			require.False(t, got.Partial)
			require.Less(t, len(got.Events), most, "scene %q, %d events", scene, k)
			now := views.Now{Turn: got.Turn, Scene: scene}
			want, err := memory.Recall(ctx, viewer, nil, all, now)
			require.NoError(t, err)
			found, err := memory.Recall(ctx, viewer, nil, got.Events, now)
			require.NoError(t, err)
			require.Equal(t, idsOf(want), idsOf(found), "scene %q, %d events", scene, k)
		}
	}
}
