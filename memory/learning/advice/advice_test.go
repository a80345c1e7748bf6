package advice_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
)

func worked(outcomes ...bool) (s evidence.Stats) {
	for _, ok := range outcomes {
		s.Observe("linux", ok, time.Unix(0, 0))
	}
	return s
}

func fix(id, signal, conditions, tool string, s evidence.Stats) advice.Candidate {
	p := &schema.CompetencePayload{SkillName: id, Triggers: []schema.Trigger{{Signal: signal}},
		Recipe: []schema.Step{{Step: tool, Tool: tool}}}
	if conditions != "" {
		p.Triggers[0].Conditions = json.RawMessage(conditions)
	}
	return advice.Candidate{ID: id, Competence: p, Stats: s}
}

func TestConditionsDecide(t *testing.T) {
	candidates := []advice.Candidate{
		fix("linux", "ld: cache mismatch", `{"os":"linux"}`, "clear", worked(true, true, true)),
		fix("macos", "ld: cache mismatch", `{"os":"macos"}`, "brew", worked(true, true, true)),
	}
	asked := advice.Situation{Error: "ld: cache mismatch in /a/b", Context: map[string]string{"os": "macos"}}
	got := advice.Advise(asked, candidates)
	require.Equal(t, "macos", got.Best.ID)
	require.Empty(t, got.Others, "a contradicted candidate is not offered")
	got = advice.Advise(advice.Situation{Error: asked.Error}, candidates)
	require.Nil(t, got.Best)
	require.Len(t, got.Others, 2)
	require.Equal(t, []string{"os"}, got.MissingContext)
	asked.Error = "ld: symbol mismatch in /a/b"
	require.Nil(t, advice.Advise(asked, candidates).Best, "another error")
}

func TestRecentFailuresChangeTheBestCandidate(t *testing.T) {
	candidates := []advice.Candidate{
		fix("old", "disk full", "", "rm", worked(true, true, true, true, true, true)),
		fix("new", "disk full", "", "resize", worked(true, true)),
	}
	asked := advice.Situation{Error: "disk full", Context: map[string]string{"os": "linux"}}
	use := func(works map[string]bool) string {
		got := advice.Advise(asked, candidates)
		option := got.Others
		if got.Best != nil {
			option = append([]advice.Option{*got.Best}, option...)
		}
		changes := advice.Apply(advice.Report{Used: option[0].ID, Context: asked.Context,
			Steps: []advice.StepOutcome{{OK: works[option[0].ID]}}}, candidates)
		for i, c := range changes {
			candidates[i].Stats = c.Stats
		}
		return option[0].ID
	}
	require.Equal(t, "old", use(map[string]bool{"old": true}))
	tries := 0
	for use(map[string]bool{"new": true}) != "new" {
		tries++
	}
	require.LessOrEqual(t, tries, 5)
	tries = 0
	for use(map[string]bool{"old": true}) != "old" {
		tries++
	}
	require.LessOrEqual(t, tries, 10, "it is used again when the other one fails")
}

func TestPreferencesFillGapsInTheContext(t *testing.T) {
	plan := func(id, language string) advice.Candidate {
		return advice.Candidate{ID: id, Stats: worked(true, true, true), Plan: &schema.PlanGraphPayload{PlanID: id,
			Intent: "set up my project", Constraints: json.RawMessage(`[{"language":"` + language +
				`"},"sensitivity: low"]`),
			Nodes: []schema.PlanNode{{ID: "s1", Op: "shell", Params: json.RawMessage(`{"cmd":"init {working_dir}"}`)}},
			Edges: []schema.PlanEdge{}, InputsSchema: json.RawMessage(
				`{"type":"object","properties":{"working_dir":{"type":"string","x-from":"working_dir"}}}`)}}
	}
	candidates := []advice.Candidate{plan("p", "python"), plan("g", "go")}
	asked := advice.Situation{Task: "Please set up the project", Preferences: map[string]string{"language": "go"},
		WorkingDir: "/w/x"}
	got := advice.Advise(asked, candidates)
	require.Equal(t, "g", got.Best.ID)
	require.JSONEq(t, `{"cmd":"init /w/x"}`, string(got.Best.Steps[0].Args))
	asked.Context = map[string]string{"language": "python"}
	require.Equal(t, "p", advice.Advise(asked, candidates).Best.ID)
}

