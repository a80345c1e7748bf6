package views_test

import (
	"math"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

// These functions implement document 001 literally, without the package. They expect ledgers of anyLedger.

// "own events (any kind, any turn)", "globally-visible event kinds".
func oracleVisible(agent string, events []ledger.Event) []ledger.Event {
	out := []ledger.Event{}
	for _, e := range events {
		mine := e.Agent == agent
		global := e.Kind == "world.observed" || e.Kind == "judge.verdict" || e.Kind == "user.injected" ||
			e.Kind == "run.started" || e.Kind == "agent.reflected"
		if mine || global {
			out = append(out, e)
		}
	}
	return out
}

// "[e for e in events if mine_or_global(e)][-max_recent:]".
func oracleEpisodic(agent string, events []ledger.Event, window int) []ledger.Event {
	visible := oracleVisible(agent, events)
	if len(visible) > window {
		visible = visible[len(visible)-window:]
	}
	return visible
}

var (
	oracleWord = regexp.MustCompile(`[a-z']+`)
	oracleKind = map[string]float64{"user.injected": 0.95, "verdict.final": 1, "judge.verdict": 0.9,
		"agent.reflected": 0.85,
		"clue.found":      0.8, "world.observed": 0.7, "agent.spoke": 0.5, "agent.thought": 0.4, "run.started": 0.3,
		"tool.called": 0.5, "market.closed": 0.5} // the last two are not in the document
)

func oracleWords(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range oracleWord.FindAllString(strings.ToLower(text), -1) {
		out[w] = true
	}
	return out
}

func oracleJaccard(e ledger.Event, scene string) float64 {
	payload := string(e.Payload)
	payload = regexp.MustCompile(`"(text|belief|based_on)":|"e1"`).ReplaceAllString(payload, "")
	a, b, both := oracleWords(payload), oracleWords(scene), 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	if len(a)+len(b) == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// "w_rel·relevance(e, query) + w_rec·recency(e, turn) + w_imp·importance(e.kind)".
func oracleSalience(e ledger.Event, turn int, relevance float64) float64 {
	delta := math.Max(0, float64(turn-e.Turn))
	return 0.30*relevance + 0.40*math.Exp(-0.1*delta) + 0.30*oracleKind[e.Kind]
}

// "Top-K events by salience score are returned in chronological order". Of equal scores, the later event wins.
func oracleTop(visible []ledger.Event, k, turn int, relevance func(ledger.Event) float64) []ledger.Event {
	order := make([]int, len(visible))
	for i := range order {
		order[i] = i
	}
	score := func(i int) float64 { return oracleSalience(visible[i], turn, relevance(visible[i])) }
	sort.SliceStable(order, func(a, b int) bool {
		x, y := score(order[a]), score(order[b])
		if math.Abs(x-y) > 1e-9 {
			return x > y
		}
		return order[a] > order[b]
	})
	if len(order) > k {
		order = order[:k]
	}
	sort.Ints(order)
	out := []ledger.Event{}
	for _, i := range order {
		out = append(out, visible[i])
	}
	return out
}

// "Triggered when an agent has seen N visible events since the last reflection."
func oracleSinceReflection(agent string, events []ledger.Event) int {
	seen := 0
	for _, e := range oracleVisible(agent, events) {
		seen++
		if e.Agent == agent && e.Kind == "agent.reflected" {
			seen = 0
		}
	}
	return seen
}

// The views agree with document 001.
func TestViewsAgreeWithDocument(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := anyLedger().Draw(t, "ledger")
		agent := rapid.SampledFrom(append(agents, "stranger")).Draw(t, "viewer")
		viewer := views.Viewer{Agent: agent}
		require.Equal(t, ids(oracleVisible(agent, events)), ids(viewer.Visible(events)))

		window := rapid.IntRange(1, 12).Draw(t, "window")
		episodic := views.EpisodicMemory{Viewer: viewer, Window: window}.Recall(events)
		require.Equal(t, ids(oracleEpisodic(agent, events, window)), ids(episodic))
		require.Equal(t, ids(oracleEpisodic(agent, events, 8)),
			ids(views.EpisodicMemory{Viewer: viewer}.Recall(events)), "default")

		now := views.Now{Turn: rapid.IntRange(0, 80).Draw(t, "turn"), Scene: "bread is in the oven, and rain"}
		salient, err := views.SalienceMemory{Viewer: viewer, K: window}.Recall(t.Context(), events, now)
		require.NoError(t, err)
		jaccard := func(e ledger.Event) float64 { return oracleJaccard(e, now.Scene) }
		require.Equal(t, ids(oracleTop(oracleVisible(agent, events), window, now.Turn, jaccard)), ids(salient))

		tracker := views.ReflectionTracker{Viewer: viewer, Threshold: window}
		require.Len(t, tracker.Pending(events), oracleSinceReflection(agent, events))
	})
}

// Neither the order of the given events nor duplicates change a view.
func TestViewsDoNotDependOnInputOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := hardLedger().Draw(t, "ledger")
		mixed := rapid.Permutation(append(events, events[:len(events)/2]...)).Draw(t, "mixed")
		viewer := views.Viewer{Agent: "baker", PolicyGroup: "guild"}
		require.Equal(t, ids(views.Order(events)), ids(views.Order(mixed)))
		for _, reflections := range []bool{false, true} {
			episodic := views.EpisodicMemory{Viewer: viewer, Reflections: reflections}
			require.Equal(t, episodic.Recall(events), episodic.Recall(mixed))
			salience := views.SalienceMemory{Viewer: viewer, Reflections: reflections}
			a, err := salience.Recall(t.Context(), events, views.Now{Turn: 9, Scene: "rain"})
			require.NoError(t, err)
			b, err := salience.Recall(t.Context(), mixed, views.Now{Turn: 9, Scene: "rain"})
			require.NoError(t, err)
			require.Equal(t, a, b)
		}
	})
}

// Streams are merged by time. Within a stream, sequence numbers decide, also if a clock jumped.
func TestOrderKeepsStreamOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		last := map[string]int64{}
		ordered := views.Order(hardLedger().Draw(t, "ledger"))
		for _, e := range ordered {
			require.Equal(t, last[e.Stream]+1, e.Seq)
			last[e.Stream] = e.Seq
		}
	})
	a, b, c := say(1, "a", "agent.spoke", ""), say(2, "a", "agent.spoke", ""), say(3, "a", "agent.spoke", "")
	b.Stream, b.Seq = "world/town", 1
	fresh, again := say(4, "a", "agent.spoke", ""), a
	fresh.Seq, again.Seq = 0, 0
	require.Equal(t, []string{"e1", "e2", "e3", "e4"}, ids(views.Order([]ledger.Event{fresh, again, c, b, a, fresh})))
}
