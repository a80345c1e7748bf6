package lifecycle_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/schema"
)

var allVerdicts = []schema.Verdict{schema.VerdictSucceeded, schema.VerdictPartly, schema.VerdictFailed,
	schema.VerdictUnused}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	a, b, c, stranger := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	returned := []uuid.UUID{a, b, c}
	item := func(id uuid.UUID, v schema.Verdict) schema.FeedbackItem {
		return schema.FeedbackItem{MemoryID: id.String(), Verdict: v}
	}
	used := func(id uuid.UUID, yes bool) schema.FeedbackItem {
		return schema.FeedbackItem{MemoryID: id.String(), Used: &yes}
	}
	says := func(id uuid.UUID, v schema.Verdict) lifecycle.ItemVerdict {
		return lifecycle.ItemVerdict{MemoryID: id, Verdict: v, Returned: id != stranger}
	}
	fills := func(id uuid.UUID) lifecycle.ItemVerdict {
		return lifecycle.ItemVerdict{MemoryID: id, Verdict: schema.VerdictUnused, Returned: true, Fill: true}
	}
	for name, test := range map[string]struct {
		request schema.FeedbackRequest
		want    []lifecycle.ItemVerdict
	}{
		"in the order of the request": {schema.FeedbackRequest{Items: []schema.FeedbackItem{item(c, "failed"),
			item(stranger, "succeeded"), item(a, "unused")}},
			[]lifecycle.ItemVerdict{says(c, "failed"), says(stranger, "succeeded"), says(a, "unused")}},
		"used means that it succeeded": {schema.FeedbackRequest{Items: []schema.FeedbackItem{used(a, true),
			used(b, false)}},
			[]lifecycle.ItemVerdict{says(a, "succeeded"), says(b, "unused")}},
		"used takes the outcome": {schema.FeedbackRequest{Outcome: "partial",
			Items: []schema.FeedbackItem{used(a, true), used(b, false), item(c, "")}},
			[]lifecycle.ItemVerdict{says(a, "partly"), says(b, "unused"), says(c, "partly")}},
		"a verdict overrides the outcome": {schema.FeedbackRequest{Outcome: "failure",
			Items: []schema.FeedbackItem{item(a, "succeeded"), item(b, "")}},
			[]lifecycle.ItemVerdict{says(a, "succeeded"), says(b, "failed")}},
		"an outcome alone applies to all": {schema.FeedbackRequest{Outcome: "failure"},
			[]lifecycle.ItemVerdict{says(a, "failed"), says(b, "failed"), says(c, "failed")}},
		"all others, in the order of the results": {schema.FeedbackRequest{AllOthersUnused: true,
			Items: []schema.FeedbackItem{item(b, "succeeded")}},
			[]lifecycle.ItemVerdict{says(b, "succeeded"), fills(a), fills(c)}},
		"nothing was used": {schema.FeedbackRequest{AllOthersUnused: true},
			[]lifecycle.ItemVerdict{fills(a), fills(b), fills(c)}},
	} {
		require.Equal(t, test.want, lifecycle.Verdicts(test.request, returned), name)
	}
	require.Empty(t, lifecycle.Verdicts(schema.FeedbackRequest{Outcome: "success"}, nil))
}

// fadingFact returns a memory with a half-life of ten days and a gain of 0.2, after change.
func fadingFact(change func(*lifecycle.Rated)) lifecycle.Rated {
	m := lifecycle.Rated{Type: schema.TypeSemantic, Payload: json.RawMessage(`{"kind":"semantic"}`), Confidence: 0.7,
		CreatedAt: memorytest.Noon.Add(-20 * memorytest.Day),
		Decay: memory.Decay{Curve: schema.CurveExponential, HalfLife: 10 * memorytest.Day, MinSalience: 0.1,
			ReinforcementGain: 0.2},
		Salience: 0.8, SalienceAt: memorytest.Noon.Add(-10 * memorytest.Day)}
	if change != nil {
		change(&m)
	}
	return m
}

