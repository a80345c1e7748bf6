package views_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

var baker = views.Viewer{Agent: "baker"}

// run simulates turns of a village. In each turn one of four agents speaks to all, and agents that are due reflect.
func run(turns, threshold int) []ledger.Event {
	var events []ledger.Event
	for turn := 1; turn <= turns; turn++ {
		agent := []string{"baker", "smith", "judge", "miller"}[turn%4]
		e := say(len(events)+1, agent, ledger.KindAgentSpoke, fmt.Sprintf("word %d", turn))
		e.Turn, e.Visibility = turn, schema.VisibilityGlobal
		events = append(events, e)
		for _, agent := range []string{"baker", "smith", "judge", "miller"} {
			tracker := views.ReflectionTracker{Viewer: views.Viewer{Agent: agent}, Threshold: threshold}
			if span, due := tracker.Due(events); due {
				e := reflect(len(events)+1, agent, span.Reflection("belief of "+agent, ids(span.Events)))
				e.Turn = turn
				events = append(events, e)
			}
		}
	}
	return events
}

// For 200 turns of four agents, a window of 8 events is enough. Each event that an agent saw is in its view or covered
// by a reflection in its view.
func TestWindowWithReflectionsLosesNoEvent(t *testing.T) {
	t.Parallel()
	events := run(200, 8)
	for _, agent := range []string{"baker", "smith", "judge", "miller"} {
		viewer := views.Viewer{Agent: agent}
		for _, upTo := range []int{20, 77, 150, len(events)} {
			ledgerNow := events[:upTo]
			memory := views.EpisodicMemory{Viewer: viewer, Window: 8, Reflections: true, MaxBeliefs: 1000}
			view := memory.Recall(ledgerNow)
			stoodFor, beliefs := map[string]bool{}, 0
			for _, e := range view {
				stoodFor[e.ID] = true
				if r, ok := ledger.Payload[ledger.Reflection](e); ok && e.Agent == agent && r.Belief != "" {
					beliefs++
					require.GreaterOrEqual(t, r.Covers, 8)
					for _, id := range r.BasedOn { // run cites all that a reflection covers
						stoodFor[id] = true
					}
				}
			}
			require.LessOrEqual(t, len(view), beliefs+8, "K + window entries")
			for _, e := range viewer.Visible(ledgerNow) {
				require.True(t, stoodFor[e.ID], "%s at %d: %s is lost", agent, upTo, e.ID)
			}
		}
		seen := len(viewer.Visible(events))
		require.Greater(t, seen, 250, "200 turns and the beliefs of others")
		view := views.EpisodicMemory{Viewer: viewer, Reflections: true}.Recall(events)
		require.LessOrEqual(t, len(view), 8+32, "by default")
	}
}

// Events that a reflection covers are not eligible for salience, except the latest ones. They are eligible again if
// the reflection is erased.
func TestReflectionReplacesCoveredEvents(t *testing.T) {
	t.Parallel()
	events := []ledger.Event{
		say(1, "baker", "agent.spoke", "one"), say(2, "baker", "agent.spoke", "two"),
		say(3, "smith", "user.injected", "three"),
		say(4, "smith", "user.injected", "came while the baker was thinking"),
		reflect(5, "baker", ledger.Reflection{Belief: "b", BasedOn: []string{"e1"}, Covers: 3, Through: "e3"}),
		say(6, "baker", "agent.spoke", "six"),
	}
	salient := func(viewer views.Viewer, window int) []string {
		memory := views.SalienceMemory{Viewer: viewer, K: 100, Reflections: true, Window: window}
		out, err := memory.Recall(t.Context(), events, views.Now{})
		require.NoError(t, err)
		return ids(out)
	}
	require.Equal(t, []string{"e4", "e5", "e6"}, salient(baker, 1))
	require.Equal(t, []string{"e2", "e3", "e4", "e5", "e6"}, salient(baker, 4))
	require.Equal(t, []string{"e3", "e4", "e5"}, salient(views.Viewer{Agent: "miller"}, 1),
		"another agent's reflection covers nothing")
	require.Equal(t, []string{"e4", "e6"}, ids(views.ReflectionTracker{Viewer: baker}.Pending(events)))

	events[4].Sensitivity = schema.SensitivityHigh
	low := views.Viewer{Agent: "baker", MaxSensitivity: schema.SensitivityLow}
	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e6"}, salient(low, 1), "the belief is above the ceiling")
	events[4].Erased, events[4].Payload = true, nil
	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e6"}, salient(baker, 1))
	require.Equal(t, []string{"e6"}, ids(views.ReflectionTracker{Viewer: baker}.Pending(events)), "erased")

	later := []ledger.Event{events[0],
		reflect(2, "baker", ledger.Reflection{Belief: "b", BasedOn: []string{"e1"}, Through: "e3"}), events[2]}
	require.Equal(t, []string{"e3"}, ids(views.ReflectionTracker{Viewer: baker}.Pending(later)),
		"a reflection covers no later events")
	noThrough := []ledger.Event{events[0], events[3],
		reflect(5, "baker", ledger.Reflection{Belief: "b", BasedOn: []string{"e1"}}), events[5]}
	require.Equal(t, []string{"e6"}, ids(views.ReflectionTracker{Viewer: baker}.Pending(noThrough)), "without Through")
}

