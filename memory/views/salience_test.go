package views_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// index is a MemoryIndex in memory. Its score is the share of the query's letters that occur in an event, which differs
// from the package's own measure. It also returns events that are not in the ledger.
type index struct {
	events map[string]string
	alien  []views.Hit
	fails  error
}

func (x *index) Index(_ context.Context, events []ledger.Event) error {
	for _, e := range events {
		x.events[e.ID] = views.Text(e)
	}
	return x.fails
}

func (x *index) Search(_ context.Context, query string, k int) ([]views.Hit, error) {
	hits := slices.Clone(x.alien)
	for id, text := range x.events {
		hits = append(hits, views.Hit{ID: id, Score: letters(text, query)})
	}
	slices.SortFunc(hits, func(a, b views.Hit) int { return strings.Compare(a.ID, b.ID) })
	return hits[:min(len(hits), k+len(x.alien))], nil
}

func letters(text, query string) float64 {
	found := 0
	for _, r := range query {
		if strings.ContainsRune(text, r) {
			found++
		}
	}
	return float64(found) / float64(len(query))
}

// An index changes only the relevance of events. It does not change which events are eligible, nor their recency or
// importance.
func TestIndexChangesOnlyRelevance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := hardLedger().Draw(t, "ledger")
		now := views.Now{Turn: rapid.IntRange(0, 40).Draw(t, "turn"), Scene: "bread and rain"}
		plain := views.SalienceMemory{Viewer: views.Viewer{Agent: "baker", PolicyGroup: "guild"}, K: 100,
			Reflections: rapid.Bool().Draw(t, "reflections")}
		indexed := plain
		indexed.Index = &index{events: map[string]string{}, alien: []views.Hit{{ID: "elsewhere", Score: 1}}}

		without, err := plain.Rank(t.Context(), events, now)
		require.NoError(t, err)
		for range 2 { // indexing again changes nothing
			with, err := indexed.Rank(t.Context(), events, now)
			require.NoError(t, err)
			require.Len(t, with, len(without), "the same number is eligible")
			for _, s := range with {
				i := slices.IndexFunc(without, func(o views.Scored) bool { return o.Event.ID == s.Event.ID })
				require.GreaterOrEqual(t, i, 0, "an event became eligible")
				require.Equal(t, without[i].Recency, s.Recency)
				require.Equal(t, without[i].Importance, s.Importance)
				require.InDelta(t, letters(views.Text(s.Event), now.Scene), s.Relevance, 1e-12)
			}
			require.True(t, slices.IsSortedFunc(with, func(a, b views.Scored) int {
				return -cmpFloat(a.Salience, b.Salience)
			}), "the most salient first")
		}
		// An index that scores as the package does gives the same result.
		same := plain
		same.Index = fixed(without)
		again, err := same.Rank(t.Context(), events, now)
		require.NoError(t, err)
		require.Equal(t, without, again)
	})
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// fixed is an index that returns the relevance of events that were ranked before.
type fixed []views.Scored

func (fixed) Index(context.Context, []ledger.Event) error { return nil }

func (f fixed) Search(context.Context, string, int) ([]views.Hit, error) {
	out := []views.Hit{{ID: "e1", Score: math.NaN()}}
	for _, s := range f {
		out = append(out, views.Hit{ID: s.Event.ID, Score: s.Relevance})
	}
	return out, nil
}

func TestIndexFails(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	memory := views.SalienceMemory{Viewer: views.Viewer{Agent: "baker"},
		Index: &index{events: map[string]string{}, fails: down}}
	_, err := memory.Recall(t.Context(), []ledger.Event{say(1, "baker", "agent.spoke", "secret")},
		views.Now{Scene: "x"})
	require.ErrorIs(t, err, down)
	require.NotContains(t, err.Error(), "secret")
}

// Scores are clamped to [0,1], and NaN counts as 0.
func TestIndexScoresAreClamped(t *testing.T) {
	t.Parallel()
	events := []ledger.Event{say(1, "baker", "agent.spoke", "a"), say(2, "baker", "agent.spoke", "b"),
		say(3, "baker", "agent.spoke", "c")}
	memory := views.SalienceMemory{Viewer: views.Viewer{Agent: "baker"},
		Index: hits{{ID: "e1", Score: 7}, {ID: "e2", Score: -3}, {ID: "e3", Score: math.NaN()}}}
	ranked, err := memory.Rank(t.Context(), events, views.Now{Turn: 3, Scene: "x"})
	require.NoError(t, err)
	relevance := map[string]float64{}
	for _, s := range ranked {
		relevance[s.Event.ID] = s.Relevance
	}
	require.Equal(t, map[string]float64{"e1": 1, "e2": 0, "e3": 0}, relevance)
}

type hits []views.Hit

func (hits) Index(context.Context, []ledger.Event) error                { return nil }
func (h hits) Search(context.Context, string, int) ([]views.Hit, error) { return h, nil }

// Weights, decay and importance can be set. An important event can outrank later ones.
func TestSalienceSettings(t *testing.T) {
	t.Parallel()
	events := []ledger.Event{say(1, "judge", "judge.verdict", "guilty"), say(2, "baker", "agent.thought", "hm"),
		say(3, "baker", "market.closed", "closed"), say(4, "baker", "agent.thought", "hm")}
	top := func(m views.SalienceMemory) []string {
		m.Viewer, m.K = views.Viewer{Agent: "baker"}, 1
		out, err := m.Recall(t.Context(), events, views.Now{Turn: 4, Scene: "closed"})
		require.NoError(t, err)
		return ids(out)
	}
	require.Equal(t, []string{"e3"}, top(views.SalienceMemory{}), "relevance decides")
	require.Equal(t, []string{"e1"}, top(views.SalienceMemory{Weights: views.Weights{Importance: 1}}))
	require.Equal(t, []string{"e4"}, top(views.SalienceMemory{Weights: views.Weights{Recency: 1}}))
	require.Equal(t, []string{"e4"},
		top(views.SalienceMemory{Lambda: 9, Weights: views.Weights{Recency: 2, Importance: 1}}))
	require.Equal(t, []string{"e3"}, top(views.SalienceMemory{Weights: views.Weights{Importance: 1},
		Importance: views.Importance{"": 0.99}}), "the default for other kinds")
	require.Equal(t, []string{"e4"}, top(views.SalienceMemory{Weights: views.Weights{Importance: 1},
		Importance: views.Importance{"agent.thought": 1}}), "the later one of equal events")
}

func TestMemorySettings(t *testing.T) {
	t.Parallel()
	require.NoError(t, views.Memory{}.Validate())
	require.NoError(t, views.Memory{Window: 9, Weights: views.DefaultWeights(),
		Importance: views.DefaultImportance()}.Validate())
	bad := views.Memory{Window: -1, TopK: -1, ReflectionThreshold: -1, MaxBeliefs: -1, Lambda: math.Inf(1),
		Weights: views.Weights{Relevance: math.NaN(), Recency: -1, Importance: -1}, Importance: views.Importance{"x": 2,
			"y": math.NaN()}}
	var invalid *schema.ValidationError
	require.ErrorAs(t, bad.Validate(), &invalid)
	var fields []string
	for _, f := range invalid.Fields {
		fields = append(fields, f.Field)
	}
	require.Equal(t, []string{"window", "top_k", "reflection_threshold", "max_beliefs", "weights.relevance",
		"weights.recency",
		"weights.importance", "lambda", "importance.x", "importance.y"}, fields)
}