func reinforce(t require.TestingT, m lifecycle.Rated, v schema.Verdict, earlier *lifecycle.PriorVerdict,
	now time.Time) lifecycle.Reinforcement {
	r, err := lifecycle.Reinforce(m, v, earlier, now)
	require.NoError(t, err)
	return r
}

// after returns the memory after a verdict, and the verdict to pass as the earlier one.
func after(m lifecycle.Rated, v schema.Verdict, r lifecycle.Reinforcement) (lifecycle.Rated, *lifecycle.PriorVerdict) {
	m.Salience, m.SalienceAt, m.Confidence = r.Salience, r.SalienceAt, r.Confidence
	if r.Payload != nil {
		m.Payload = r.Payload
	}
	return m, &lifecycle.PriorVerdict{Verdict: v, Moved: r.Moved, Counted: r.Counted, At: r.At}
}

// salience returns the salience of a memory at a time, from the values stored after feedback.
func salience(m lifecycle.Rated, r lifecycle.Reinforcement, at time.Time) float64 {
	if m.Pinned {
		return r.Salience
	}
	return m.Decay.Salience(r.Salience, at.Sub(r.SalienceAt))
}

func TestReinforceMovesSalience(t *testing.T) {
	t.Parallel()
	never := func(m *lifecycle.Rated) { m.Decay.MinSalience = 0 }
	for name, tt := range map[string]struct {
		verdict       schema.Verdict
		change        func(*lifecycle.Rated)
		before, after float64
		at            time.Time
		due           time.Time // zero: never
		reinforced    bool
	}{
		"succeeded": {schema.VerdictSucceeded, never, 0.4, 0.6, memorytest.Noon, time.Time{}, true},
		"partly":    {schema.VerdictPartly, never, 0.4, 0.5, memorytest.Noon, time.Time{}, true},
		"failed":    {schema.VerdictFailed, never, 0.4, 0.2, memorytest.Noon, time.Time{}, false},
		"unused":    {schema.VerdictUnused, never, 0.4, 0.35, memorytest.Noon, time.Time{}, false},
		"due later": {schema.VerdictSucceeded, func(m *lifecycle.Rated) { m.Salience = 1.2 / 2 * 2 * 0.5 }, 0.3, 0.5,
			memorytest.Noon, memorytest.Noon.Add(time.Duration(math.Log2(5) * float64(10*memorytest.Day))), true},
		"due at once": {schema.VerdictFailed, func(m *lifecycle.Rated) { m.Salience = 0.5 }, 0.25, 0.05,
			memorytest.Noon, memorytest.Noon, false},
		"capped": {schema.VerdictSucceeded, func(m *lifecycle.Rated) {
			m.Salience, m.SalienceAt, m.Decay.MinSalience = 0.9, memorytest.Noon, 0
		}, 0.9, 1, memorytest.Noon, time.Time{}, true},
		"floored": {schema.VerdictFailed, func(m *lifecycle.Rated) { m.Decay.Floor = 0.3 }, 0.4, 0.3,
			memorytest.Noon, time.Time{}, false},
		"pinned": {schema.VerdictFailed, func(m *lifecycle.Rated) { m.Pinned = true }, 0.8, 0.6, memorytest.Noon,
			time.Time{}, false},
		"no gain": {schema.VerdictSucceeded, func(m *lifecycle.Rated) {
			m.Decay.ReinforcementGain, m.Decay.MinSalience = 0, 0
		}, 0.4, 0.4, memorytest.Noon, time.Time{}, true},
		"a clock that was set back": {schema.VerdictSucceeded, func(m *lifecycle.Rated) {
			m.SalienceAt, m.Decay.MinSalience, m.Salience = memorytest.Noon.Add(memorytest.Day), 0, 0.4
		}, 0.4, 0.6, memorytest.Noon.Add(memorytest.Day), time.Time{}, true},
		"already too old": {schema.VerdictSucceeded, func(m *lifecycle.Rated) { m.Decay.MaxAge = memorytest.Day },
			0.4, 0.6, memorytest.Noon, memorytest.Noon, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fadingFact(tt.change)
			r := reinforce(t, m, tt.verdict, nil, memorytest.Noon)
			require.InDelta(t, tt.before, r.Before, 1e-12)
			require.InDelta(t, tt.after, r.After, 1e-12)
			require.InDelta(t, tt.after-tt.before, r.Moved, 1e-12)
			require.Equal(t, tt.at, r.At)
			if tt.reinforced && !m.Pinned {
				require.Equal(t, tt.at, r.SalienceAt, "a new curve begins")
			} else {
				require.Equal(t, m.SalienceAt, r.SalienceAt, "the curve continues")
			}
			require.InDelta(t, tt.after, salience(m, r, tt.at), 1e-12, "the stored values agree")
			require.Equal(t, tt.reinforced, r.Reinforced)
			require.Equal(t, map[bool]schema.FeedbackStatus{true: schema.FeedbackReinforced,
				false: schema.FeedbackPenalised}[tt.reinforced], r.Status)
			if tt.due.IsZero() {
				require.Nil(t, r.DueAt)
			} else {
				require.WithinDuration(t, tt.due, *r.DueAt, time.Second)
			}
			require.Nil(t, r.Outcomes)
			require.Nil(t, r.Payload)
			require.Empty(t, r.Counted)
			require.Equal(t, 0.7, r.Confidence, "use does not change the confidence in a fact")

			same := reinforce(t, m, tt.verdict, &lifecycle.PriorVerdict{Verdict: tt.verdict, Moved: r.Moved, At: r.At},
				memorytest.Noon)
			require.Equal(t, schema.FeedbackUnchanged, same.Status)
		})
	}
	_, err := lifecycle.Reinforce(fadingFact(nil), "liked", nil, memorytest.Noon)
	require.Error(t, err)
	_, err = lifecycle.Reinforce(fadingFact(func(m *lifecycle.Rated) {
		m.Type, m.Payload = schema.TypeCompetence, json.RawMessage(`[]`)
	}), schema.VerdictFailed, nil, memorytest.Noon)
	require.Error(t, err)
}

