package workflows_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

func modifyRequest(p schema.Principal, patches ...schema.Patch) schema.ModifyRequest {
	return schema.ModifyRequest{Operation: schema.Operation{Principal: p, Actor: "person:mia", Reason: "it was wrong"},
		Patches: patches}
}

func modify(t testing.TB, h *harness.Harness, req schema.ModifyRequest) (client.WorkflowRun, schema.ModifyResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartModify(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	result, err := mneme.Outcome[schema.ModifyResult](ctx, run)
	require.NoError(t, err)
	return run, result
}

func recoverMemories(t testing.TB, h *harness.Harness, req schema.RecoverRequest) schema.RecoverResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartRecover(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	result, err := mneme.Outcome[schema.RecoverResult](ctx, run)
	require.NoError(t, err)
	return result
}

// soften soft-deletes a memory directly in the database, with its text statistics.
func soften(t testing.TB, h *harness.Harness, id string) {
	t.Helper()
	db := testkit.Owner(t, h.DatabaseURL)
	for _, sql := range []string{
		`UPDATE memories SET deleted_at = now(), updated_at = now(), version = version + 1 WHERE id = $1`,
		`UPDATE lexeme_stats s SET docs = docs - 1 FROM memories m WHERE m.id = $1 AND s.tenant = m.tenant
			AND s.lexeme = ANY(tsvector_to_array(m.tsv))`,
		`UPDATE corpus_stats s SET docs = docs - 1, lexemes = lexemes - length(m.tsv) FROM memories m WHERE m.id = $1
			AND s.tenant = m.tenant`,
	} {
		_, err := db.Exec(context.Background(), sql, id)
		require.NoError(t, err)
	}
}

func TestModifyAndRecover(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ids := known(t, h, p, "Tea is served hot.", "The kettle is made of copper.")
	cold := "Tea is served cold."
	req := modifyRequest(p, schema.Patch{ID: ids[0], IfVersion: 1, Content: &cold},
		schema.Patch{ID: ids[1], IfVersion: 7, Content: &cold})
	req.OperationID = "op-1"
	run, result := modify(t, h, req)
	require.Equal(t, schema.ModifyResult{Updated: 1, Results: []schema.PatchResult{
		{ID: ids[0], Status: schema.PatchUpdated, CurrentVersion: 1, NewVersion: 2, ContentChanged: true,
			Embedded: true},
		{ID: ids[1], Status: schema.PatchVersionConflict, CurrentVersion: 1}}}, result)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Zero(t, testkit.Rows(t, db, "index_outbox", ""), "the index is updated")
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))

	// The operation is done: started again, it returns the first result.
	again, same := modify(t, h, req)
	require.Equal(t, run.GetRunID(), again.GetRunID())
	require.Equal(t, result, same)
	// The same holds after Temporal has deleted the run; a new run returns the first result.
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	rerun, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: run.GetID(), TaskQueue: h.TaskQueue},
		workflows.Modify, req)
	require.NoError(t, err)
	require.NotEqual(t, run.GetRunID(), rerun.GetRunID())
	same, err = mneme.Outcome[schema.ModifyResult](ctx, rerun)
	require.NoError(t, err)
	require.Equal(t, result, same)
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
	m, err := h.Store.Get(context.Background(), p, uuid.MustParse(ids[0]), policy.UpTo(schema.SensitivityHyper))
	require.NoError(t, err)
	require.Equal(t, 2, m.Version)

	soften(t, h, ids[0])
	got := recoverMemories(t, h, schema.RecoverRequest{Operation: schema.Operation{Principal: p, Reason: "by mistake"},
		Targets: []schema.Target{{ID: ids[0]}, {ID: ids[1]}}})
	require.Equal(t, []schema.RecoverItem{{ID: ids[0], Status: schema.RecoverRecovered, CurrentVersion: 3,
		NewVersion: 4},
		{ID: ids[1], Status: schema.RecoverNotDeleted, CurrentVersion: 1}}, got.Items)
	require.Zero(t, testkit.Rows(t, db, "index_outbox", ""))

	_, err = mneme.StartModify(ctx, h.Temporal, h.TaskQueue, modifyRequest(p))
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
}

