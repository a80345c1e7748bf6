package workflows_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/learn"
)

// saidBy returns an episode with one statement of a speaker.
func saidBy(t testing.TB, who, session, text string) schema.MemoryRecord {
	m := sessionEpisode(t, session, text, "go", time.Now().Add(-time.Hour))
	m.Who = who
	return m
}

// answering is a model that answers every call the same way, as text or as JSON.
func answering(t *testing.T, status int, answer func(data string) any) *testkit.Model {
	return testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		said := answer(call.Data)
		if text, ok := said.(string); ok {
			return testkit.ModelReply{Content: text, Status: status}
		}
		encoded, _ := json.Marshal(said)
		return testkit.ModelReply{Content: string(encoded), Status: status}
	})
}

// A model may find that two people said the same in different words. It becomes a fact only if each of them said all of
// it. Other answers change nothing, and the same statements are sent only once.
func TestFactsFoundByAModel(t *testing.T) {
	t.Parallel()
	type proposed = map[string]any
	fact := func(text string, statements ...int) any {
		return proposed{"facts": []proposed{{"text": text, "statements": statements}}}
	}
	many := make([]proposed, 10_000)
	for i := range many {
		many[i] = proposed{"text": "Staging uses Xyzzycanary", "statements": []int{1, 2}}
	}
	for name, test := range map[string]struct {
		answer  any
		status  int
		added   int
		refused string
		tokens  int
	}{
		"good":                  {fact("Staging uses Xyzzycanary", 1, 2), 0, 1, "", 110},
		"no equal statements":   {proposed{"facts": []proposed{}}, 0, 0, "", 110},
		"nothing":               {proposed{}, 0, 0, "model_no_answer", 110},
		"prose":                 {"Staging uses Xyzzycanary.", 0, 0, "model_no_answer", 110},
		"an invented statement": {fact("Staging uses Xyzzycanary", 1, 2, 3), 0, 0, "model_no_answer", 110},
		"evidence": {proposed{"facts": []proposed{}, "evidence": []string{"run/1"}}, 0, 0,
			"model_no_answer", 110},
		"another name": {fact("Staging uses Oracle", 1, 2), 0, 0, "model_not_said", 110},
		"a number":     {fact("Staging uses Xyzzycanary 17", 1, 2), 0, 0, "model_not_said", 110},
		"a date": {fact("Since 2026-01-01 staging uses Xyzzycanary", 1, 2), 0, 0,
			"model_not_said", 110},
		"a negation":           {fact("Staging never uses Xyzzycanary", 1, 2), 0, 0, "model_not_said", 110},
		"one source":           {fact("Staging uses Xyzzycanary", 1, 1), 0, 0, "model_not_said", 110},
		"too general":          {fact("We use Xyzzycanary", 1, 2), 0, 0, "model_not_said", 110},
		"10,000 facts":         {proposed{"facts": many}, 0, 0, "model_no_answer", 110},
		"endpoint unavailable": {nil, 500, 0, "model_no_answer", 0},
	} {
		// Every case is one run. What precedes and follows it depends on the kind of the answer: one case of each kind.
		repeated := slices.Contains([]string{"good", "no equal statements", "nothing", "another name"}, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := 0
			model := answering(t, test.status, func(data string) any {
				var statements []facts.Statement
				require.NoError(t, json.Unmarshal([]byte(data), &statements))
				shown = len(statements)
				return test.answer
			})
			h := harness.New(t, func(d *workflows.Dependencies) {
				d.Brain.FactReader = model.Brain(t).FactReader
			})
			p := testkit.Principal()
			insert(t, h, p, schema.VisibilityPrivate, saidBy(t, "Ana", "s-1", "We chose Xyzzycanary for staging."),
				saidBy(t, "Bea", "s-2", "The staging database is Xyzzycanary."),
				saidBy(t, "Cem", "s-3", "Lunch was cold on Monday."))
			if repeated {
				in := privateOf(p)
				in.Shadow = true
				_, out := learnNow(t, h, learn.UpdateFacts, in)
				require.Zero(t, out.Tokens+out.Added, "a shadow run asks no model")
			}

			run, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
			require.Equal(t, []int{test.added, test.tokens}, []int{out.Added, out.Tokens}, "%+v", out)
			require.Equal(t, 2, shown, "statements without a common word are not sent")
			require.NotContains(t, strings.ToLower(historyText(t, h, run)), "xyzzycanary")
			if test.refused == "" {
				require.Empty(t, out.Refused)
			} else {
				require.Equal(t, map[string]int{test.refused: 1}, out.Refused)
			}
			db := testkit.Owner(t, h.DatabaseURL)
			if test.added > 0 {
				require.Equal(t, []string{"Staging uses Xyzzycanary"}, contents(t, h, "type = 'semantic'"))
				require.Equal(t, 2, testkit.Rows(t, db, "memory_links", "predicate = 'derived_from'"))
			} else {
				require.Empty(t, contents(t, h, "type = 'semantic'"))
			}
			testkit.CheckInvariants(t, db)
			if !repeated {
				return
			}
			before, calls := testkit.Digest(t, db, "memories", "true"), len(model.Calls(testkit.Decision))
			again := privateOf(p)
			again.Full = true
			_, out = learnNow(t, h, learn.UpdateFacts, again)
			require.Zero(t, out.Tokens+out.Added+out.Updated, "%+v", out)
			require.Len(t, model.Calls(testkit.Decision), calls, "the same evidence costs nothing")
			require.Equal(t, before, testkit.Digest(t, db, "memories", "true"))
			insert(t, h, p, schema.VisibilityPrivate, saidBy(t, "Dan", "s-4", "The traffic in Porto is bad."))
			_, out = learnNow(t, h, learn.UpdateFacts, privateOf(p))
			require.Zero(t, out.Tokens, "a new statement without a counterpart costs nothing")
		})
	}
}