func TestReinforceCountsOutcomes(t *testing.T) {
	t.Parallel()
	type stats = map[string]any
	used := memorytest.Noon.Format(time.RFC3339)
	for name, tt := range map[string]struct {
		verdict    schema.Verdict
		earlier    *lifecycle.PriorVerdict
		before     stats
		after      stats // nil if the payload does not change
		confidence float64
	}{
		"the first success": {schema.VerdictSucceeded, nil, nil,
			stats{"success_count": 1.0, "failure_count": 0.0, "success_rate": 1.0, "failure_rate": 0.0,
				"last_used_at": used}, 0.775},
		"the first failure": {schema.VerdictFailed, nil, nil,
			stats{"success_count": 0.0, "failure_count": 1.0, "success_rate": 0.0, "failure_rate": 1.0,
				"last_used_at": used}, 0.525},
		"one more": {schema.VerdictFailed, nil, stats{"success_count": 3, "failure_count": 0, "avg_latency_ms": 12.5},
			stats{"success_count": 3.0, "failure_count": 1.0, "success_rate": 0.75, "failure_rate": 0.25,
				"avg_latency_ms": 12.5, "last_used_at": used}, 0.6},
		"in part": {schema.VerdictPartly, nil, stats{"success_count": 3},
			stats{"success_count": 3.0, "last_used_at": used}, 0.7},
		"unused": {schema.VerdictUnused, nil, stats{"success_count": 3}, nil, 0.7},
		"counted outcomes replace a claimed rate": {schema.VerdictFailed, nil, stats{"success_rate": 0.9},
			stats{"success_count": 0.0, "failure_count": 1.0, "success_rate": 0.0, "failure_rate": 1.0,
				"last_used_at": used}, 0.525},
		"used in the future": {schema.VerdictPartly, nil, stats{"last_used_at": "2030-01-01T00:00:00Z"},
			stats{"last_used_at": "2030-01-01T00:00:00Z"}, 0.7},
		"corrected": {schema.VerdictFailed,
			&lifecycle.PriorVerdict{Verdict: schema.VerdictSucceeded, Counted: lifecycle.CountedSuccess, At: memorytest.Noon},
			stats{"success_count": 2, "failure_count": 1},
			stats{"success_count": 1.0, "failure_count": 2.0, "success_rate": 1.0 / 3, "failure_rate": 2.0 / 3,
				"last_used_at": used}, 0.7 - 1.0/6},
		"the only one is taken back": {schema.VerdictUnused,
			&lifecycle.PriorVerdict{Verdict: schema.VerdictSucceeded, Counted: lifecycle.CountedSuccess, At: memorytest.Noon},
			stats{"success_count": 1, "success_rate": 1}, stats{}, 0.6},
		"taken back without a count": {schema.VerdictUnused,
			&lifecycle.PriorVerdict{Verdict: schema.VerdictFailed, Counted: lifecycle.CountedFailure, At: memorytest.Noon},
			stats{"success_count": 2}, nil, 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for memoryType, where := range map[schema.MemoryType]string{schema.TypeCompetence: "performance",
				schema.TypePlanGraph: "metrics"} {
				members := map[string]any{"kind": memoryType, "other": "stays"}
				if tt.before != nil {
					members[where] = tt.before
				}
				payload, err := json.Marshal(members)
				require.NoError(t, err)
				r := reinforce(t, fadingFact(func(m *lifecycle.Rated) { m.Type, m.Payload = memoryType, payload }),
					tt.verdict, tt.earlier, memorytest.Noon)
				require.InDelta(t, tt.confidence, r.Confidence, 1e-12)
				if tt.after == nil {
					require.Nil(t, r.Payload)
					continue
				}
				var got map[string]any
				require.NoError(t, json.Unmarshal(r.Payload, &got))
				want := map[string]any{"kind": string(memoryType), "other": "stays", where: map[string]any(tt.after)}
				require.Equal(t, want, got)
			}
		})
	}
}

