package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/learning/wording"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/learn"
)

// described is a model's answer about a procedure.
type described struct {
	Name  string           `json:"name"`
	Steps []map[string]any `json:"steps"`
}

// describe answers as the prompt asks.
func describe(t testing.TB, data string) described {
	t.Helper()
	var subject wording.Subject
	require.NoError(t, json.Unmarshal([]byte(data), &subject))
	out := described{Name: "Clear the stale cache of the linker"}
	for _, s := range subject.Steps {
		out.Steps = append(out.Steps, map[string]any{"number": s.Number, "tool": s.Tool, "text": "Now call " + s.Text})
	}
	return out
}

// A model may word what was learned. The steps, tools and arguments are those of the evidence, whatever the model
// answers; each answer counts against the budget, and the same evidence is sent once.
func TestProceduresInTheWordsOfAModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer  func(described) any
		refused string
	}{
		"good":    {func(d described) any { return d }, ""},
		"nothing": {func(described) any { return described{} }, "model_no_answer"},
		"prose":   {func(described) any { return "I would clear the cache." }, "model_no_answer"},
		"an unknown tool": {func(d described) any {
			d.Steps[0]["tool"] = "browser"
			return d
		}, "model_invents"},
		"a step that was not given": {func(d described) any {
			d.Steps[1]["number"] = 9
			return d
		}, "model_invents"},
		"a path that was not given": {func(d described) any {
			d.Steps[0]["text"] = "Delete /etc/passwd"
			return d
		}, "model_invents"},
		"a cycle": {func(d described) any {
			d.Steps[0]["after"], d.Steps[1]["after"] = []int{2}, []int{1}
			return d
		}, "model_no_answer"},
		"evidence": {func(d described) any {
			return map[string]any{"name": d.Name, "steps": d.Steps, "evidence": []string{"run/1", "run/2"}}
		}, "model_no_answer"},
		"10,000 steps": {func(d described) any {
			for len(d.Steps) < 10_000 {
				d.Steps = append(d.Steps, d.Steps[0])
			}
			return d
		}, "model_no_answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
				answer := test.answer(describe(t, call.Data))
				if text, ok := answer.(string); ok {
					return testkit.ModelReply{Content: text}
				}
				encoded, _ := json.Marshal(answer)
				return testkit.ModelReply{Content: string(encoded)}
			})
			h := harness.New(t, func(d *workflows.Dependencies) { d.Brain.Describer = model.Brain(t).Describer })
			p := testkit.Principal()
			for n := range 3 {
				testkit.Build(p, n, "linux", "make clean", testkit.ClearCache(n)).Record(t, h.Store)
			}
			in := privateOf(p)
			in.Shadow = true
			_, out := learnNow(t, h, learn.ExtractCompetence, in)
			require.Equal(t, 1, out.Added)
			require.Empty(t, model.Calls(testkit.Decision), "a shadow run asks no model")

			run, out := learnNow(t, h, learn.ExtractCompetence, privateOf(p))
			require.Equal(t, 1, out.Added, "%+v", out)
			require.Equal(t, 110, out.Tokens, "a rejected answer counts against the budget")
			require.NotContains(t, historyText(t, h, run), "stale")
			known := learnedBy(t, h, p)
			require.Len(t, known, 1)
			var got schema.CompetencePayload
			require.NoError(t, json.Unmarshal(known[0].Payload, &got))
			if test.refused == "" {
				require.Empty(t, out.Refused)
				require.Equal(t, "clear_the_stale_cache_of_the_linker", got.SkillName)
				require.True(t, strings.HasPrefix(got.Recipe[0].Step, "Now call "), got.Recipe[0].Step)
			} else {
				require.Equal(t, map[string]int{test.refused: 1}, out.Refused)
				require.True(t, strings.HasPrefix(got.SkillName, "fix_"), got.SkillName)
			}
			require.Len(t, got.Recipe, 2)
			advised := advise(t, h, asksAbout(p, 77))
			require.NotNil(t, advised.Best)
			require.Equal(t, "rm -rf /home/dev77/.cache/build", advised.Best.Steps[0].Args["cmd"],
				"the wording does not change the call")

			calls := len(model.Calls(testkit.Decision))
			again := privateOf(p)
			again.Full = true
			_, out = learnNow(t, h, learn.ExtractCompetence, again)
			require.Zero(t, out.Changes()+out.Tokens)
			require.Len(t, model.Calls(testkit.Decision), calls, "the same evidence costs nothing")
			require.EqualValues(t, 110, testkit.TokenDay(t, h.Store, p.Tenant, time.Now()).Used())
		})
	}
}

