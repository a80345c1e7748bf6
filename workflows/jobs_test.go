package workflows_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/flow"
)

// echo extracts one fact that repeats its source in other words.
func echo(source string) testkit.ModelReply { return testkit.FactsOf("It is known that " + source) }

func resume(t *testing.T, h *harness.Harness, in api.ResumeInput) (api.IngestResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartResume(ctx, h.Temporal, h.TaskQueue, in)
	require.NoError(t, err)
	var result api.IngestResult
	err = run.Get(ctx, &result)
	return result, err
}

// The model refuses one candidate of 500: the others are processed, and that one becomes a dead job with a reason,
// which can be replayed.
func TestPoisonCandidate(t *testing.T) {
	t.Parallel()
	const poison = "Widget 321 is the poison of this batch."
	cured := &atomic.Bool{}
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Kind == testkit.Decision {
			return testkit.DecisionOf(schema.ActionAdd, "")
		}
		if strings.Contains(call.Data, "poison") && !cured.Load() {
			return testkit.ModelReply{Status: http.StatusBadRequest, Content: "I will not read this: " + call.Data}
		}
		return echo(call.Data)
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t); d.Concurrency = 8 })
	p := testkit.Principal()
	req := testkit.Request(p, schema.SourceObservation)
	for i := range 500 {
		text := fmt.Sprintf("Widget %d has serial %x.", i, i*7919)
		if i == 321 {
			text = poison
		}
		req.Candidates = append(req.Candidates, schema.Candidate{Content: text})
	}
	started, result := h.Ingest(t, req)
	require.Equal(t, 1, result.Dead)
	require.Equal(t, 499, result.Written.Added)
	require.Equal(t, 499, result.Extracted.Candidates)
	events := historyEvents(t, h, started.ID, started.RunID)
	t.Logf("%d history events for 500 memories", len(events))
	require.Less(t, float64(len(events))/500, 0.5)

	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 499, testkit.Rows(t, db, "jobs", "state = 'completed'"))
	jobs, err := h.Store.Jobs(context.Background(), p.Tenant, pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	dead := jobs[0]
	require.Equal(t, started.Ack.MemoryIDs[321], dead.MemoryID)
	require.Equal(t, 1, dead.Attempts, "a refusal is not retried")
	require.Contains(t, dead.LastError, "400")
	require.NotContains(t, dead.LastError, "Widget")
	require.Len(t, dead.Log, 1)
	require.NotContains(t, fmt.Sprint(dead.Log), "Widget")
	// The source itself can still be recalled, and its history explains the failure.
	require.Equal(t, 1, testkit.Rows(t, db, "memories", "content = $1 AND live", poison))
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history",
		"memory_id = $1 AND reason LIKE 'not processed further: %400%'", dead.MemoryID))

	cured.Store(true)
	calls := len(model.Calls(testkit.Extraction))
	result, err = resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: dead.ID, Actor: "operator:test"})
	require.NoError(t, err)
	require.Zero(t, result.Dead)
	require.Equal(t, 1, result.Written.Added)
	require.Len(t, model.Calls(testkit.Extraction), calls+1, "only the dead job is replayed")
	require.Equal(t, 500, testkit.Rows(t, db, "jobs", "state = 'completed'"))
	require.Equal(t, 1, testkit.Rows(t, db, "memories", "content = $1", "It is known that "+poison))
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "memory_id = $1 AND changed_by = 'operator:test'",
		dead.MemoryID))

	// Only a dead job can be replayed.
	for id, wanted := range map[string]string{dead.ID: api.ErrTypeConflict, uuid.NewString(): api.ErrTypeNotFound,
		"no id": api.ErrTypeInvalidRequest} {
		_, err = resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: id, Actor: "operator:test"})
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app, id)
		require.Equal(t, wanted, app.Type(), id)
	}
	_, err = resume(t, h, api.ResumeInput{Tenant: testkit.Principal().Tenant, JobID: dead.ID, Actor: "operator:test"})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeNotFound, app.Type(), "another tenant's job does not exist")
}

// stumble fails the first calls of each source, and then succeeds.
func stumble(t *testing.T, kind string, failures map[string]int, failure testkit.ModelReply) *testkit.Model {
	t.Helper()
	var mu sync.Mutex
	failed := map[string]int{}
	return testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		mu.Lock()
		defer mu.Unlock()
		about := call.Data
		if call.Kind == testkit.Decision {
			about = call.Offered().Fact.Content
		}
		for source, n := range failures {
			if call.Kind == kind && strings.Contains(about, source) && failed[source] < n {
				failed[source]++
				return failure
			}
		}
		if call.Kind == testkit.Decision {
			return testkit.DecisionOf(schema.ActionAdd, "")
		}
		return echo(call.Data)
	})
}