// anyRated draws memories of every type.
func anyRated() *rapid.Generator[lifecycle.Rated] {
	return rapid.Custom(func(t *rapid.T) lifecycle.Rated {
		d := memorytest.AnyDecay().Draw(t, "decay")
		d.HalfLife = time.Duration(rapid.Int64Range(0, 400).Draw(t, "half-life in days")) * memorytest.Day
		d.ReinforcementGain = rapid.Float64Range(0, 1).Draw(t, "gain")
		m := lifecycle.Rated{Type: rapid.SampledFrom([]schema.MemoryType{schema.TypeSemantic, schema.TypeEpisodic,
			schema.TypeCompetence, schema.TypePlanGraph}).Draw(t, "type"),
			Payload: json.RawMessage(`{}`), Confidence: rapid.Float64Range(0, 1).Draw(t,
				"confidence"), Pinned: rapid.Bool().Draw(t,
				"pinned"), CreatedAt: memorytest.Noon.Add(-1000 * memorytest.Day),
			Decay: d, Salience: rapid.Float64Range(d.Floor, 1).Draw(t, "salience"), SalienceAt: memorytest.Noon}
		return m
	})
}

func TestReinforceProperties(t *testing.T) {
	t.Parallel()
	type item struct {
		retrieval int
		verdict   schema.Verdict
	}
	rapid.Check(t, func(t *rapid.T) {
		m := anyRated().Draw(t, "memory")
		said := map[int]*lifecycle.PriorVerdict{}
		first, now := m.Confidence, memorytest.Noon
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(-5, 20).Draw(t, "days")) * memorytest.Day) // clocks jump
			i := item{rapid.IntRange(0, 3).Draw(t, "retrieval"), rapid.SampledFrom(allVerdicts).Draw(t, "verdict")}
			r := reinforce(t, m, i.verdict, said[i.retrieval], now)
			if said[i.retrieval] != nil && said[i.retrieval].Verdict == i.verdict {
				require.Equal(t, schema.FeedbackUnchanged, r.Status)
				continue
			}
			require.True(t, r.After >= m.Decay.Floor && r.After <= 1, "in [floor,1]")
			require.InDelta(t, r.After, salience(m, r, r.At), 1e-9, "the stored values agree")
			require.True(t, r.Confidence >= 0 && r.Confidence <= 1)
			require.False(t, r.SalienceAt.Before(m.SalienceAt), "time does not go back")
			due, falls := m.Decay.DueAt(r.Salience, r.SalienceAt, m.CreatedAt, m.Pinned)
			require.Equal(t, falls, r.DueAt != nil)
			before, fell := m.Decay.DueAt(m.Salience, m.SalienceAt, m.CreatedAt, m.Pinned)
			if due.Before(now) {
				due = now
			}
			require.True(t, !falls || due.Equal(*r.DueAt), "due is exact")
			if fell && !r.Reinforced && r.After <= r.Before {
				require.True(t, falls && (due.Equal(now) || !due.After(before)),
					"a negative verdict does not prolong the life of a memory")
			}
			if said[i.retrieval] == nil { // a better verdict never gives a lower salience
				worse := r.After
				for _, v := range []schema.Verdict{schema.VerdictFailed, schema.VerdictUnused, schema.VerdictPartly,
					schema.VerdictSucceeded} {
					got := reinforce(t, m, v, nil, now)
					if v == schema.VerdictFailed {
						worse = got.After
					}
					require.GreaterOrEqual(t, got.After, worse, v)
					require.Equal(t, got.Reinforced, v == schema.VerdictSucceeded || v == schema.VerdictPartly)
					require.True(t, got.Reinforced && got.After >= got.Before || !got.Reinforced &&
						got.After <= got.Before, v)
					worse = got.After
				}
			}
			m, said[i.retrieval] = after(m, i.verdict, r)
		}
		if m.Type != schema.TypeCompetence && m.Type != schema.TypePlanGraph {
			require.Equal(t, first, m.Confidence)
			return
		}
		// Only the last verdict of each retrieval counts, in any order, for the outcomes and for the confidence.
		var successes, failures int64
		for _, s := range said {
			if s.Verdict == schema.VerdictSucceeded {
				successes++
			}
			if s.Verdict == schema.VerdictFailed {
				failures++
			}
		}
		r := reinforce(t, m, schema.VerdictUnused, nil, now)
		require.Equal(t, lifecycle.Outcomes{Successes: successes, Failures: failures}, *r.Outcomes)
		require.InDelta(t, (3*first+float64(successes))/float64(3+successes+failures), m.Confidence, 1e-9)
	})
}

