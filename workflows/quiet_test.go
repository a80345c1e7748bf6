package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/learning"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/learn"
)

// quietHarness consolidates automatically after three episodes and a quiet period.
func quietHarness(t *testing.T, quiet time.Duration) *harness.Harness {
	return harness.New(t, func(d *workflows.Dependencies) {
		d.Due = due.Rule{Least: 3, Quiet: quiet}
	})
}

// handIn appends the events of a session to its run, which completes with them.
func handIn(t testing.TB, c client.Client, taskQueue string, s *testkit.Story) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	_, err := mneme.AppendEvents(ctx, c, taskQueue, api.AppendRequest{
		SessionRef: api.SessionRef{Principal: s.Principal, Session: s.Session}, Events: s.Events})
	require.NoError(t, err)
}

// quietRun returns the run that waits for a scope, or the last one that did; empty if there is none.
func quietRun(t testing.TB, c client.Client, scope api.LearnScope) (id string, running bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := c.DescribeWorkflow(ctx, api.ConsolidateWhenQuietID(scope), "")
	if err != nil {
		return "", false
	}
	return run.WorkflowExecution.RunID, run.WorkflowCloseTime == nil
}

// quietResult waits for the result of a scope's waiting run.
func quietResult(t testing.TB, c client.Client, scope api.LearnScope) api.ConsolidateWhenQuietResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	require.Eventually(t, func() bool {
		id, _ := quietRun(t, c, scope)
		return id != ""
	}, 3*time.Minute, 20*time.Millisecond, "no run waits for the scope")
	var out api.ConsolidateWhenQuietResult
	require.NoError(t, c.GetWorkflow(ctx, api.ConsolidateWhenQuietID(scope), "").Get(ctx, &out))
	return out
}

// When the third session of a scope closes, the scope is consolidated automatically; the first two sessions start no
// run. The remaining evidence is too little for another run.
func TestEnoughEvidenceFollowedByQuietIsConsolidated(t *testing.T) {
	t.Parallel()
	h := quietHarness(t, 300*time.Millisecond)
	p := testkit.Principal()
	scope := scopeOfPrincipal(p)
	owner := testkit.Owner(t, h.DatabaseURL)
	episodes := func() int {
		return testkit.Rows(t, owner, "memories", "tenant = $1 AND type = 'episodic'", p.Tenant)
	}
	for n := range 2 {
		handIn(t, h.Temporal, h.TaskQueue, testkit.Build(p, n, "linux", testkit.ClearCache(n)))
	}
	require.Eventually(t, func() bool { return episodes() == 2 }, time.Minute, 20*time.Millisecond)
	time.Sleep(time.Second) // time in which an unwanted run would have started
	id, _ := quietRun(t, h.Temporal, scope)
	require.Empty(t, id, "no run starts for evidence that is not enough")

	handIn(t, h.Temporal, h.TaskQueue, testkit.Build(p, 2, "linux", testkit.ClearCache(2)))
	out := quietResult(t, h.Temporal, scope)
	require.Equal(t, api.ConsolidateWhenQuietResult{Consolidated: 1, Changed: 1}, out)
	require.Len(t, learnedBy(t, h, p), 1)

	run := h.Temporal.GetWorkflow(context.Background(), api.ConsolidateWhenQuietID(scope), "")
	require.NotContains(t, historyText(t, h, run), "mismatch")
	handIn(t, h.Temporal, h.TaskQueue, testkit.Build(p, 3, "linux", testkit.ClearCache(3)))
	require.Eventually(t, func() bool { return episodes() == 4 }, time.Minute, 20*time.Millisecond)
	_, running := quietRun(t, h.Temporal, scope)
	require.False(t, running)
}

