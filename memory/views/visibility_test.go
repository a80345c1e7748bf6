package views_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

func TestSees(t *testing.T) {
	t.Parallel()
	smith := views.Viewer{Agent: "smith", PolicyGroup: "guild"}
	for name, c := range map[string]struct {
		viewer views.Viewer
		change func(*ledger.Event)
		want   bool
	}{
		"a private kind": {smith, func(e *ledger.Event) {}, false},
		"own":            {views.Viewer{Agent: "baker"}, func(e *ledger.Event) {}, true},
		"own, explicitly private": {views.Viewer{Agent: "baker"}, func(e *ledger.Event) {
			e.Visibility = "private"
		}, true},
		"global": {smith, func(e *ledger.Event) { e.Visibility = "global" }, true},
		"shared": {smith, func(e *ledger.Event) { e.Visibility = "shared" }, true},
		"the same group": {smith, func(e *ledger.Event) {
			e.Visibility, e.PolicyGroup = "group", "guild"
		}, true},
		"another group": {smith, func(e *ledger.Event) {
			e.Visibility, e.PolicyGroup = "group", "court"
		}, false},
		"no group": {views.Viewer{Agent: "smith"}, func(e *ledger.Event) {
			e.Visibility = "group"
		}, false},
		"a global kind": {smith, func(e *ledger.Event) { e.Kind = "judge.verdict" }, true},
		"a global kind, private": {smith, func(e *ledger.Event) {
			e.Kind, e.Visibility = "judge.verdict", "private"
		}, false},
		"a global kind, for another group": {smith, func(e *ledger.Event) {
			e.Kind, e.Visibility = "judge.verdict", "group"
		}, false},
		"an unknown visibility": {smith, func(e *ledger.Event) {
			e.Kind, e.Visibility = "judge.verdict", "odd"
		}, false},
		"a kind made global": {views.Viewer{Agent: "smith", GlobalKinds: []string{"agent.spoke"}},
			func(e *ledger.Event) {}, true},
		"a kind no longer global": {views.Viewer{Agent: "smith", GlobalKinds: []string{}},
			func(e *ledger.Event) { e.Kind = "judge.verdict" }, false},
		"below the ceiling": {views.Viewer{Agent: "baker", MaxSensitivity: "medium"},
			func(e *ledger.Event) { e.Sensitivity = "medium" }, true},
		"own above the ceiling": {views.Viewer{Agent: "baker", MaxSensitivity: "medium"},
			func(e *ledger.Event) { e.Sensitivity = "high" }, false},
		"no class is low": {views.Viewer{Agent: "baker", MaxSensitivity: "public"}, func(e *ledger.Event) {}, false},
		"an unknown class": {views.Viewer{Agent: "baker", MaxSensitivity: "hyper"},
			func(e *ledger.Event) { e.Sensitivity = "odd" }, false},
		"an unknown ceiling": {views.Viewer{Agent: "baker", MaxSensitivity: "odd"},
			func(e *ledger.Event) { e.Sensitivity = "public" }, false},
		"erased":              {views.Viewer{Agent: "baker"}, func(e *ledger.Event) { e.Erased = true }, false},
		"an empty agent name": {views.Viewer{}, func(e *ledger.Event) { e.Agent = "" }, false},
	} {
		e := say(1, "baker", ledger.KindAgentSpoke, "the oven is hot")
		c.change(&e)
		require.Equal(t, c.want, c.viewer.Sees(e), name)
	}
}

// An empty list of global kinds must survive JSON. A missing list means the default kinds.
func TestGlobalKindsSurviveJSON(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][]string{nil, {}, {"clue.found"}} {
		data, err := json.Marshal(views.Viewer{Agent: "a", GlobalKinds: kinds})
		require.NoError(t, err)
		var back views.Viewer
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, kinds, back.GlobalKinds)
	}
	views.GlobalKinds()[0] = "agent.thought"
	require.Equal(t, "world.observed", views.GlobalKinds()[0], "the list is a copy")
}

