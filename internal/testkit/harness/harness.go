package harness

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
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// starved is how long a workflow may make no progress before the SDK reports a deadlock. A machine that runs many
// tests with the race detector keeps a workflow waiting for seconds, and stopping it then causes a data race inside
// the SDK.
const starved = time.Minute

// Harness is a worker with real dependencies, on a separate task queue and schema.
type Harness struct {
	Store       *store.Store
	Temporal    client.Client
	TaskQueue   string
	DatabaseURL string
	Deps        workflows.Dependencies

	worker worker.Worker
}

// RecallTimeoutFactor is the factor for the deadlines within recalls of tests, whose machine may be busy with other
// tests: an answer without one of its channels would fail them by chance.
const RecallTimeoutFactor = 30

// WaitLimit is how long a test waits for a run that always ends. It is much longer than such a run takes, because a busy
// machine can make one many times as slow.
const WaitLimit = 5 * time.Minute

// New starts a worker with the offline brain; change may alter its dependencies.
func New(t testing.TB, change func(*workflows.Dependencies)) *Harness {
	t.Helper()
	url := testkit.DatabaseURL(t)
	return NewAt(t, url, Temporal(t), change)
}

// NewAt is New on a given migrated schema and Temporal client.
func NewAt(t testing.TB, databaseURL string, c client.Client, change func(*workflows.Dependencies)) *Harness {
	t.Helper()
	h := NewIdle(t, databaseURL, c, change)
	h.StartWorker(t)
	return h
}

// StartWorker starts a worker; it stops with the test, or with StopWorker.
func (h *Harness) StartWorker(t testing.TB) {
	t.Helper()
	h.StartWorkerWith(t, worker.Options{})
}

// StopWorker stops the worker gracefully.
func (h *Harness) StopWorker() {
	if h.worker != nil {
		h.worker.Stop()
		h.worker = nil
	}
}

// Ingest starts a request and waits for the whole pipeline.
func (h *Harness) Ingest(t testing.TB, req schema.IngestRequest) (mneme.Started, api.IngestResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	var result api.IngestResult
	require.NoError(t, started.Run.Get(ctx, &result))
	return started, result
}

// NewIdle is a harness whose worker has not been started.
func NewIdle(t testing.TB, databaseURL string, c client.Client, change func(*workflows.Dependencies)) *Harness {
	t.Helper()
	h := &Harness{Store: testkit.OpenStore(t, databaseURL), Temporal: c, TaskQueue: "test-" + uuid.NewString(),
		DatabaseURL: databaseURL}
	h.Deps = workflows.Dependencies{Store: h.Store, Brain: rules.New(), Index: vector.PGVector{Store: h.Store},
		Policy: proposals.DefaultWritePolicy(), Concurrency: 4,
		Recall: recall.Settings{TimeoutFactor: RecallTimeoutFactor}}
	if change != nil {
		change(&h.Deps)
	}
	return h
}

// Recaller recalls from the harness's store in this process.
func (h *Harness) Recaller() *recall.Recaller {
	return &recall.Recaller{Store: h.Store, Index: h.Deps.Index, Embedder: h.Deps.Brain.Embedder,
		Settings: recall.Settings{TimeoutFactor: RecallTimeoutFactor}}
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
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	var result api.IngestResult
	require.NoError(t, run.Get(ctx, &result))
	return result
}