// A model may name a plan. The nodes, edges and schemas are those of the evidence, whatever the model answers, and each
// answer counts against the budget.
func TestPlansInTheWordsOfAModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer  func(described) any
		refused string
	}{
		"good":    {func(d described) any { return d }, ""},
		"nothing": {func(described) any { return described{} }, "model_no_answer"},
		"an unknown tool": {func(d described) any {
			d.Steps[1]["tool"] = "browser"
			return d
		}, "model_invents"},
		"a cycle": {func(d described) any {
			return map[string]any{"name": d.Name, "steps": d.Steps, "edges": []any{[]int{1, 2}, []int{2, 1}}}
		}, "model_no_answer"},
		"steps in another order": {func(d described) any {
			d.Steps[0], d.Steps[1] = d.Steps[1], d.Steps[0]
			return d
		}, "model_invents"},
		"invented evidence": {func(d described) any {
			d.Name = "Set up what run 77 has shown"
			return d
		}, "model_invents"},
		"10,000 nodes": {func(d described) any {
			for len(d.Steps) < 10_000 {
				d.Steps = append(d.Steps, d.Steps[0])
			}
			return d
		}, "model_no_answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
				said := describe(t, call.Data)
				said.Name = "Begin a new project"
				encoded, _ := json.Marshal(test.answer(said))
				return testkit.ModelReply{Content: string(encoded)}
			})
			h := harness.New(t, func(d *workflows.Dependencies) { d.Brain.Describer = model.Brain(t).Describer })
			p := testkit.Principal()
			for n := range 3 {
				s := testkit.NewStory(p, n).Says("Set up my project").In("linux", fmt.Sprintf("/w/p%d", n), nil)
				for _, c := range []string{"git init", fmt.Sprintf("go mod init /w/p%d", n), "gofmt -l ."} {
					s.Does(c, "")
				}
				s.Ends(schema.OutcomeSuccess).Record(t, h.Store)
			}
			in := privateOf(p)
			in.Shadow = true
			_, out := learnNow(t, h, learn.ExtractPlans, in)
			require.Equal(t, []int{1, 0}, []int{out.Added, out.Tokens}, "a shadow run asks no model")
			_, out = learnNow(t, h, learn.ExtractPlans, privateOf(p))
			require.Equal(t, []int{1, 110}, []int{out.Added, out.Tokens}, "%+v", out)
			known := learnedBy(t, h, p)
			require.Len(t, known, 1)
			var got schema.PlanGraphPayload
			require.NoError(t, json.Unmarshal(known[0].Payload, &got))
			if test.refused == "" {
				require.Empty(t, out.Refused)
				require.Equal(t, "begin_a_new_project", got.PlanID)
			} else {
				require.Equal(t, map[string]int{test.refused: 1}, out.Refused)
				require.Equal(t, "set_up_my_project", got.PlanID)
			}
			require.Len(t, got.Nodes, 3)
			require.JSONEq(t, `{"cmd":"git init"}`, string(got.Nodes[0].Params))
			again := privateOf(p)
			again.Full = true
			_, out = learnNow(t, h, learn.ExtractPlans, again)
			require.Zero(t, out.Changes()+out.Tokens, "the same evidence costs nothing")
		})
	}
}