// Reported outcomes are evidence as well: after three sessions that only report on a procedure, the scope is
// consolidated, and the procedure's record counts the reports. Nothing is left to do after that.
func TestReportedOutcomesAreConsolidated(t *testing.T) {
	t.Parallel()
	h := quietHarness(t, 300*time.Millisecond)
	p := testkit.Principal()
	for n := range 3 {
		handIn(t, h.Temporal, h.TaskQueue, testkit.Build(p, n, "linux", testkit.ClearCache(n)))
	}
	scope := scopeOfPrincipal(p)
	require.Equal(t, 1, quietResult(t, h.Temporal, scope).Changed)
	first, _ := quietRun(t, h.Temporal, scope)
	counts := func() (out schema.Performance) {
		known := learnedBy(t, h, p)
		require.Len(t, known, 1)
		var payload schema.CompetencePayload
		require.NoError(t, json.Unmarshal(known[0].Payload, &payload))
		return *payload.Performance
	}
	require.EqualValues(t, 3, counts().SuccessCount)
	report := func(n int) {
		out := advise(t, h, asksAbout(p, 70+n))
		require.NotNil(t, out.Best)
		r := reportOn(p, out, schema.OutcomeSuccess)
		r.Session = fmt.Sprint("reported-", n)
		_, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, r)
		require.NoError(t, err)
	}
	report(0)
	report(1)
	time.Sleep(time.Second) // time in which an unwanted run would have started
	id, _ := quietRun(t, h.Temporal, scope)
	require.Equal(t, first, id, "two reports are not enough")
	report(2)
	require.Eventually(t, func() bool {
		id, running := quietRun(t, h.Temporal, scope)
		return id != first && !running
	}, 3*time.Minute, 20*time.Millisecond)
	require.Equal(t, api.ConsolidateWhenQuietResult{Consolidated: 1, Changed: 1}, quietResult(t, h.Temporal, scope))
	require.EqualValues(t, 6, counts().SuccessCount)

	full := privateOf(p)
	full.Full = true
	_, out := learnNow(t, h, learn.ExtractCompetence, full)
	require.Zero(t, out.Changes(), "the same reports change nothing")
}

// Sessions that close at the same time are all counted, and one run consolidates them. Episodes that are put count as
// well; those of one origin count once.
func TestEvidenceThatArrivesAtOnce(t *testing.T) {
	t.Parallel()
	h := quietHarness(t, time.Second)
	p := testkit.Principal()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() { handIn(t, h.Temporal, h.TaskQueue, testkit.Build(p, n, "linux", testkit.ClearCache(n))) })
	}
	all.Wait()
	out := quietResult(t, h.Temporal, scopeOfPrincipal(p))
	require.Positive(t, out.Changed)
	require.Less(t, out.New, 3)
	require.Len(t, learnedBy(t, h, p), 1)

	planted := testkit.Principal()
	req := testkit.Request(planted, schema.SourceUserInput, "The build is slow.", "Ana fixed the parser.",
		"The disk of ci-4 is full.", "We use Go.")
	_, _ = h.Ingest(t, req)
	time.Sleep(time.Second)
	id, _ := quietRun(t, h.Temporal, scopeOfPrincipal(planted))
	require.Empty(t, id, "turns of one origin without a session are one account")
	req = testkit.Request(planted, schema.SourceUserInput, "The build is fast.", "Ana left.",
		"The disk of ci-5 is full.")
	for i := range req.Candidates {
		req.Candidates[i].Session = req.Candidates[i].Content
	}
	_, _ = h.Ingest(t, req)
	require.Positive(t, quietResult(t, h.Temporal, scopeOfPrincipal(planted)).Consolidated)
}

// The worker is killed after an episode is committed and its run is signalled, and again after the run has checked the
// scope: there is one procedure.
func TestAutomaticConsolidationSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"CloseSession", "EvidenceDue"} {
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
			for n := range 2 {
				testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
			}
			env := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": gate.Address,
				"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue, "MNEME_CONSOLIDATE_QUIET": "1s"}
			victim := harness.StartProcess(t, env)
			handIn(t, c, h.TaskQueue, testkit.Build(p, 2, "linux", testkit.ClearCache(2)))
			require.NoError(t, gate.WaitHeld(ctx), victim.Output())
			victim.Kill()
			env["TEMPORAL_ADDRESS"] = address
			harness.StartProcess(t, env)
			require.Equal(t, 1, quietResult(t, c, scopeOfPrincipal(p)).Changed)
			require.Len(t, learnedBy(t, h, p), 1)
			require.Equal(t, 3, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "memories", "type = 'episodic'"))
		})
	}
}

