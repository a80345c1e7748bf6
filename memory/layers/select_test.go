package layers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/schema"
)

var selectNow = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// solution returns a procedure. Its triggers are given as pairs of a signal and conditions.
func solution(n byte, performance string, triggers ...string) layers.Solution {
	list := "["
	for i := 0; i+1 < len(triggers); i += 2 {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"signal":%q,"conditions":%s}`, triggers[i], triggers[i+1])
	}
	return layers.Solution{ID: uuid.UUID{15: n}, Type: schema.TypeCompetence, ReinforcedAt: selectNow,
		Payload: json.RawMessage(`{"kind":"competence","skill_name":"zeta","triggers":` + list +
			`],"recipe":[],"performance":` + performance + `}`)}
}

func planOf(n byte, intent, constraints, metrics string) layers.Solution {
	return layers.Solution{ID: uuid.UUID{15: n}, Type: schema.TypePlanGraph, ReinforcedAt: selectNow,
		Payload: json.RawMessage(fmt.Sprintf(`{"kind":"plan_graph","plan_id":"p%d","version":"1","intent":%q,"constraints":%s,"metrics":%s,"nodes":[],"edges":[]}`, n, intent, constraints, metrics))}
}

func situation(context string) layers.Situation {
	return layers.Situation{ErrorSignature: "ld: cache mismatch at 0x7ffe12", Context: json.RawMessage(context),
		Now: selectNow}
}

func idOf(n byte) string { return uuid.UUID{15: n}.String() }

const (
	tenOfTen    = `{"success_count":10}`
	twoOfTwelve = `{"success_count":2,"failure_count":10}`
	untried     = `{}`
)

func TestSelect(t *testing.T) {
	t.Parallel()
	const ld, any = "ld: cache mismatch", "{}"
	for name, c := range map[string]struct {
		context   string
		solutions []layers.Solution
		selected  byte   // 0: none
		order     []byte // of all candidates
		verdict   schema.Applicability
		missing   []string
	}{
		"a reliable procedure": {`{}`, []layers.Solution{solution(1, tenOfTen, ld, any)}, 1, []byte{1},
			schema.ApplicabilityUnconditional, nil},
		"two successes and ten failures": {`{}`,
			[]layers.Solution{solution(1, twoOfTwelve, ld, any)}, 0, []byte{1}, schema.ApplicabilityUnconditional, nil},
		"two successes and ten failures, conditions hold": {`{"os":"linux"}`,
			[]layers.Solution{solution(1, twoOfTwelve, ld, `{"os":"linux"}`)}, 0, []byte{1},
			schema.ApplicabilityMatched, nil},
		"one that mostly fails comes after an untried one": {`{}`,
			[]layers.Solution{solution(1, twoOfTwelve, ld, any), solution(2, untried, ld, any)}, 0, []byte{2, 1},
			schema.ApplicabilityUnconditional, nil},
		"the procedure for this system": {`{"os":"linux"}`,
			[]layers.Solution{solution(1, tenOfTen, ld, `{"os":"macos"}`),
				solution(2, `{"success_count":3}`, ld, `{"os":["linux","bsd"]}`)}, 2, []byte{2, 1},
			schema.ApplicabilityMatched, nil},
		"contradicted is never selected": {`{"os":"linux"}`,
			[]layers.Solution{solution(1, `{"success_count":100000}`, ld, `{"os":"macos"}`)}, 0, []byte{1},
			schema.ApplicabilityContradicted, nil},
		"unknown conditions": {`{}`, []layers.Solution{solution(1, tenOfTen, ld, `{"os":"macos"}`),
			solution(2, tenOfTen, ld, `{"os":"linux"}`), solution(3, tenOfTen, ld, `{"os":"linux","arch":"arm64"}`)}, 0,
			[]byte{1, 2, 3}, schema.ApplicabilityUnknown, []string{"os", "arch"}},
		"unknown conditions, many successes": {`{}`,
			[]layers.Solution{solution(1, `{"success_count":1000000}`, ld, `{"os":"macos"}`)}, 0, []byte{1},
			schema.ApplicabilityUnknown, []string{"os"}},
		"a tie": {`{}`,
			[]layers.Solution{solution(1, tenOfTen, ld, any), solution(2, tenOfTen, ld, any)}, 0, []byte{1, 2},
			schema.ApplicabilityUnconditional, nil},
		"the trigger that matches decides": {`{"os":"linux"}`,
			[]layers.Solution{solution(1, tenOfTen, ld, `{"os":"macos"}`, "disk full", any)}, 0, []byte{1},
			schema.ApplicabilityContradicted, nil},
		"either of two matching triggers": {`{"os":"linux"}`,
			[]layers.Solution{solution(1, tenOfTen, ld, `{"os":"macos"}`, "cache mismatch", `{"os":"linux"}`)}, 1,
			[]byte{1}, schema.ApplicabilityMatched, nil},
		"another error": {`{}`, []layers.Solution{solution(1, tenOfTen, "disk full", any)}, 0,
			nil, "", nil},
		"numbers are compared by value": {`{"go":1.0}`, []layers.Solution{solution(1, tenOfTen, ld, `{"go":1}`)},
			1, []byte{1}, schema.ApplicabilityMatched, nil},
		"a system and a version in other words": {`{"os":"Linux","go_version":"go1.26.8"}`,
			[]layers.Solution{solution(1, tenOfTen, ld, `{"os":"linux","go_version":["1.26.8","1.27"]}`)},
			1, []byte{1}, schema.ApplicabilityMatched, nil},
		"another system in other words": {`{"os":"Windows"}`,
			[]layers.Solution{solution(1, tenOfTen, ld, `{"os":"linux"}`)}, 0, []byte{1},
			schema.ApplicabilityContradicted, nil},
		"a value as it is stored": {`{"os":"Linux"}`, []layers.Solution{solution(1, tenOfTen, ld, `{"os":"Linux"}`)},
			1, []byte{1}, schema.ApplicabilityMatched, nil},
		"a number and its text": {`{"go":"1"}`, []layers.Solution{solution(1, tenOfTen, ld, `{"go":1}`)},
			0, []byte{1}, schema.ApplicabilityContradicted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ruledOut := layers.Select(situation(c.context), schema.LayerCompetence, c.solutions)
			want := ""
			if c.selected != 0 {
				want = idOf(c.selected)
			}
			require.Equal(t, want, got.Selected, "%+v", got)
			var order []byte
			for _, x := range got.Candidates {
				order = append(order, uuid.MustParse(x.ID)[15])
				require.Equal(t, x.Applicability == schema.ApplicabilityContradicted,
					slices.Contains(ruledOut, uuid.MustParse(x.ID)))
			}
			require.Equal(t, c.order, order)
			if len(got.Candidates) > 0 {
				require.Equal(t, c.verdict, got.Candidates[0].Applicability)
			}
			var missing []string
			for _, m := range got.MissingContext {
				missing = append(missing, m.Key)
			}
			require.Equal(t, c.missing, missing)
			require.Equal(t, got.Selected != "", got.Confidence >= got.Threshold)
			require.NotNil(t, got.Candidates)
			require.NotNil(t, got.MissingContext)
		})
	}
}

func TestSelectPlans(t *testing.T) {
	t.Parallel()
	s := layers.Situation{Intent: "set up my project", Context: json.RawMessage(`{"platform":"ios","go":true}`),
		Now: selectNow}
	got, ruledOut := layers.Select(s, schema.LayerPlan, []layers.Solution{
		planOf(1, "setup_project", `{"platform":"web"}`, `{"success_count":9}`),
		planOf(2, "setup_project", `[{"platform":["ios","android"]},"be quick",{"go":true}]`, `{"failure_rate":0}`),
		planOf(3, "tear_down", `{}`, tenOfTen),
		planOf(4, "setup_project", `[{"platform":["ios","web"]},{"platform":["android","web"]}]`, tenOfTen),
	})
	require.Equal(t, idOf(2), got.Selected, "%+v", got)
	require.Len(t, got.Candidates, 3)
	require.Equal(t, []uuid.UUID{{15: 1}, {15: 4}}, ruledOut, "all constraints of a list must hold")
	require.InDelta(t, layers.SuccessBound(3, 0), got.Candidates[0].SuccessRate, 1e-9,
		"a rate without counts is believed little")

	tooled := solution(7, tenOfTen, "ld: cache mismatch", "{}")
	tooled.Payload = json.RawMessage(`{"kind":"competence","skill_name":"x","triggers":[{"signal":"ld: cache mismatch"}],"recipe":[],"required_tools":["docker"],"performance":{"success_count":10}}`)
	for context, selected := range map[string]string{`{}`: idOf(7), `{"docker":"27.1"}`: idOf(7),
		`{"docker":false}`: ""} {
		got, _ := layers.Select(situation(context), schema.LayerCompetence, []layers.Solution{tooled})
		require.Equal(t, selected, got.Selected, context)
	}
}

func TestSuccessBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ won, lost, want float64 }{{0, 0, 0}, {2, 0, 0.425}, {10, 0, 0.787}, {2, 10, 0.057},
		{0, 5, 0}, {99, 1, 0.955}} {
		require.InDelta(t, c.want, layers.SuccessBound(c.won, c.lost), 0.005, "%v", c)
	}
	rapid.Check(t, func(rt *rapid.T) {
		won, lost := float64(rapid.IntRange(0, 1e6).Draw(rt, "won")), float64(rapid.IntRange(0, 1e6).Draw(rt, "lost"))
		b := layers.SuccessBound(won, lost)
		if b < 0 || b > 1 || won+lost > 0 && b > won/(won+lost) || layers.SuccessBound(won+1,
			lost) < b || layers.SuccessBound(won, lost+1) > b {
			rt.Fatalf("%v of %v: %v", won, won+lost, b)
		}
	})
}

func TestSelectionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		conditions := rapid.SampledFrom([]string{`{}`, `{"os":"linux"}`, `{"os":"macos"}`, `{"os":["linux","macos"]}`,
			`{"arch":"arm64"}`, `{"os":"linux","arch":"arm64"}`, `{"os":"linux","ci":true}`})
		signal := rapid.SampledFrom([]string{"ld: cache mismatch", "cache mismatch", "disk full", "ld",
			"mismatch of the cache by ld"})
		n := rapid.IntRange(0, 12).Draw(rt, "n")
		var solutions []layers.Solution
		for i := range n {
			s := solution(byte(i+1), fmt.Sprintf(`{"success_count":%d,"failure_count":%d}`,
				rapid.IntRange(0, 30).Draw(rt, "won"), rapid.IntRange(0, 30).Draw(rt, "lost")),
				signal.Draw(rt, "signal"), conditions.Draw(rt, "conditions"), signal.Draw(rt,
					"signal 2"), conditions.Draw(rt, "conditions 2"))
			s.ReinforcedAt = selectNow.Add(-time.Duration(rapid.IntRange(-5, 400).Draw(rt, "days")) * 24 * time.Hour)
			s.Evidence = rapid.Float64Range(0, 1).Draw(rt, "evidence")
			solutions = append(solutions, s)
		}
		s := situation(rapid.SampledFrom([]string{``, `{}`, `{"os":"linux"}`, `{"os":"bsd"}`,
			`{"os":"linux","arch":"x86"}`, `{"ci":false}`}).Draw(rt, "context"))
		got, ruledOut := layers.Select(s, schema.LayerCompetence, solutions)
		known := map[string]json.RawMessage{}
		_ = json.Unmarshal(s.Context, &known)
		for i, c := range got.Candidates {
			if !(c.Score >= 0 && c.Score <= 1 && c.Fit <= c.Match && c.Match <= 1 && c.Recency >= 0 && c.Recency <= 1) {
				rt.Fatalf("%+v", c)
			}
			if c.Applicability == schema.ApplicabilityContradicted && (c.ID == got.Selected || c.Score != 0 ||
				!slices.Contains(ruledOut, uuid.MustParse(c.ID))) {
				rt.Fatalf("contradicted: %+v", c)
			}
			if i > 0 && c.Score > got.Candidates[i-1].Score {
				rt.Fatal("not in order")
			}
			if (c.Applicability == schema.ApplicabilityUnknown) != (len(c.Missing) > 0) {
				rt.Fatalf("%+v", c)
			}
		}
		if got.Confidence < 0 || got.Confidence > 1 || (got.Selected != "") != (got.Confidence >= got.Threshold) ||
			got.Selected != "" && got.Selected != got.Candidates[0].ID {
			rt.Fatalf("%+v", got)
		}
		for i, m := range got.MissingContext {
			if _, ok := known[m.Key]; ok || !(m.Splits > 0 && m.Splits <= 1) || i > 0 &&
				m.Splits > got.MissingContext[i-1].Splits || len(m.Values) == 0 {
				rt.Fatalf("%+v", got.MissingContext)
			}
		}
		shuffled := slices.Clone(solutions)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, _ := layers.Select(s, schema.LayerCompetence, shuffled)
		if fmt.Sprint(again) != fmt.Sprint(got) {
			rt.Fatal("the result depends on the order of the input")
		}
		if n > 0 { // a success never lowers a candidate, a failure never raises it
			i := rapid.IntRange(0, n-1).Draw(rt, "which")
			before := scoreOf(got, solutions[i].ID)
			var p schema.CompetencePayload
			_ = json.Unmarshal(solutions[i].Payload, &p)
			// the score of an untried candidate is not comparable
			if p.Performance.SuccessCount+p.Performance.FailureCount > 0 {
				p.Performance.SuccessCount++
				if after := scoreOf(selectWith(s, solutions, i, p), solutions[i].ID); after < before {
					rt.Fatalf("a success lowers %v to %v", before, after)
				}
				p.Performance.SuccessCount--
				p.Performance.FailureCount++
				if after := scoreOf(selectWith(s, solutions, i, p), solutions[i].ID); after > before {
					rt.Fatalf("a failure raises %v to %v", before, after)
				}
			}
		}
	})
}

func selectWith(s layers.Situation, solutions []layers.Solution, i int, p schema.CompetencePayload) schema.Selection {
	changed := slices.Clone(solutions)
	changed[i].Payload, _ = json.Marshal(p)
	got, _ := layers.Select(s, schema.LayerCompetence, changed)
	return got
}

func scoreOf(s schema.Selection, id uuid.UUID) float64 {
	for _, c := range s.Candidates {
		if c.ID == id.String() {
			return c.Score
		}
	}
	return 0
}

func TestSignalMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal, wanted string
		low, high      float64
	}{
		{"ld: cache mismatch", "ld: cache mismatch", 1, 1},
		{"ld: cache mismatch", "make[2]: ld: Cache mismatch, at 0x7ffe12 (line 33) of /usr/lib/libfoo.so", 1, 1},
		{"ld: cache mismatch", "ld: warning: mismatch of caches", 0.5, 0.9},
		{"setup_project", "set up my project", 1, 1},
		{"setup_project", "setup project", 1, 1},
		{"ECONNREFUSED", "dial tcp 127.0.0.1:5432: ECONNREFUSED while connecting to the database", 1, 1},
		{"error", "ld: cache mismatch error in libfoo and other files", 0, 0.45},
		{"E0308", "error[E0308]: mismatched types", 1, 1},
		{"retry 3 of 5", "retry 2 of 5", 1, 1},
		{"disk full", "ld: cache mismatch", 0, 0},
		{"", "anything", 0, 0},
		{"42", "42", 0, 0},
		{"!!!", "???", 0, 0},
		{"磁盘已满", "磁盘已满", 1, 1},
	} {
		got := layers.SignalMatch(c.signal, c.wanted)
		require.True(t, got >= c.low && got <= c.high, "%q in %q: %v", c.signal, c.wanted, got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.String().Draw(rt, "a"), rapid.String().Draw(rt, "b")
		if m := layers.SignalMatch(a, b); !(m >= 0 && m <= 1.0000001) {
			rt.Fatal(m)
		}
	})
}

// Outcomes that do not count for others count for the reader.
func TestSelectCountsWhatIsHeld(t *testing.T) {
	t.Parallel()
	for _, performance := range []string{tenOfTen, untried, `{"success_rate":0.9}`} {
		s := solution(1, performance, "ld: cache mismatch", "{}")
		with := s
		with.HeldFailures = 9
		before, _ := layers.Select(situation(`{}`), schema.LayerCompetence, []layers.Solution{s})
		after, _ := layers.Select(situation(`{}`), schema.LayerCompetence, []layers.Solution{with})
		require.Less(t, after.Confidence, before.Confidence)
		require.Equal(t, before.Candidates[0].Failures+9, after.Candidates[0].Failures)
		require.Equal(t, before.Candidates[0].Successes, after.Candidates[0].Successes)
		with.HeldFailures, with.HeldSuccesses = 0, 9
		after, _ = layers.Select(situation(`{}`), schema.LayerCompetence, []layers.Solution{with})
		require.Equal(t, idOf(1), after.Selected)
	}
}