// For random ledgers, no view and no context shows an agent a private event of another agent, an event above its
// ceiling, or an erased one.
func TestViewsShowOnlyVisibleEvents(t *testing.T) {
	t.Parallel()
	classes := []schema.Sensitivity{"public", "low", "medium", "high", "hyper"}
	rapid.Check(t, func(t *rapid.T) {
		events := hardLedger().Draw(t, "ledger")
		viewer := views.Viewer{Agent: rapid.SampledFrom(agents).Draw(t, "viewer"), PolicyGroup: "guild",
			MaxSensitivity: rapid.SampledFrom(append(classes, "")).Draw(t, "ceiling")}
		// The text of every event contains its id, so that a leak into a text is found.
		for i := range events {
			word := "secretof" + events[i].ID + "x"
			if events[i].Kind == ledger.KindAgentReflected {
				events[i].Payload = json.RawMessage(`{"belief":"` + word + `","based_on":["e1"]}`)
			} else {
				events[i].Payload = json.RawMessage(`{"text":"` + word + `"}`)
			}
		}
		forbidden := func(e ledger.Event) bool {
			class := e.Sensitivity
			if class == "" {
				class = "low"
			}
			tooHigh := viewer.MaxSensitivity != "" &&
				(slices.Index(classes, class) < 0 || slices.Index(classes, class) > slices.Index(classes,
					viewer.MaxSensitivity))
			public := slices.Contains([]string{"world.observed", "judge.verdict", "user.injected", "run.started",
				"agent.reflected"}, e.Kind)
			private := e.Agent != viewer.Agent && (e.Visibility == "private" || e.Visibility == "odd" ||
				e.Visibility == "" && !public || e.Visibility == "group" && e.PolicyGroup != "guild")
			return e.Erased || tooHigh || private
		}
		now := views.Now{Turn: 20, Scene: "secret"}
		salient, err := views.SalienceMemory{Viewer: viewer, K: 100, Reflections: true}.Recall(t.Context(), events, now)
		require.NoError(t, err)
		built, err := views.Build(t.Context(), views.Request{Viewer: viewer, Events: events, Identity: "me",
			Memory: views.Memory{Window: 100, ReflectionThreshold: 4}})
		require.NoError(t, err)
		text, graph := built.Text(), views.Beliefs(viewer, events).Mermaid()
		for name, view := range map[string][]ledger.Event{
			"visible":  viewer.Visible(events),
			"episodic": views.EpisodicMemory{Viewer: viewer, Window: 100, Reflections: true}.Recall(events),
			"salience": salient,
			"pending":  views.ReflectionTracker{Viewer: viewer}.Pending(events),
		} {
			require.False(t, slices.ContainsFunc(view, forbidden), name)
		}
		for _, e := range events {
			if forbidden(e) {
				require.NotContains(t, text, "secretof"+e.ID+"x")
				require.NotContains(t, graph, "secretof"+e.ID+"x")
			}
		}
		require.Len(t, viewer.Visible(events), len(events)-count(events, forbidden), "all other events are visible")
	})
}

func count(events []ledger.Event, is func(ledger.Event) bool) int {
	n := 0
	for _, e := range events {
		if is(e) {
			n++
		}
	}
	return n
}

// A user reads the streams of no user and its own, as it reads memories. It appends to its own streams and observes
// worlds, and has sessions only on its own streams.
func TestStreamsOfUsers(t *testing.T) {
	t.Parallel()
	const said, observed = ledger.KindUserInjected, ledger.KindWorldObserved
	for _, c := range []struct {
		user, stream, scope, kind string
		reads, appends, records   bool
	}{
		{"maya", "run/x", "user/maya", said, true, true, true},
		{"maya", "run/x", "", said, true, false, false},
		{"maya", "run/x", "user/tom", observed, false, false, false},
		{"maya", "run/x", "user/", said, false, false, false}, // of several users
		{"maya", "world/town", "", observed, true, true, false},
		{"maya", "world/town", "", said, true, false, false},
		{"maya", "conversation/c", "user/MAYA", said, false, false, false},
		{"", "run/x", "user/maya", said, true, true, false},
		{"", "run/x", "user/", said, true, true, false},
		{"", "conversation/c", "", said, true, true, true},
		{"", "world/town", "", said, true, true, true},
	} {
		viewer := views.Viewer{Agent: "ann", User: c.user}
		require.Equal(t, c.reads, viewer.Reads(c.scope), "%+v", c)
		require.Equal(t, schema.Principal{User: c.user}.MayRead(c.scope), viewer.Reads(c.scope), "%+v", c)
		require.Equal(t, c.appends, views.AppendProblem(c.user, c.stream, c.kind, c.scope) == "", "%+v", c)
		require.Equal(t, c.records, views.SessionProblem(c.user, c.stream, c.scope) == "", "%+v", c)
	}
}