// Unless a value is clamped, a correction gives the same result as if only the right verdict had been given. On
// curves that are not exponential, this requires that no verdict in between raised the salience.
func TestCorrectionUndoesEarlierVerdict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := anyRated().Draw(t, "memory")
		m.Decay.Floor, m.Decay.HalfLife = 0, time.Duration(rapid.Int64Range(40,
			400).Draw(t, "half-life"))*memorytest.Day
		m.Decay.Points = slices.Clone(m.Decay.Points)
		for i := range m.Decay.Points {
			m.Decay.Points[i].Share = (1 + m.Decay.Points[i].Share) / 2 // keep the salience above zero
		}
		m.Decay.ReinforcementGain = rapid.Float64Range(0, 0.05).Draw(t, "gain")
		m.Salience = rapid.Float64Range(0.6, 0.8).Draw(t, "salience")
		wrong := rapid.SampledFrom(allVerdicts).Draw(t, "wrong")
		right := rapid.SampledFrom(allVerdicts).Filter(func(v schema.Verdict) bool {
			return v != wrong
		}).Draw(t, "right")
		most := int64(15)
		if m.Pinned { // does not fade
			most = 1000
		}
		days := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, most).Draw(t, name)) * memorytest.Day
		}
		exponential := m.Decay.Curve == schema.CurveExponential
		said := memorytest.Noon.Add(days("until it was said"))
		if helped := wrong == schema.VerdictSucceeded || wrong == schema.VerdictPartly; helped && !exponential {
			said = m.SalienceAt // a rise starts a new curve; here it is the same one
		}
		between := said.Add(days("until another was"))
		corrected := between.Add(days("until it was corrected"))

		with, without := m, m
		var mistake *lifecycle.PriorVerdict
		with, mistake = after(with, wrong, reinforce(t, with, wrong, nil, said))
		if rapid.Bool().Draw(t, "another in between") {
			others := []schema.Verdict{schema.VerdictFailed, schema.VerdictUnused}
			if exponential {
				others = allVerdicts
			}
			v := rapid.SampledFrom(others).Draw(t, "another")
			with, _ = after(with, v, reinforce(t, with, v, nil, between))
			without, _ = after(without, v, reinforce(t, without, v, nil, between))
		}
		got := reinforce(t, with, right, mistake, corrected)
		want := reinforce(t, without, right, nil, corrected)
		require.Equal(t, schema.FeedbackCorrected, got.Status)
		require.InDelta(t, want.After, got.After, 1e-9)
		if helps := func(v schema.Verdict) bool {
			return v == schema.VerdictSucceeded || v == schema.VerdictPartly
		}; !helps(wrong) && !helps(right) {
			require.True(t, got.SalienceAt.Equal(want.SalienceAt), "the same curve")
			require.InDelta(t, want.Salience, got.Salience, 1e-9)
		}
		require.InDelta(t, want.Moved, got.Moved, 1e-9)
		require.InDelta(t, want.Confidence, got.Confidence, 1e-9)
		require.Equal(t, want.Counted, got.Counted)
		require.Equal(t, want.Outcomes, got.Outcomes)
	})
}

