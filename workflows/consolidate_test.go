package workflows_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/activities/learning"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	storelearning "github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/learn"
)

func scopeOfPrincipal(p schema.Principal) api.LearnScope {
	return api.LearnScope{Tenant: p.Tenant, Agent: p.Agent, Project: p.Project, Scope: p.EffectiveScope()}
}

func consolidate(t testing.TB, h *harness.Harness, in api.LearnInput) (client.WorkflowRun, api.LearnResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartConsolidate(ctx, h.Temporal, h.TaskQueue, in)
	require.NoError(t, err)
	out, err := mneme.Outcome[api.LearnResult](ctx, run)
	require.NoError(t, err)
	return run, out
}

func learnedBy(t testing.TB, h *harness.Harness, p schema.Principal) []storelearning.Known {
	t.Helper()
	out, err := h.Store.Learning.List(context.Background(), pg.Filter{Principal: p}, uuid.Nil, 100)
	require.NoError(t, err)
	return out
}

// Sessions become a procedure that a recall finds. A shadow run writes nothing, a second run over the same evidence
// changes nothing, and no history contains content.
func TestConsolidateLearnsAProcedure(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	for n := range 3 {
		testkit.Build(p, n, "linux", "make clean", testkit.ClearCache(n)).Record(t, h.Store)
	}
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	in.Shadow = true
	_, out := consolidate(t, h, in)
	require.Equal(t, 1, out.Added)
	require.Empty(t, learnedBy(t, h, p))

	in.Shadow = false
	run, out := consolidate(t, h, in)
	require.Equal(t, []any{1, 1, api.OutcomeOK, len(learn.ConsolidateParts)},
		[]any{out.Groups, out.Added, out.Outcome, len(out.Parts)})
	require.NotContains(t, historyText(t, h, run), "mismatch")
	known := learnedBy(t, h, p)
	require.Len(t, known, 1)
	_, answer := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "ld cache mismatch"})
	found := false
	for _, item := range answer.Results {
		found = found || item.ID == known[0].ID.String()
	}
	require.True(t, found, "recall returns it")

	_, out = consolidate(t, h, in)
	require.Equal(t, []int{0, 0, 0}, []int{out.Read, out.Groups, out.Changes()})
	in.Full = true
	_, out = consolidate(t, h, in)
	require.Equal(t, []int{1, 0}, []int{out.Groups, out.Changes()}, "the same evidence changes nothing")
}

// ConsolidateAll consolidates the scopes with new evidence, and does nothing in a second run.
func TestConsolidateAll(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	one, other := testkit.Principal(), testkit.Principal()
	for n := range 3 {
		testkit.Build(one, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
		testkit.Build(other, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
	}
	sweep := func(tenant string) api.ConsolidateAllResult {
		ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
		defer cancel()
		run, err := mneme.StartConsolidateAll(ctx, h.Temporal, h.TaskQueue, api.ConsolidateAllInput{Tenant: tenant})
		require.NoError(t, err)
		out, err := mneme.Outcome[api.ConsolidateAllResult](ctx, run)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, api.ConsolidateAllResult{Scopes: 1, Changed: 1}, sweep(one.Tenant))
	require.Empty(t, learnedBy(t, h, other), "another tenant is not consolidated")
	require.Equal(t, api.ConsolidateAllResult{Scopes: 1, Changed: 1}, sweep(""))
	require.Equal(t, api.ConsolidateAllResult{}, sweep(""))
	require.Len(t, learnedBy(t, h, other), 1)
}

// A worker is killed after each step, before the acknowledgement: one procedure is written, once.
func TestLearningWorkerKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"IndexEvidence", "DecideGroups", "WriteDrafts"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			address := testkit.TemporalAddress(t)
			gate := harness.NewGate(t, address, step)
			namespace := harness.NewNamespace(t, address)
			c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
			h := harness.NewIdle(t, testkit.DatabaseURL(t), c, nil)
			p := testkit.Principal()
			for n := range 3 {
				testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
			}
			env := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": gate.Address,
				"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue}
			victim := harness.StartProcess(t, env)
			run, err := mneme.StartConsolidate(ctx, c, h.TaskQueue, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
			require.NoError(t, err)
			require.NoError(t, gate.WaitHeld(ctx), victim.Output())
			victim.Kill()
			env["TEMPORAL_ADDRESS"] = address
			harness.StartProcess(t, env)
			_, err = mneme.Outcome[api.LearnResult](ctx, run)
			require.NoError(t, err)
			require.Len(t, learnedBy(t, h, p), 1)
			owner := testkit.Owner(t, h.DatabaseURL)
			require.Equal(t, 1, testkit.Rows(t, owner, "memories", "type = 'competence'"))
			require.Equal(t, 3, testkit.Rows(t, owner, "memory_links", "predicate = 'derived_from'"))
			require.Equal(t, 1, testkit.Rows(t, owner, "memory_history", "changed_by = 'consolidation'"))
			require.Zero(t, testkit.Rows(t, owner, "learning_drafts", "true"))
		})
	}
}

