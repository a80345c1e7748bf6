package workflows_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// switchable is an embedder that can be turned off.
type switchable struct {
	inference.Embedder
	down *atomic.Bool
}

func (e switchable) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	if e.down.Load() {
		return nil, inference.Usage{}, errors.New("embedder is down")
	}
	return e.Embedder.Embed(ctx, texts)
}

func syncIndex(t *testing.T, h *harness.Harness) (client.WorkflowRun, api.SyncIndexResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := h.Temporal.ExecuteWorkflow(ctx,
		client.StartWorkflowOptions{ID: api.SyncIndexWorkflowID(uuid.NewString()), TaskQueue: h.TaskQueue},
		workflows.SyncIndex, api.SyncIndexInput{})
	require.NoError(t, err)
	var result api.SyncIndexResult
	err = run.Get(ctx, &result)
	return run, result, err
}

func TestEmbedderDown(t *testing.T) {
	t.Parallel()
	down := &atomic.Bool{}
	down.Store(true)
	embedder := switchable{Embedder: rules.HashEmbedder{}, down: down}
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), func(d *workflows.Dependencies) {
		d.Brain.Embedder = embedder
	})
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{hasty()}})
	p := testkit.Principal()
	req := testkit.Request(p, schema.SourceUserInput, "I moved to Lisbon. I work at Acme on the Atlas project.")
	req.Candidates[0].Speaker = "Ana"
	started, result := h.Ingest(t, req)

	require.Zero(t, result.Dead)
	require.Equal(t, []string{api.PhaseIndex}, result.Deferred)
	require.True(t, result.Decided.WithoutVectors)
	require.Equal(t, 2, result.Written.Added)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "jobs", "state = 'completed'"))
	require.Equal(t, []string{"index: embedder is down"}, testkit.Strings(t, db, `SELECT last_error FROM jobs`))
	require.Zero(t, testkit.Rows(t, db, "memory_embeddings", ""))
	require.Equal(t, 3, testkit.Rows(t, db, "index_outbox", ""))
	require.Equal(t, 2, testkit.Rows(t, db, "proposals",
		"array_to_string(warnings, ' ') LIKE '%embedding unavailable%'"))

	r := h.Recaller()
	r.Embedder = embedder
	recalled := func() schema.RecallResponse {
		answer, err := r.Recall(context.Background(),
			schema.RecallRequest{Principal: p, Query: "where did Ana move, Lisbon?"})
		require.NoError(t, err)
		require.NotEmpty(t, answer.Results)
		return answer
	}
	for _, found := range recalled().Results {
		require.NotContains(t, found.Channels, "vector")
	}

	_, _, err := syncIndex(t, h) // fails for now, but loses no change
	require.Error(t, err)
	require.Equal(t, 3, testkit.Rows(t, db, "index_outbox", ""))

	down.Store(false)
	_, synced, err := syncIndex(t, h)
	require.NoError(t, err)
	require.Equal(t, 3, synced.Embedded)
	require.Equal(t, 3, synced.Upserted)
	require.Zero(t, testkit.Rows(t, db, "index_outbox", ""))
	require.Equal(t, 3, testkit.Rows(t, db, "memory_embeddings", ""))
	answer := recalled()
	require.Empty(t, answer.Meta.Degraded)
	withVectors := 0
	for _, found := range answer.Results {
		if _, ok := found.Channels["vector"]; ok {
			withVectors++
		}
	}
	require.Positive(t, withVectors)
	require.NotEmpty(t, started.Ack.MemoryIDs)
}
