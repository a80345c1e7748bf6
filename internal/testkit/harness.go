package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// NewIdleHarness is a harness whose worker has not been started.
func NewIdleHarness(t testing.TB, databaseURL string, c client.Client, change func(*workflows.Dependencies)) *Harness {
	t.Helper()
	h := &Harness{Store: OpenStore(t, databaseURL), Temporal: c, TaskQueue: "test-" + uuid.NewString(),
		DatabaseURL: databaseURL}
	h.Deps = workflows.Dependencies{Store: h.Store, Brain: rules.New(), Index: vector.PGVector{Store: h.Store},
		Policy: proposals.DefaultWritePolicy(), Concurrency: 4}
	if change != nil {
		change(&h.Deps)
	}
	return h
}

// StartWorkerWith is StartWorker with options of the SDK.
func (h *Harness) StartWorkerWith(t testing.TB, options worker.Options) {
	t.Helper()
	options.WorkerStopTimeout, options.DeadlockDetectionTimeout = 5*time.Second, starved
	options.Interceptors = append(options.Interceptors, step.Jitter())
	w := worker.New(h.Temporal, h.TaskQueue, options)
	workflows.Register(w, h.Deps)
	require.NoError(t, w.Start())
	h.worker = w
	t.Cleanup(h.StopWorker)
}

// Wait waits for the whole pipeline of a run.
func Wait(t testing.TB, run client.WorkflowRun) api.IngestResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var result api.IngestResult
	require.NoError(t, run.Get(ctx, &result))
	return result
}