// A fact that a model has joined is removed with its evidence, and is not created again from the remaining statements.
func TestFactsFoundByAModelAreRemovedWithTheirEvidence(t *testing.T) {
	t.Parallel()
	model := answering(t, 0, func(string) any {
		return map[string]any{"facts": []any{map[string]any{"text": "Staging uses Xyzzycanary",
			"statements": []int{1, 2}}}}
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain.FactReader = model.Brain(t).FactReader })
	p := testkit.Principal()
	ids := insert(t, h, p, schema.VisibilityPrivate, saidBy(t, "Ana", "s-1", "We chose Xyzzycanary for staging."),
		saidBy(t, "Bea", "s-2", "The staging database is Xyzzycanary."))
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, 1, out.Added, "%+v", out)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 2, testkit.Rows(t, db, "model_answers", "purpose = 'facts'"))
	forget, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase,
		schema.Selector{IDs: []string{ids[0].String(), ids[1].String()}}))
	if preview.State == schema.ForgetPreviewed {
		confirmForget(t, h, p, preview)
	}
	receiptOf(t, forget)
	require.Empty(t, contents(t, h, "true"))
	require.Zero(t, testkit.Rows(t, db, "model_answers", "true"), "cached answers are deleted with their statements")
	again := privateOf(p)
	again.Full = true
	_, out = learnNow(t, h, learn.UpdateFacts, again)
	require.Zero(t, out.Added+out.Tokens)
}

