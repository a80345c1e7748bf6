package workflows_test

import (
	"context"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// pagesOf makes the first activities of a kind end early, as if there were many pages: they commit their work and
// report that more is left.
type pagesOf struct {
	mu   sync.Mutex
	left map[string]int // by activity
}

func (p *pagesOf) around(_ context.Context, name string, run func() (any, error)) (any, error) {
	out, err := run()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.left[name] == 0 {
		return out, err
	}
	p.left[name]--
	switch page := out.(type) {
	case api.SweepResult:
		page.Done, page.Cursor = false, api.SweepCursor{}
		return page, nil
	case indexing.DrainResult:
		page.More = true
		return page, nil
	case indexing.FillResult:
		page.Done, page.Cursor = false, api.IndexCursor{}
		return page, nil
	case indexing.CompareResult:
		page.Done, page.Cursor, page.Points = false, api.IndexCursor{}, ""
		return page, nil
	}
	return out, err
}

// Every workflow that may continue as new does so when the server suggests it early, keeps its principal, and
// completes.
func TestRunsThatContinueAsNew(t *testing.T) {
	t.Parallel()
	recordContinued(t)
}

// recordContinued runs them and, when TestReplay records histories, records both runs.
func recordContinued(t *testing.T) {
	_, env := testkit.PrivateStackWith(t, []string{"MNEME_TEMPORAL_CONFIG=limit.historyCount.suggestContinueAsNew=30"},
		"temporal")
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.DialTemporal(t, env["TEMPORAL_ADDRESS"], nil), nil)
	pages := &pagesOf{left: map[string]int{}}
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: pages.around}}})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	p := testkit.Principal()
	_, err := vector.Ensure(ctx, h.Store, h.Deps.Index, h.Deps.Brain.Embedder.Model(), time.Now())
	require.NoError(t, err)

	// continued checks both runs, and records them.
	continued := func(t *testing.T, name string, run client.WorkflowRun, first, tenant string, out any) {
		t.Helper()
		require.NoError(t, h.Temporal.GetWorkflow(ctx, run.GetID(), "").Get(ctx, out))
		began, err := h.Temporal.DescribeWorkflowExecution(ctx, run.GetID(), first)
		require.NoError(t, err)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
			began.GetWorkflowExecutionInfo().GetStatus(), name)
		last, err := h.Temporal.DescribeWorkflow(ctx, run.GetID(), "")
		require.NoError(t, err)
		if tenant != "" {
			is, _ := last.TypedSearchAttributes.GetKeyword(mneme.AttrTenant)
			require.Equal(t, tenant, is, "the new run keeps the tenant")
		}
		if os.Getenv("MNEME_UPDATE_HISTORIES") != "" {
			record(t, h, name+"-continued", run.GetID(), first)
			record(t, h, name+"-continues", run.GetID(), runOf(t, h.Temporal, run.GetID()))
		}
	}
	start := func(t *testing.T, fn, in any, of string) client.WorkflowRun {
		t.Helper()
		options := clientOptions("continued", h.TaskQueue)
		if of != "" {
			options.TypedSearchAttributes = workflows.OfTenant(of)
		}
		run, err := h.Temporal.ExecuteWorkflow(ctx, options, fn, in)
		require.NoError(t, err)
		return run
	}
	many := func(names ...string) {
		pages.mu.Lock()
		defer pages.mu.Unlock()
		for _, name := range names {
			pages.left[name] = 12
		}
	}

	t.Run("review", func(t *testing.T) {
		result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
		first := runOf(t, h.Temporal, result.ReviewID)
		stale := decision(p, item, schema.DecisionApprove)
		stale.TargetVersion = 99
		for range 6 {
			require.Equal(t, schema.ReviewVersionConflict, decide(t, h, stale, result.BatchID).Status)
		}
		require.Equal(t, schema.ReviewApplied,
			decide(t, h, decision(p, item, schema.DecisionApprove), result.BatchID).Status)
		var out api.ReviewProgress
		continued(t, "review", h.Temporal.GetWorkflow(ctx, result.ReviewID, ""), first, p.Tenant, &out)
		require.Equal(t, api.ReviewProgress{Approved: 1}, out)
	})
	t.Run("forget", func(t *testing.T) {
		q := testkit.Principal()
		crowd(t, h, q, 8)
		req := forgetRequest(q, "", schema.Selector{All: true})
		req.BatchSize = 1
		run, preview := startForget(t, h, req)
		confirmForget(t, h, q, preview)
		var out schema.ForgetReceipt
		continued(t, "forget", run, run.GetRunID(), q.Tenant, &out)
		require.Equal(t, 8, out.Forgotten)
	})
	t.Run("sweeps", func(t *testing.T) {
		for name, fn := range map[string]any{"decay-sweep": workflows.DecaySweep,
			"retention-purge": workflows.RetentionPurge} {
			q := testkit.Principal()
			faded(t, h, q, 3)
			many("SweepDecay", "PurgeExpired")
			run := start(t, fn, api.SweepInput{Tenant: q.Tenant, BatchSize: 1}, q.Tenant)
			var out api.SweepResult
			continued(t, name, run, run.GetRunID(), q.Tenant, &out)
			require.True(t, out.Done)
		}
	})
	t.Run("index", func(t *testing.T) {
		many("DrainOutbox")
		run := start(t, workflows.SyncIndex, api.SyncIndexInput{}, "")
		var synced api.SyncIndexResult
		continued(t, "sync-index", run, run.GetRunID(), "", &synced)

		many("CompareMemories", "ComparePoints")
		run = start(t, workflows.DriftCheck, api.DriftInput{}, "")
		var drift api.DriftResult
		continued(t, "drift", run, run.GetRunID(), "", &drift)
		require.Equal(t, 1, drift.Rounds, "continued within its round")
		require.Zero(t, drift.Left.Found())

		many("FillGeneration", "CompareMemories", "ComparePoints")
		run = start(t, workflows.Reindex, api.ReindexInput{GraceSeconds: -1}, "")
		var rebuilt api.ReindexResult
		continued(t, "reindex", run, run.GetRunID(), "", &rebuilt)
		require.Equal(t, 1, rebuilt.Rounds, "continued within its round")
		require.Equal(t, api.PhaseDone, rebuilt.Phase)
		require.Nil(t, rebuilt.Comparing)
	})
}

// The ids of staged memories are derived from the batch's id when no candidate was a duplicate.
func TestStagedIDsNeedNoList(t *testing.T) {
	t.Parallel()
	batch := uuid.Must(uuid.NewV7())
	var before uuid.UUID
	seen := map[uuid.UUID]bool{}
	for i := range schema.MaxBatch {
		id := schema.CandidateID(batch, i)
		require.Equal(t, uuid.Version(7), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		require.Equal(t, batch[:6], id[:6], "derived from the time of the batch")
		require.Less(t, before.String(), id.String(), "in the order of the candidates")
		require.False(t, seen[id])
		before, seen[id] = id, true
	}
	full := schema.IngestAck{BatchID: batch.String(),
		MemoryIDs: []string{schema.CandidateID(batch, 0).String(), uuid.NewString(),
			schema.CandidateID(batch, 2).String()}, Deduped: []int{1}}
	short := activities.Compact(full)
	require.Empty(t, short.MemoryIDs)
	require.Equal(t, map[int]string{1: full.MemoryIDs[1]}, short.Others)
	require.True(t, reflect.DeepEqual(full, short.Ack()))
	require.Equal(t, full, activities.StageResult{IngestAck: full}.Ack(), "in the form of earlier versions")
}