// Without an embedder a modification is not delayed, and the embedding is added later.
func TestModifyWhileTheEmbedderIsDown(t *testing.T) {
	t.Parallel()
	down := &atomic.Bool{}
	embedder := switchable{Embedder: rules.HashEmbedder{}, down: down}
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain.Embedder = embedder })
	p := testkit.Principal()
	ids := known(t, h, p, "The kettle is made of copper.")
	down.Store(true)
	text := "Zebras graze in the northern paddock."
	_, result := modify(t, h, modifyRequest(p, schema.Patch{ID: ids[0], Content: &text}))
	require.Equal(t, []schema.PatchResult{{ID: ids[0], Status: schema.PatchUpdated, CurrentVersion: 1, NewVersion: 2,
		ContentChanged: true}}, result.Results)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Zero(t, testkit.Rows(t, db, "memory_embeddings", ""), "the vector of the old text is gone")
	require.Equal(t, 1, testkit.Rows(t, db, "index_outbox", ""))

	down.Store(false)
	_, synced, err := syncIndex(t, h)
	require.NoError(t, err)
	require.Equal(t, 1, synced.Embedded)
	r := h.Recaller()
	r.Embedder = embedder
	answer, err := r.Recall(context.Background(), schema.RecallRequest{Principal: p, Query: text})
	require.NoError(t, err)
	require.Len(t, answer.Results, 1)
	require.Contains(t, answer.Results[0].Channels, "vector")
	answer, err = r.Recall(context.Background(),
		schema.RecallRequest{Principal: p, Query: "The kettle is made of copper."})
	require.NoError(t, err)
	for _, found := range answer.Results {
		require.NotContains(t, found.Content, "kettle")
	}
}

// Every activity of both runs twice, and each has one effect.
func TestModifyAndRecoverRunTwice(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
	p := testkit.Principal()
	ids := known(t, h, p, "Tea is served hot.", "The kettle is made of copper.")
	cold := "Tea is served cold."
	_, result := modify(t, h, modifyRequest(p, schema.Patch{ID: ids[0], IfVersion: 1, Content: &cold}))
	require.Equal(t, schema.PatchUpdated, result.Results[0].Status)
	soften(t, h, ids[1])
	got := recoverMemories(t, h, schema.RecoverRequest{Operation: schema.Operation{Principal: p, Reason: "by mistake"},
		Targets: []schema.Target{{ID: ids[1], IfVersion: 2}}})
	require.Equal(t, schema.RecoverRecovered, got.Items[0].Status)
	requireOneModification(t, h, ids[0])
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "event = 'recovered'"))
}

// requireOneModification checks that a memory was modified exactly once.
func requireOneModification(t testing.TB, h *harness.Harness, id string) {
	t.Helper()
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "memories", "version = 2 AND id = '"+id+"'"))
	require.Equal(t, []string{"created", "modified"},
		testkit.Strings(t, db, `SELECT event FROM memory_history WHERE event <> 'none' AND memory_id = '`+id+
			`' ORDER BY seq`))
	require.Equal(t, 1, testkit.Rows(t, db, "memory_versions", "memory_id = '"+id+"'"))
	require.Equal(t, 1, testkit.Rows(t, db, "memory_embeddings", "memory_id = '"+id+"'"))
	require.Equal(t, 1, testkit.Rows(t, db, "operations", "result ? 'updated'"))
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
	require.Empty(t, testkit.Strings(t, db,
		`WITH truth AS (SELECT l.lexeme, count(*) AS docs FROM memories m, unnest(m.tsv) l WHERE m.live GROUP BY 1)
		SELECT lexeme FROM truth FULL JOIN lexeme_stats s USING (lexeme)
			WHERE coalesce(s.docs, 0) <> coalesce(truth.docs, 0)`))
}