func TestModelFailsAndRecovers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{testkit.Extraction, testkit.Decision} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			model := stumble(t, kind, map[string]int{"twice unlucky": 2, "thrice unlucky": 3},
				testkit.ModelReply{Status: http.StatusInternalServerError,
					Content: "out of memory while reading: unlucky"})
			h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
			p := testkit.Principal()
			// a neighbour, so that there is a decision to make
			known(t, h, p, "The unlucky source is listed as known.")
			started, result := h.Ingest(t, testkit.Request(p, schema.SourceObservation,
				"the lucky source is listed.", "the twice unlucky source is listed.",
				"the thrice unlucky source is listed."))
			jobs, err := h.Store.Jobs(context.Background(), p.Tenant,
				pipeline.JobFilter{BatchID: uuid.MustParse(started.Ack.BatchID)})
			require.NoError(t, err)
			byMemory := map[string]schema.Job{}
			for _, j := range jobs {
				byMemory[j.MemoryID] = j
			}
			attempts := 1 // of the last phase
			if kind == testkit.Decision {
				attempts = 3
			}
			for i, want := range []struct {
				state    schema.JobState
				attempts int
			}{{schema.JobCompleted, 1}, {schema.JobCompleted, attempts}, {schema.JobDead, flow.MaxJobAttempts}} {
				job := byMemory[started.Ack.MemoryIDs[i]]
				require.Equal(t, want.state, job.State, job)
				require.Equal(t, want.attempts, job.Attempts, job)
				require.NotContains(t, job.LastError+fmt.Sprint(job.Log), "unlucky")
			}
			require.Contains(t, byMemory[started.Ack.MemoryIDs[2]].LastError, "500")
			require.Equal(t, 1, result.Dead)
			db := testkit.Owner(t, h.DatabaseURL)
			require.Equal(t, 2, testkit.Rows(t, db, "memories", "content LIKE 'It is known that the %lucky%'"))
		})
	}
}

// When a model asks for a pause, the run waits, and the wait does not count as a failure.
func TestRateLimitedModel(t *testing.T) {
	t.Parallel()
	var first, second time.Time
	var mu sync.Mutex
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		mu.Lock()
		defer mu.Unlock()
		if first.IsZero() {
			first = time.Now()
			return testkit.ModelReply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "3"}}
		}
		if second.IsZero() {
			second = time.Now()
		}
		return echo(call.Data)
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	p := testkit.Principal()
	_, result := h.Ingest(t, testkit.Request(p, schema.SourceObservation, "somebody is in a hurry."))
	require.Equal(t, 1, result.Written.Added)
	require.GreaterOrEqual(t, second.Sub(first), 3*time.Second, "the first retry would have come after one second")
	jobs, err := h.Store.Jobs(context.Background(), p.Tenant, pipeline.JobFilter{})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	require.Equal(t, 1, jobs[0].Attempts, "waiting does not count as an attempt")
	require.Equal(t, schema.JobCompleted, jobs[0].State)
	require.EqualValues(t, 100, jobs[0].Log[0].PromptTokens)
	require.Equal(t, "test-model", jobs[0].Log[0].Model)
}

// A cancelled run leaves no open job: its jobs are dead and can be replayed.
func TestCancelledRunMarksItsJobsDead(t *testing.T) {
	t.Parallel()
	blocked := make(chan struct{}, 10)
	free := &atomic.Bool{}
	model := testkit.NewModel(t, func(ctx context.Context, call testkit.ModelCall) testkit.ModelReply {
		if !free.Load() {
			blocked <- struct{}{}
			<-ctx.Done()
		}
		return echo(call.Data)
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	p := testkit.Principal()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue,
		testkit.Request(p, schema.SourceObservation, "nobody wants this any more."))
	require.NoError(t, err)
	<-blocked
	require.NoError(t, h.Temporal.CancelWorkflow(ctx, started.ID, started.RunID))
	err = started.Run.Get(ctx, nil)
	var canceled *temporal.CanceledError
	require.ErrorAs(t, err, &canceled)
	jobs, err := h.Store.Jobs(ctx, p.Tenant, pipeline.JobFilter{})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	require.Equal(t, schema.JobDead, jobs[0].State)
	require.Contains(t, jobs[0].LastError, "cancel")

	free.Store(true)
	result, err := resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: jobs[0].ID, Actor: "operator:test"})
	require.NoError(t, err)
	require.Equal(t, 1, result.Written.Added)
}

// historyEvents reads a run's history.
func historyEvents(t testing.TB, h *harness.Harness, id, runID string) []string {
	t.Helper()
	var out []string
	iter := h.Temporal.GetWorkflowHistory(context.Background(), id, runID, false, 0)
	for iter.HasNext() {
		event, err := iter.Next()
		require.NoError(t, err)
		out = append(out, event.GetEventType().String())
	}
	return out
}

// stumbleWith tells answer whether a call is the first for its data.
func stumbleWith(t *testing.T, answer func(call testkit.ModelCall, first bool) testkit.ModelReply) *testkit.Model {
	t.Helper()
	var mu sync.Mutex
	asked := map[string]bool{}
	return testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		mu.Lock()
		defer mu.Unlock()
		about := call.Kind + call.Data
		if call.Kind == testkit.Decision {
			about = call.Kind + call.Offered().Fact.Content
		}
		first := !asked[about]
		asked[about] = true
		return answer(call, first)
	})
}