// A model may keep facts apart that the rules would join, and cannot join those that the rules keep apart. Without an
// answer the rules decide.
func TestDuplicatesJudgedByAModel(t *testing.T) {
	t.Parallel()
	type verdict = map[string]any
	same, differs := verdict{"number": 1, "same": true}, verdict{"number": 1, "same": false}
	many := make([]verdict, 10_000)
	for i := range many {
		many[i] = differs
	}
	for name, test := range map[string]struct {
		answer  any
		status  int
		merged  int
		refused string
		tokens  int
	}{
		"the same":     {verdict{"pairs": []verdict{same}}, 0, 1, "", 110},
		"not the same": {verdict{"pairs": []verdict{differs}}, 0, 0, "model_differs", 110},
		"nothing":      {verdict{}, 0, 1, "model_no_answer", 110},
		"prose":        {"They differ.", 0, 1, "model_no_answer", 110},
		"an unknown pair": {verdict{"pairs": []verdict{same, {"number": 2, "same": true}}}, 0, 1,
			"model_no_answer", 110},
		"invented evidence": {verdict{"pairs": []verdict{differs}, "evidence": []string{"run/1"}}, 0, 1,
			"model_no_answer", 110},
		"10,000 pairs":         {verdict{"pairs": many}, 0, 1, "model_no_answer", 110},
		"endpoint unavailable": {nil, 500, 1, "model_no_answer", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
				if text, ok := test.answer.(string); ok {
					return testkit.ModelReply{Content: text}
				}
				encoded, _ := json.Marshal(test.answer)
				return testkit.ModelReply{Content: string(encoded), Status: test.status}
			})
			h := harness.New(t, func(d *workflows.Dependencies) {
				d.Brain.DuplicateJudge = model.Brain(t).DuplicateJudge
			})
			p := testkit.Principal()
			insert(t, h, p, schema.VisibilityPrivate,
				states("The xyzzycanary service is owned by Bea.", 0.6, "evt://1"),
				states("Bea owns the xyzzycanary service.", 0.9, "evt://2"),
				states("Cem owns the xyzzycanary service.", 0.9, "evt://3"),
				states("Tea is served at noon.", 0.9, "evt://4"), states("The tea is served at noon", 0.8, "evt://5"))
			in := privateOf(p)
			in.Shadow = true
			_, out := learnNow(t, h, learn.ResolveDuplicates, in)
			require.Equal(t, []int{2, 0}, []int{out.Merged, out.Tokens}, "a shadow run asks no model")
			run, out := learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
			require.Equal(t, []int{1 + test.merged, test.tokens}, []int{out.Merged, out.Tokens}, "%+v", out)
			require.NotContains(t, historyText(t, h, run), "xyzzycanary")
			if test.refused == "" {
				require.Empty(t, out.Refused)
			} else {
				require.Equal(t, map[string]int{test.refused: 1}, out.Refused)
			}
			want := []string{"Bea owns the xyzzycanary service.", "Cem owns the xyzzycanary service.",
				"Tea is served at noon."}
			if test.merged == 0 {
				want = append(want, "The xyzzycanary service is owned by Bea.")
			}
			require.Equal(t, want, contents(t, h, "true"))
			if test.tokens == 0 {
				return
			}
			calls := len(model.Calls(testkit.Decision))
			again := privateOf(p)
			again.Full = true
			_, out = learnNow(t, h, learn.ResolveDuplicates, again)
			require.Zero(t, out.Tokens+out.Merged, "%+v", out)
			require.Len(t, model.Calls(testkit.Decision), calls, "each pair is sent once")
		})
	}
}