// A worker is killed between a commit and its acknowledgement; another one takes over.
func TestModifyWorkerKilledBeforeAcknowledgement(t *testing.T) {
	t.Parallel()
	for _, activity := range []string{"Accept", "Modify", "IndexMemories"} {
		t.Run(activity, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			address := testkit.TemporalAddress(t)
			gate := harness.NewGate(t, address, activity)
			namespace := harness.NewNamespace(t, address)
			c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
			h := harness.NewAt(t, testkit.DatabaseURL(t), c, nil)
			p := testkit.Principal()
			ids := known(t, h, p, "Tea is served hot.")
			h.StopWorker()

			settings := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": gate.Address,
				"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue}
			victim := harness.StartProcess(t, settings)
			cold := "Tea is served cold."
			run, err := mneme.StartModify(ctx, c, h.TaskQueue,
				modifyRequest(p, schema.Patch{ID: ids[0], IfVersion: 1, Content: &cold}))
			require.NoError(t, err)
			require.NoError(t, gate.WaitHeld(ctx), victim.Output())
			victim.Kill()
			settings["TEMPORAL_ADDRESS"] = address
			harness.StartProcess(t, settings)
			result, err := mneme.Outcome[schema.ModifyResult](ctx, run)
			require.NoError(t, err)
			require.Equal(t, []schema.PatchResult{{ID: ids[0], Status: schema.PatchUpdated, CurrentVersion: 1,
				NewVersion: 2, ContentChanged: true, Embedded: true}}, result.Results)
			requireOneModification(t, h, ids[0])
		})
	}
}

// The same request from eight callers at once is one operation.
func TestModifyStartedManyTimes(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ids := known(t, h, p, "Tea is served hot.")
	cold := "Tea is served cold."
	req := modifyRequest(p, schema.Patch{ID: ids[0], IfVersion: 1, Content: &cold})
	req.OperationID = uuid.NewString()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			run, err := mneme.StartModify(ctx, h.Temporal, h.TaskQueue, req)
			if err != nil {
				t.Error(err)
				return
			}
			result, err := mneme.Outcome[schema.ModifyResult](ctx, run)
			if err != nil || result.Updated != 1 {
				t.Error(err, result)
			}
		})
	}
	wg.Wait()
	requireOneModification(t, h, ids[0])
}

// Content is only in the event that delivered it, whatever fails later.
func TestModifyKeepsContentOutOfHistory(t *testing.T) {
	t.Parallel()
	down := &atomic.Bool{}
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.Embedder = switchable{Embedder: d.Brain.Embedder, down: down}
	})
	p := testkit.Principal()
	ids := known(t, h, p, "Tea is served hot.", "Tea is served by the "+canary+".")
	down.Store(true)
	// The patch violates a constraint: Postgres quotes the row in the error's detail.
	db := testkit.Owner(t, h.DatabaseURL)
	_, err := db.Exec(context.Background(),
		`ALTER TABLE memories ADD CONSTRAINT broken CHECK (who NOT LIKE '%`+canary+`%') NOT VALID`)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	text, who := "Tea is drunk by the "+canary+".", "the "+canary
	req := modifyRequest(p, schema.Patch{ID: ids[0], Content: &text, Who: &who, Tags: &[]string{"tag" + canary},
		Reason: "because of the " + canary},
		schema.Patch{ID: ids[1], Who: &who, IfVersion: 9})
	run, err := mneme.StartModify(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	require.NoError(t, testkit.Eventually(ctx, func() error {
		described, err := h.Temporal.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
		if err != nil {
			return err
		}
		for _, a := range described.GetPendingActivities() {
			if a.GetLastFailure() != nil {
				require.False(t, bares(t, described, canary))
				return nil
			}
		}
		return errors.New("nothing has failed yet")
	}))
	_, err = db.Exec(ctx, `ALTER TABLE memories DROP CONSTRAINT broken`)
	require.NoError(t, err)
	result, err := mneme.Outcome[schema.ModifyResult](ctx, run)
	require.NoError(t, err)
	require.Equal(t, 1, result.Updated)
	require.Equal(t, []string{enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED.String()},
		barers(t, h.Temporal, run.GetID(), run.GetRunID(), canary))
	described, err := h.Temporal.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
	require.NoError(t, err)
	require.False(t, bares(t, described, canary))
}