// Pending needs only the agent's own reflections and the events after the last Through.
func TestPendingNeedsOnlyEndOfLedger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := run(rapid.IntRange(1, 60).Draw(t, "turns"), rapid.IntRange(2, 12).Draw(t, "threshold"))
		through := ""
		for _, e := range events {
			if r, ok := ledger.Payload[ledger.Reflection](e); ok && e.Agent == "baker" && r.Through != "" {
				through = r.Through
			}
		}
		after := slices.IndexFunc(events, func(e ledger.Event) bool { return e.ID == through }) + 1
		var needed []ledger.Event
		for i, e := range events {
			if i >= after || e.Agent == "baker" && e.Kind == ledger.KindAgentReflected {
				needed = append(needed, e)
			}
		}
		tracker := views.ReflectionTracker{Viewer: baker}
		require.Equal(t, tracker.Pending(events), tracker.Pending(needed))
	})
}

func TestDue(t *testing.T) {
	t.Parallel()
	due := func(threshold int, events ...ledger.Event) bool {
		_, ok := views.ReflectionTracker{Viewer: baker, Threshold: threshold}.Due(events)
		return ok
	}
	one, two := say(1, "baker", "agent.spoke", "one"), say(2, "smith", "world.observed", "two")
	hidden, erased := say(3, "smith", "agent.thought", "three"), say(4, "baker", "agent.spoke", "four")
	erased.Erased = true
	require.False(t, due(0, one, two), "off")
	require.False(t, due(3, one, two, hidden, erased))
	require.True(t, due(2, one, two))

	belief := func(seq int, agent string) ledger.Event {
		return reflect(seq, agent, ledger.Reflection{Belief: "b", BasedOn: []string{"e1"}})
	}
	require.False(t, due(2, one, two, belief(3, "baker"), belief(4, "smith"), belief(5, "judge")),
		"nothing but beliefs of others")
	require.True(t, due(2, one, two, belief(3, "baker"), belief(4, "smith"), say(5, "baker", "agent.spoke", "x")))

	var many []ledger.Event
	for seq := range 500 {
		many = append(many, say(seq+1, "baker", "agent.spoke", "x"))
	}
	span, ok := views.ReflectionTracker{Viewer: baker, Threshold: 8}.Due(many)
	require.True(t, ok)
	require.Len(t, span.Events, views.MaxSpan, "the oldest first")
	require.Equal(t, "e200", span.Through)
	require.Equal(t, ledger.Reflection{Belief: "b", BasedOn: []string{"e9"}, Covers: 200, Through: "e200"},
		span.Reflection("b", []string{"e9"}))
	many = append(many, reflect(501, "baker", span.Reflection("b", []string{"e9"})))
	span, ok = views.ReflectionTracker{Viewer: baker, Threshold: 8}.Due(many)
	require.True(t, ok)
	require.Equal(t, "e201", span.Events[0].ID)
}