// When the budget of the day is used up, no model is asked, the rules' words are kept, and the run reports it.
func TestLearningHeldByTheBudget(t *testing.T) {
	t.Parallel()
	model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
		return testkit.ModelReply{Content: `{}`}
	})
	held := 0
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.Describer, d.TokenBudget = model.Brain(t).Describer, 10
		d.BudgetHeld = func(string) { held++ }
	})
	p := testkit.Principal()
	for n := range 3 {
		testkit.Build(p, n, "linux", "make clean", testkit.ClearCache(n)).Record(t, h.Store)
	}
	_, out := learnNow(t, h, learn.ExtractCompetence, privateOf(p))
	require.Equal(t, []any{1, true, api.OutcomeHeld, 0}, []any{out.Added, out.Held, out.Outcome, out.Tokens})
	require.Equal(t, 1, held)
	require.Empty(t, model.Calls(testkit.Decision))
	require.NotNil(t, advise(t, h, asksAbout(p, 77)).Best)
}

// A model may write the summary of old episodes. A summary that loses or invents something is rejected, and so is a
// failed call: the rules' summary is kept.
func TestSummariesInTheWordsOfAModel(t *testing.T) {
	t.Parallel()
	good := "On Lisbon six builds failed and ended without an outcome:"
	for i := range 6 {
		good += fmt.Sprintf(" %d after %d minutes,", 4000+i, 20+i)
	}
	for name, test := range map[string]struct {
		summary string
		status  int
		refused string
		tokens  int
	}{
		"good":           {good, 0, "", 110},
		"nothing":        {"", 0, "model_no_answer", 110},
		"loses a number": {strings.Replace(good, "4003", "one", 1), 0, "model_loses_names_or_numbers", 110},
		"loses an outcome": {strings.Replace(good, "ended without an outcome", "stopped", 1), 0,
			"model_loses_outcomes", 110},
		"invents a number":     {good + " in all 777", 0, "model_has_numbers_of_no_source", 110},
		"invents a name":       {good + " as Marek says", 0, "model_invents", 110},
		"says no":              {good + " and never again", 0, "model_invents", 110},
		"10,000 sentences":     {good + strings.Repeat(" It failed.", 10_000), 0, "model_not_shorter", 110},
		"endpoint unavailable": {"", 500, "model_no_answer", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
				encoded, _ := json.Marshal(map[string]string{"summary": test.summary})
				return testkit.ModelReply{Content: string(encoded), Status: test.status}
			})
			h := harness.New(t, func(d *workflows.Dependencies) {
				d.NoPipeline, d.Brain.EpisodeWriter = true, model.Brain(t).EpisodeWriter
			})
			p := testkit.Principal()
			req := testkit.Request(p, schema.SourceUserInput)
			for i := range 8 {
				at := time.Now().Add(-30*24*time.Hour + time.Duration(i)*time.Hour)
				req.Candidates = append(req.Candidates, schema.Candidate{Session: "s-1", Speaker: "Ana",
					SourceKind: schema.SourceUserInput, OccurredAt: &at,
					Content: fmt.Sprintf("The build %d failed on Lisbon after %d minutes.", 4000+i, 20+i)})
			}
			h.Ingest(t, req)
			_, err := testkit.Owner(t, h.DatabaseURL).Exec(context.Background(), `UPDATE memories
				SET created_at = created_at - interval '30 days', recorded_at = recorded_at - interval '30 days'`)
			require.NoError(t, err)
			_, out := learnNow(t, h, learn.CompressEpisodes, privateOf(p))
			require.Equal(t, []int{1, test.tokens}, []int{out.Added, out.Tokens}, "%+v", out)
			summary := contents(t, h, "type = 'semantic'")
			require.Len(t, summary, 1)
			if test.refused == "" {
				require.Empty(t, out.Refused)
				require.Contains(t, summary[0], good)
			} else {
				require.Equal(t, map[string]int{test.refused: 1}, out.Refused)
				require.NotContains(t, summary[0], good)
			}
			for i := range 6 {
				require.Contains(t, summary[0], fmt.Sprint(4000+i), "no episode is lost")
			}
			calls := len(model.Calls(testkit.Decision))
			_, out = learnNow(t, h, learn.CompressEpisodes, privateOf(p))
			require.Zero(t, out.Tokens)
			require.Len(t, model.Calls(testkit.Decision), calls, "the same evidence costs nothing")
		})
	}
}