func TestReportsCountOnce(t *testing.T) {
	c := fix("a", "disk full", "", "rm", worked(true, true))
	for _, r := range []advice.Report{{Used: "a", Outcome: "partial"}, {Used: "a"},
		{Used: "a", Steps: []advice.StepOutcome{{OK: true}, {Skipped: true}}}} {
		got := advice.Apply(r, []advice.Candidate{c})
		require.Equal(t, c.Stats, got[0].Stats)
		require.Empty(t, got[0].Counted)
	}
	got := advice.Apply(advice.Report{Used: "a", Steps: []advice.StepOutcome{{Error: "rm: permission denied"}}},
		[]advice.Candidate{c})
	require.Equal(t, schema.OutcomeFailure, got[0].Counted)
	require.Equal(t, "rm may fail: rm permission denied", got[0].FailureMode)
	require.Equal(t, int64(0), c.Stats.All.Failures, "the candidate itself does not change")
}

func TestOrderOfCandidatesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var candidates []advice.Candidate
		for _, id := range []string{"a", "b", "c", "d"} {
			candidates = append(candidates, fix(id, "disk full",
				rapid.SampledFrom([]string{"", `{"os":"linux"}`, `{"os":"macos"}`, `{"shell":"zsh"}`}).Draw(t, "when"),
				id,
				worked(rapid.SliceOfN(rapid.Bool(), 0, 6).Draw(t, "outcomes")...)))
		}
		asked := advice.Situation{Error: "disk full", Context: map[string]string{"os": "linux"}}
		got := advice.Advise(asked, candidates)
		require.Equal(t, got, advice.Advise(asked, rapid.Permutation(candidates).Draw(t, "order")))
		if got.Best != nil {
			require.GreaterOrEqual(t, got.Best.Confidence, advice.Threshold)
			require.True(t, got.Best.InPlace)
		}
	})
}

// A procedure that was learned where agents said "1.26.8" and "linux" is for an agent that says "go1.26.8" and "Linux",
// and so are its outcomes.
func TestVersionsAreComparedByMeaning(t *testing.T) {
	for _, said := range []map[string]string{{"os": "Linux", "go_version": "go1.26.8"},
		{"os": "linux", "go_version": "1.26.8"}} {
		for _, stored := range []string{`{"os":"linux","go_version":["1.26.8"]}`, `{"os":"Linux","go_version":"go1.26.8"}`} {
			c := fix("p", "ld: cache mismatch", stored, "clear", worked(true, true, true))
			c.Competence.Recipe = append(c.Competence.Recipe, schema.Step{Step: "vet", Tool: "vet",
				Conditions: json.RawMessage(stored)})
			got := advice.Advise(advice.Situation{Error: "ld: cache mismatch in /a/b", Context: said},
				[]advice.Candidate{c})
			require.NotNil(t, got.Best, "%v %s", said, stored)
			require.Empty(t, got.Best.Unknown)
			require.Len(t, got.Best.Steps, 2)
		}
		var s evidence.Stats
		s.ObserveIn(map[string]string{"go_version": "go1.26.8"}, false, time.Unix(0, 0))
		s.ObserveIn(map[string]string{"go_version": "1.26.8"}, false, time.Unix(0, 0))
		require.Len(t, s.In, 1)
		require.InDelta(t, s.ChanceIn(map[string]string{"go_version": "v1.26.8"}), s.ChanceIn(said), 1e-9)
	}
}