// A reflection is refused if it cites an event that its agent has not seen or that was erased.
func TestCheckReflection(t *testing.T) {
	t.Parallel()
	seen, hidden, erased, hiddenErased := say(1, "baker", "agent.spoke", "one"), say(2, "smith", "agent.thought",
		"two"),
		say(3, "baker", "agent.spoke", ""), say(4, "smith", "agent.thought", "")
	seen.Sensitivity, erased.Erased, hiddenErased.Erased = schema.SensitivityHigh, true, true
	events := []ledger.Event{seen, hidden, erased, hiddenErased, say(5, "smith", "world.observed", "rain")}
	check := func(r ledger.Reflection) (schema.Sensitivity, map[string]string) {
		least, err := baker.Check(r, events)
		problems := map[string]string{}
		var invalid *schema.ValidationError
		if errors.As(err, &invalid) {
			for _, f := range invalid.Fields {
				problems[f.Field] = f.Problem
			}
		}
		return least, problems
	}
	least, problems := check(ledger.Reflection{Belief: "b", BasedOn: []string{"e5", "e1"}, Through: "e5"})
	require.Empty(t, problems)
	require.Equal(t, schema.SensitivityHigh, least, "the class of the most sensitive evidence")
	least, _ = check(ledger.Reflection{Belief: "b", BasedOn: []string{"e5"}})
	require.Equal(t, schema.SensitivityLow, least)

	_, problems = check(ledger.Reflection{Belief: "b", BasedOn: []string{"e1", "e2", "e3", "e4", "e99"}, Through: "e2"})
	require.Equal(t, map[string]string{
		"based_on[1]": "is not an event that the agent sees", "based_on[2]": "was erased",
		"based_on[3]": "is not an event that the agent sees", "based_on[4]": "is not an event that the agent sees",
		"through": "is not an event that the agent sees",
	}, problems, "what is hidden is as if it were not there")
	_, err := views.Viewer{Agent: "baker", MaxSensitivity: schema.SensitivityLow}.Check(
		ledger.Reflection{Belief: "b", BasedOn: []string{"e1"}}, events)
	require.ErrorContains(t, err, "is not an event that the agent sees", "above the ceiling")
	_, problems = check(ledger.Reflection{Belief: " ", Covers: -1})
	require.Len(t, problems, 3)
}

// The graph shows beliefs, their evidence, and which of them share evidence. Of hidden events it shows only the id.
func TestBeliefs(t *testing.T) {
	t.Parallel()
	gone := say(3, "smith", "user.injected", "")
	gone.Erased = true
	events := []ledger.Event{
		say(1, "baker", "agent.thought", "my thought"), say(2, "smith", "user.injected", `he said "no" [loud] #1`),
		gone,
		reflect(4, "baker", ledger.Reflection{Belief: "the smith resents me", BasedOn: []string{"e1", "e2", "e2"},
			Covers: 3}),
		reflect(5, "smith", ledger.Reflection{Belief: "the baker knows", BasedOn: []string{"e2", "e3"}}),
		reflect(6, "baker", ledger.Reflection{Belief: "we must talk", BasedOn: []string{"e4", "e2", "e77"}}),
	}
	g := views.Beliefs(views.Viewer{Agent: "smith"}, events)
	require.Len(t, g.Beliefs, 3)
	require.Equal(t, []views.Evidence{
		{ID: "e1"},
		{ID: "e2", Agent: "smith", Kind: "user.injected", Turn: 2, Text: `he said "no" [loud] #1`, Seen: true},
		{ID: "e3", Agent: "smith", Kind: "user.injected", Turn: 3, Erased: true},
		{ID: "e77"},
	}, g.Events)
	require.Equal(t, []views.Based{{"e4", "e1"}, {"e4", "e2"}, {"e5", "e2"}, {"e5", "e3"}, {"e6", "e4"}, {"e6", "e2"},
		{"e6", "e77"}}, g.Based)
	require.Equal(t, []views.Shared{{"e4", "e5", []string{"e2"}}, {"e4", "e6", []string{"e2"}},
		{"e5", "e6", []string{"e2"}}}, g.Shared)
	golden(t, "beliefs.mmd", g.Mermaid())
}