// Among procedures that match equally, feedback decides (document 004 §15A.11). A procedure that worked is selected,
// and one that failed ranks below an untried one.
func TestFeedbackDecidesBetweenProcedures(t *testing.T) {
	t.Parallel()
	s := layers.Situation{ErrorSignature: "ld: cache mismatch", Now: memorytest.Noon}
	ids := []uuid.UUID{uuid.MustParse("00000000-0000-7000-8000-000000000001"),
		uuid.MustParse("00000000-0000-7000-8000-000000000002")}
	procedures := make([]lifecycle.Rated, 2)
	reinforcedAt := []time.Time{memorytest.Noon.Add(-90 * memorytest.Day), memorytest.Noon.Add(-90 * memorytest.Day)}
	for i := range procedures {
		procedures[i] = fadingFact(func(m *lifecycle.Rated) {
			m.Type, m.Payload = schema.TypeCompetence, json.RawMessage(`{"kind":"competence","skill_name":"fix","triggers":[{"signal":"ld: cache mismatch"}],"recipe":[{"step":"x"}]}`)
		})
	}
	choose := func() schema.Selection {
		var solutions []layers.Solution
		for i, m := range procedures {
			solutions = append(solutions, layers.Solution{ID: ids[i], Type: m.Type, Payload: m.Payload,
				ReinforcedAt: reinforcedAt[i]})
		}
		out, _ := layers.Select(s, schema.LayerCompetence, solutions)
		return out
	}
	say := func(i int, v schema.Verdict, times int) {
		for range times {
			r := reinforce(t, procedures[i], v, nil, memorytest.Noon)
			procedures[i], _ = after(procedures[i], v, r)
			if r.Reinforced {
				reinforcedAt[i] = r.At
			}
		}
	}
	require.Empty(t, choose().Selected, "neither was tried")
	say(1, schema.VerdictSucceeded, 5)
	require.Equal(t, ids[1].String(), choose().Selected)
	require.Equal(t, int64(5), choose().Candidates[0].Successes)
	say(1, schema.VerdictFailed, 15)
	require.Empty(t, choose().Selected, "a procedure that mostly fails is not selected, even alone")
	say(0, schema.VerdictSucceeded, 5)
	require.Equal(t, ids[0].String(), choose().Selected)
	require.Greater(t, procedures[0].Confidence, procedures[1].Confidence)
}