// If a model says that a fact and a statement can both be true, no support is subtracted. It is asked once; without an
// answer the weights decide.
func TestConflictsJudgedByAModel(t *testing.T) {
	t.Parallel()
	verdict := func(v string) any {
		return map[string]any{"pairs": []any{map[string]any{"number": 1, "verdict": v}}}
	}
	for name, test := range map[string]struct {
		answer    any
		status    int
		contested int
		replaced  int
		refused   map[string]int
		tokens    int
	}{
		"both":      {verdict("both"), 0, 1, 0, map[string]int{"model_both_hold": 1}, 110},
		"excludes":  {verdict("excludes"), 0, 0, 1, nil, 110},
		"unsure":    {verdict("unsure"), 0, 0, 1, nil, 110},
		"nothing":   {map[string]any{}, 0, 0, 1, map[string]int{"model_no_answer": 1}, 110},
		"prose":     {"Both hold.", 0, 0, 1, map[string]int{"model_no_answer": 1}, 110},
		"forget it": {verdict("forget"), 0, 0, 1, map[string]int{"model_no_answer": 1}, 110},
		"away":      {nil, 500, 0, 1, map[string]int{"model_no_answer": 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := answering(t, test.status, func(data string) any {
				if strings.Contains(data, "speaker") {
					return map[string]any{"facts": []any{}}
				}
				require.Contains(t, data, `"held":"Our CI runs on Jenkins."`)
				return test.answer
			})
			h := harness.New(t, func(d *workflows.Dependencies) {
				d.Brain.FactReader = model.Brain(t).FactReader
			})
			p := testkit.Principal()
			insert(t, h, p, schema.VisibilityPrivate, states("Our CI runs on Jenkins.", 0.6, "evt://1"))
			insert(t, h, p, schema.VisibilityPrivate,
				saidBy(t, "Ana", "s-1", "Our CI runs on Buildkite."),
				saidBy(t, "Bea", "s-2", "Our CI runs on Buildkite."),
				saidBy(t, "Cem", "s-3", "Our CI runs on Buildkite."))
			_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
			require.Equal(t, []int{test.contested, test.replaced, test.tokens},
				[]int{out.Contested, out.Replaced, out.Tokens}, "%+v", out)
			require.Equal(t, test.refused, out.Refused)
			again := privateOf(p)
			again.Full = true
			_, out = learnNow(t, h, learn.UpdateFacts, again)
			require.Zero(t, out.Tokens+out.Replaced+out.Contested+out.Added, "%+v", out)
		})
	}
}

// When the budget of the day is used up, no model reads the statements, and the run reports it. The next run asks.
func TestReadingFactsHeldByTheBudget(t *testing.T) {
	t.Parallel()
	model := answering(t, 0, func(string) any { return map[string]any{"facts": []any{}} })
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.FactReader, d.TokenBudget = model.Brain(t).FactReader, 10
	})
	p := testkit.Principal()
	insert(t, h, p, schema.VisibilityPrivate, saidBy(t, "Ana", "s-1", "We chose Postgres for staging."),
		saidBy(t, "Bea", "s-2", "The staging database is Postgres."))
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, []any{0, true, api.OutcomeHeld}, []any{out.Tokens, out.Held, out.Outcome})
	require.Empty(t, model.Calls(testkit.Decision))
	require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "model_answers", "true"))
}

// A worker is killed after a model was asked and the fact was written, before the acknowledgement. The fact is written
// once, and the model is not asked again.
func TestReadingFactsWorkerKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	model := answering(t, 0, func(string) any {
		return map[string]any{"facts": []any{map[string]any{"text": "Staging uses Postgres",
			"statements": []int{1, 2}}}}
	})
	address := testkit.TemporalAddress(t)
	gate := harness.NewGate(t, address, "UpdateFacts")
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	h := harness.NewIdle(t, testkit.DatabaseURL(t), c, nil)
	p := testkit.Principal()
	insert(t, h, p, schema.VisibilityPrivate, saidBy(t, "Ana", "s-1", "We chose Postgres for staging."),
		saidBy(t, "Bea", "s-2", "The staging database is Postgres."))
	env := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": gate.Address,
		"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue, "MNEME_BRAIN": "openai",
		"MNEME_OPENAI_BASE_URL": model.URL, "MNEME_OPENAI_CHAT_MODEL": "test-model"}
	victim := harness.StartProcess(t, env)
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "learn/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, learn.UpdateFacts, privateOf(p))
	require.NoError(t, err)
	require.NoError(t, gate.WaitHeld(ctx), victim.Output())
	victim.Kill()
	env["TEMPORAL_ADDRESS"] = address
	harness.StartProcess(t, env)
	var out api.LearnResult
	require.NoError(t, run.Get(ctx, &out))
	require.Equal(t, api.OutcomeOK, out.Outcome)
	require.Equal(t, []string{"Staging uses Postgres"}, contents(t, h, "type = 'semantic'"))
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "changed_by = 'consolidation'"))
	require.Len(t, model.Calls(testkit.Decision), 1)
	testkit.CheckInvariants(t, db)
}
