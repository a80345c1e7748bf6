package views_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

// A reader of a large ledger may leave most of it out. The context is the same if it passes, of the events that the
// viewer sees: the viewer's own reflections, the last event that each covers, the events after the last of these, the
// latest Window events, the world's events, and the latest 3 inputs of users.
func TestContextNeedsOnlyPartOfLedger(t *testing.T) {
	t.Parallel()
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		memory := views.Memory{UseSalience: rapid.Bool().Draw(t, "salience"),
			Window:              rapid.IntRange(1, 8).Draw(t, "window"),
			ReflectionThreshold: rapid.IntRange(1, 8).Draw(t, "threshold")}
		events := reflecting(anyLedger().Draw(t, "ledger"), memory)

		load := map[string]bool{}
		through, visits, recent := "", 0, 0
		for _, e := range slices.Backward(events) {
			own := e.Agent == "baker" && e.Kind == ledger.KindAgentReflected
			switch {
			case !baker.Sees(e):
				continue
			case own:
				r, _ := ledger.Payload[ledger.Reflection](e)
				load[e.ID], load[r.Through] = true, true
				if through == "" {
					through = r.Through
				}
			case e.Kind == ledger.KindUserInjected && visits < 3:
				visits++
				load[e.ID] = true
			case e.Kind == ledger.KindWorldObserved:
				load[e.ID] = true
			}
			if !own && recent < memory.Window {
				recent++
				load[e.ID] = true
			}
		}
		var part []ledger.Event
		after := slices.IndexFunc(events, func(e ledger.Event) bool { return e.ID == through })
		for i, e := range events {
			if i > after && baker.Sees(e) || load[e.ID] {
				part = append(part, e)
			}
		}
		left += len(baker.Visible(events)) - len(part)

		request := views.Request{Viewer: baker, Events: events, Turn: 50, Memory: memory}
		whole, err := views.Build(t.Context(), request)
		require.NoError(t, err)
		request.Events = part
		fromPart, err := views.Build(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, whole.Text(), fromPart.Text())
		require.Equal(t, ids(memory.Tracker(baker).Pending(events)), ids(memory.Tracker(baker).Pending(part)))
	})
	require.Positive(t, left, "something was left out")
}

// reflecting replaces the baker's reflections by new ones, made whenever a reflection is due.
func reflecting(events []ledger.Event, memory views.Memory) []ledger.Event {
	var out []ledger.Event
	for _, e := range events {
		if e.Agent == "baker" && e.Kind == ledger.KindAgentReflected {
			continue
		}
		e.Seq = int64(len(out) + 1)
		out = append(out, e)
		if span, due := memory.Tracker(baker).Due(out); due {
			belief := reflect(len(out)+1, "baker", span.Reflection("a belief on "+span.Through, ids(span.Events)))
			belief.ID, belief.Turn = "after-"+e.ID, e.Turn
			out = append(out, belief)
		}
	}
	return out
}