// Evidence that is erased after the decision and before the write is not used. What was learned from episodes is
// removed with the last of them.
func TestEvidenceErasedWhileLearning(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	p, erased := testkit.Principal(), false
	var episodes []string
	erase := func(ids []string) {
		forgetting, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: ids}))
		confirmForget(t, h, p, preview)
		receiptOf(t, forgetting)
	}
	h.StartWorkerWith(t,
		worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: func(_ context.Context,
			name string, run func() (any, error)) (any, error) {
			if name == "WriteDrafts" && !erased {
				erased = true
				erase(episodes[:1])
			}
			return run()
		}}}})
	record := func(n int) {
		episodes = append(episodes, testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store).String())
	}
	for n := range 3 {
		record(n)
	}
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	_, out := consolidate(t, h, in)
	require.True(t, erased)
	require.Zero(t, out.Changes())
	require.Empty(t, learnedBy(t, h, p))

	record(3)
	_, out = consolidate(t, h, in)
	require.Equal(t, 1, out.Added)
	owner := testkit.Owner(t, h.DatabaseURL)
	require.Zero(t, testkit.Rows(t, owner, "memories", "type = 'competence' AND payload::text LIKE '%dev0%'"))
	erase(episodes[1:3])
	require.Len(t, learnedBy(t, h, p), 1, "one episode still supports it")
	erase(episodes[3:])
	require.Empty(t, learnedBy(t, h, p), "removed with its last episode")
	require.Zero(t, testkit.Rows(t, owner, "learned", "true"))
}

// The branches of an extraction, by the results of its activities.
func TestExtractBranches(t *testing.T) {
	t.Parallel()
	var of *learning.Learning
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	env.OnActivity(of.IndexEvidence, mock.Anything, mock.Anything).Return(learning.IndexResult{Read: 5, Attempts: 4},
		nil)
	env.OnActivity(of.DecideGroups, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in learning.DecideRequest) (learning.DecideResult, error) {
		out := learning.DecideResult{Result: api.LearnResult{Groups: 2, Refused: map[string]int{"often_fails": 1}}}
		if in.After == "" {
			out.Drafted, out.Next, out.More = []string{"g"}, "g", true
		}
		return out, nil
	})
	env.OnActivity(of.WriteDrafts, mock.Anything, mock.Anything).Return(api.LearnResult{Added: 1, Dropped: 1},
		nil).Once()
	env.ExecuteWorkflow(learn.ExtractCompetence, api.LearnInput{LearnScope: api.LearnScope{Tenant: "t"}})
	require.NoError(t, env.GetWorkflowError())
	var out api.LearnResult
	require.NoError(t, env.GetWorkflowResult(&out))
	require.Equal(t, api.LearnResult{Read: 5, Groups: 4, Added: 1, Dropped: 1,
		Refused: map[string]int{"often_fails": 2},
		Outcome: api.OutcomeOK}, out)
}

// After a failed part the later parts still run, and the run reports the failure.
func TestConsolidateContinuesAfterAFailedPart(t *testing.T) {
	t.Parallel()
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	env.OnWorkflow(api.WorkflowExtractCompetence, mock.Anything, mock.Anything).Return(api.LearnResult{},
		temporal.NewNonRetryableApplicationError("no", "no", nil))
	env.OnWorkflow(api.WorkflowExtractPlans, mock.Anything, mock.Anything).Return(api.LearnResult{Added: 2}, nil).Once()
	env.ExecuteWorkflow(learn.Consolidate, api.LearnInput{LearnScope: api.LearnScope{Tenant: "t"}})
	require.Error(t, env.GetWorkflowError())
	env.AssertExpectations(t)
}