// quietEnv is an environment in which the checks of a scope return the given results.
func quietEnv(t *testing.T, results ...learning.DueResult) *testsuite.TestWorkflowEnvironment {
	var of *learning.Learning
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	next := 0
	env.OnActivity(of.EvidenceDue, mock.Anything, mock.Anything).Return(func(context.Context,
		api.LearnScope) (learning.DueResult, error) {
		if next == len(results) {
			return learning.DueResult{Mark: "last"}, nil
		}
		next++
		return results[next-1], nil
	})
	t.Cleanup(func() { require.Equal(t, len(results), next, "it read more often") })
	return env
}

func quietOutcome(t *testing.T, env *testsuite.TestWorkflowEnvironment) api.ConsolidateWhenQuietResult {
	t.Helper()
	env.ExecuteWorkflow(learn.ConsolidateWhenQuiet,
		api.ConsolidateWhenQuietInput{LearnScope: api.LearnScope{Tenant: "t"}})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out api.ConsolidateWhenQuietResult
	require.NoError(t, env.GetWorkflowResult(&out))
	return out
}

var (
	enough = learning.DueResult{New: 4, Enough: true, Mark: "a"}
	loud   = learning.DueResult{New: 3, Enough: true, Wait: 3 * time.Minute, Mark: "a"}
)

func TestConsolidateWhenQuietBranches(t *testing.T) {
	t.Parallel()
	t.Run("it waits until the scope is quiet", func(t *testing.T) {
		t.Parallel()
		env := quietEnv(t, loud, loud, enough)
		began := env.Now()
		env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(func(ctx workflow.Context,
			in api.LearnInput) (api.LearnResult, error) {
			require.Equal(t, 6*time.Minute, workflow.Now(ctx).Sub(began).Round(time.Second))
			require.Equal(t, api.LearnInput{LearnScope: api.LearnScope{Tenant: "t"}}, in)
			return api.LearnResult{Added: 1}, nil
		}).Once()
		require.Equal(t, api.ConsolidateWhenQuietResult{Consolidated: 1, Changed: 1}, quietOutcome(t, env))
	})
	t.Run("too little evidence", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, api.ConsolidateWhenQuietResult{New: 2},
			quietOutcome(t, quietEnv(t, learning.DueResult{New: 2})))
	})
	t.Run("a run that consolidates nothing is not repeated", func(t *testing.T) {
		t.Parallel()
		env := quietEnv(t, enough, enough)
		env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(api.LearnResult{}, nil).Once()
		require.Equal(t, api.ConsolidateWhenQuietResult{Consolidated: 1, New: 4}, quietOutcome(t, env))
	})
	t.Run("new evidence during a run", func(t *testing.T) {
		t.Parallel()
		later := enough
		later.Mark = "b"
		env := quietEnv(t, enough, later)
		env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(api.LearnResult{}, nil).Twice()
		require.Equal(t, 2, quietOutcome(t, env).Consolidated)
	})
	t.Run("a run that fails is started again", func(t *testing.T) {
		t.Parallel()
		env, calls := quietEnv(t, enough, learning.DueResult{Mark: "b"}, learning.DueResult{Mark: "b"}), 0
		began := env.Now()
		env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(func(ctx workflow.Context,
			_ api.LearnInput) (api.LearnResult, error) {
			if calls++; calls < 3 {
				return api.LearnResult{}, errors.New("no")
			}
			require.Equal(t, 6*time.Minute, workflow.Now(ctx).Sub(began).Round(time.Second), "two and four minutes")
			return api.LearnResult{Updated: 1}, nil
		})
		require.Equal(t, api.ConsolidateWhenQuietResult{Consolidated: 1, Changed: 1, Failed: 2}, quietOutcome(t, env))
	})
	t.Run("after repeated failures the schedule takes over", func(t *testing.T) {
		t.Parallel()
		env := quietEnv(t, enough, enough, enough, enough, enough)
		env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(api.LearnResult{},
			temporal.NewNonRetryableApplicationError("no", "no", nil)).Times(5)
		env.ExecuteWorkflow(learn.ConsolidateWhenQuiet,
			api.ConsolidateWhenQuietInput{LearnScope: api.LearnScope{Tenant: "t"}})
		require.Error(t, env.GetWorkflowError())
		env.AssertExpectations(t)
	})
	t.Run("another run is in progress", func(t *testing.T) {
		t.Parallel()
		env := quietEnv(t, enough, learning.DueResult{New: 1, Mark: "b"})
		env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(api.LearnResult{},
			&temporal.ChildWorkflowExecutionAlreadyStartedError{}).Once()
		require.Equal(t, api.ConsolidateWhenQuietResult{New: 1}, quietOutcome(t, env))
	})
}

