package workflows_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

// The acknowledgement of ReviveJob is lost: its second attempt finds the job already revived.
func TestResumeSurvivesALostAcknowledgement(t *testing.T) {
	t.Parallel()
	model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
		return testkit.ModelReply{Status: http.StatusBadRequest}
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	p := testkit.Principal()
	_, result := h.Ingest(t, testkit.Request(p, schema.SourceObservation, "A poison for one."))
	require.Equal(t, 1, result.Dead)
	jobs, err := h.Store.Jobs(context.Background(), p.Tenant, pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	h.StopWorker()
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
	_, err = resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: jobs[0].ID, Actor: "operator:test"})
	require.NoError(t, err)
	left, err := h.Store.Jobs(context.Background(), p.Tenant, pipeline.JobFilter{})
	require.NoError(t, err)
	require.Equal(t, schema.JobDead, left[0].State,
		"without a run a job must be completed, or dead and replayable")
}

// A candidate that is marked dead in one attempt is still counted when the attempt is repeated for another candidate.
func TestDeadJobsAreCountedOverAttempts(t *testing.T) {
	t.Parallel()
	model := stumbleWith(t, func(call testkit.ModelCall, first bool) testkit.ModelReply {
		switch {
		case strings.Contains(call.Data, "poison"):
			return testkit.ModelReply{Status: http.StatusBadRequest}
		case first && strings.Contains(call.Data, "unlucky"):
			return testkit.ModelReply{Status: http.StatusInternalServerError}
		}
		return echo(call.Data)
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	_, result := h.Ingest(t, testkit.Request(testkit.Principal(), schema.SourceObservation, "A poison for one.",
		"An unlucky one.", "A lucky one."))
	require.Equal(t, 1, result.Dead)
	require.Equal(t, 2, result.Extracted.Candidates)
	require.Equal(t, 2, result.Extracted.Facts)
}

// After an endpoint asks for a delay, it is not called for the other candidates of the range.
func TestRateLimitStopsTheRange(t *testing.T) {
	t.Parallel()
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Number <= 50 {
			return testkit.ModelReply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "1"}}
		}
		return echo(call.Data)
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t); d.Concurrency = 2 })
	req := testkit.Request(testkit.Principal(), schema.SourceObservation)
	for i := range 50 {
		req.Candidates = append(req.Candidates, schema.Candidate{Content: fmt.Sprintf("Lamp %d is %x.", i, i*i)})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	require.Never(t, func() bool { return len(model.Calls(testkit.Extraction)) > 10 }, 900e6, 50e6)
	require.NoError(t, h.Temporal.TerminateWorkflow(ctx, started.ID, started.RunID, "seen enough"))
}