// A run that receives many signals continues as new with its state.
func TestConsolidateWhenQuietContinuesAsNew(t *testing.T) {
	t.Parallel()
	env := quietEnv(t, enough, loud)
	env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(api.LearnResult{},
		errors.New("no")).Once()
	env.RegisterDelayedCallback(func() {
		for range learn.SignalsPerRun {
			env.SignalWorkflow(api.SignalEvidence, nil)
		}
	}, time.Minute)
	env.ExecuteWorkflow(learn.ConsolidateWhenQuiet,
		api.ConsolidateWhenQuietInput{LearnScope: api.LearnScope{Tenant: "t"}})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var in api.ConsolidateWhenQuietInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
	require.Equal(t, api.ConsolidateWhenQuietInput{LearnScope: api.LearnScope{Tenant: "t"}, Failures: 1, Runs: 1,
		SoFar: &api.ConsolidateWhenQuietResult{Failed: 1, New: 3}}, in)
}

// A run that never waits, because the quiet period is zero, continues as new when its history is long.
func TestConsolidateWhenQuietContinuesAsNewWithoutWaiting(t *testing.T) {
	t.Parallel()
	env := quietEnv(t, enough)
	env.OnWorkflow(api.WorkflowConsolidate, mock.Anything, mock.Anything).Return(func(workflow.Context,
		api.LearnInput) (api.LearnResult, error) {
		env.SetContinueAsNewSuggested(true)
		return api.LearnResult{Added: 1}, nil
	}).Once()
	env.ExecuteWorkflow(learn.ConsolidateWhenQuiet,
		api.ConsolidateWhenQuietInput{LearnScope: api.LearnScope{Tenant: "t"}})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var in api.ConsolidateWhenQuietInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
	require.Equal(t, api.ConsolidateWhenQuietInput{LearnScope: api.LearnScope{Tenant: "t"}, Runs: 1,
		SoFar: &api.ConsolidateWhenQuietResult{New: 4, Consolidated: 1, Changed: 1}}, in)
}

// recordQuiet captures a run that waits, receives more evidence, consolidates and completes.
func recordQuiet(t *testing.T) {
	t.Helper()
	h := quietHarness(t, 2*time.Second)
	p := testkit.Principal()
	for n := range 4 {
		handIn(t, h.Temporal, h.TaskQueue, testkit.Build(p, n, "linux", testkit.ClearCache(n)))
	}
	require.Equal(t, 1, quietResult(t, h.Temporal, scopeOfPrincipal(p)).Consolidated)
	id, _ := quietRun(t, h.Temporal, scopeOfPrincipal(p))
	record(t, h, "consolidate-when-quiet", api.ConsolidateWhenQuietID(scopeOfPrincipal(p)), id)
}
