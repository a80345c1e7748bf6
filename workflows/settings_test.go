package workflows_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// forbidden is an extractor that must not be called.
type forbidden struct{}

func (forbidden) Extract(context.Context, inference.Source) (memory.Extraction, inference.Usage, error) {
	return memory.Extraction{}, inference.Usage{}, errors.New("the extractor was asked")
}

// Document 002 "pipelineV2.enabled": without a pipeline, sources are stored and recalled, and no facts are extracted.
func TestWithoutAPipelineSourcesAreKept(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) { d.NoPipeline, d.Brain.Extractor = true, forbidden{} })
	p := testkit.Principal()
	started, result := h.Ingest(t, testkit.Request(p, schema.SourceUserInput,
		"Nadia lives in Bergen and works at Corvex."))
	require.Equal(t, []int{1, 0, 1, 0},
		[]int{result.Extracted.Candidates, result.Extracted.Facts, result.Extracted.Warnings, result.Dead})
	require.Zero(t, result.Written.Added)
	jobs, err := h.Store.JobCounts(context.Background(), p.Tenant)
	require.NoError(t, err)
	require.Equal(t, map[schema.JobState]int64{schema.JobCompleted: 1}, jobs)
	r := h.Recaller()
	answer, err := r.Recall(context.Background(), schema.RecallRequest{Principal: p, Query: "where does Nadia live"})
	require.NoError(t, err)
	require.Len(t, answer.Results, 1)
	require.Equal(t, started.Ack.MemoryIDs[0], answer.Results[0].ID)
}

// Document 002 "pipelineV2.graphEnabled": without a graph, facts are written but no entities.
func TestWithoutAGraphNothingIsLinked(t *testing.T) {
	t.Parallel()
	const text = "Nadia works at Corvex. Nadia lives in Bergen."
	for _, off := range []bool{false, true} {
		h := harness.New(t, func(d *workflows.Dependencies) { d.NoGraph = off })
		p := testkit.Principal()
		_, result := h.Ingest(t, testkit.Request(p, schema.SourceUserInput, text))
		require.Positive(t, result.Written.Added)
		stats, err := h.Store.Stats(context.Background(), p.Tenant)
		require.NoError(t, err)
		require.Equal(t, off, stats.Entities == 0)
		require.Equal(t, off, result.Linked.Entities == 0)
		require.Empty(t, result.Deferred)
	}
}

// Document 002 "batchLimit" bounds the rows that one transaction of a sweep changes.
func TestSweepBatchBoundsTransactions(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) { d.SweepBatch = 3 })
	p := testkit.Principal()
	owner := testkit.Owner(t, h.DatabaseURL)
	ctx := context.Background()
	for _, sql := range []string{
		`CREATE TABLE seen (tx bigint)`,
		`CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
			BEGIN INSERT INTO seen VALUES (txid_current()); RETURN NULL; END $$`,
		`CREATE TRIGGER zzz_see AFTER DELETE ON retrievals FOR EACH ROW EXECUTE FUNCTION see()`,
	} {
		_, err := owner.Exec(ctx, sql)
		require.NoError(t, err)
	}
	_, err := owner.Exec(ctx,
		`INSERT INTO retrievals (tenant, id, agent_id, query_hash, memory_ids, took_ms, created_at)
		SELECT $1, gen_random_uuid(), $2, 'h', '{}', 1, now() - interval '60 days' FROM generate_series(1, 10)`,
		p.Tenant, p.Agent)
	require.NoError(t, err)
	run, err := mneme.StartRetentionPurge(ctx, h.Temporal, h.TaskQueue,
		api.SweepInput{Tenant: p.Tenant, BatchSize: 100})
	require.NoError(t, err)
	var result api.SweepResult
	require.NoError(t, run.Get(ctx, &result))
	require.Equal(t, 10, result.Counts[string(lifecycle.PurgeRetrievals)])
	var most int
	require.NoError(t, owner.QueryRow(ctx,
		`SELECT max(n) FROM (SELECT count(*) AS n FROM seen GROUP BY tx) x`).Scan(&most))
	require.Equal(t, 3, most)
}

// The cursor of one step of a purge does not affect where the next step begins.
func TestPurgeStepsHaveTheirOwnCursors(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	owner := testkit.Owner(t, h.DatabaseURL)
	ctx := context.Background()
	started, _ := h.Ingest(t, testkit.Request(p, schema.SourceMemory, "critical: The gate is locked at night."))
	for _, sql := range []string{
		`INSERT INTO memory_versions (tenant, memory_id, version, since, until, record)
			SELECT tenant, id, 1, now() - interval '220 days', now() - interval '200 days', '{}' FROM memories`,
		`UPDATE ingest_batches SET created_at = now() - interval '210 days'`,
		`UPDATE jobs SET finished_at = now() - interval '60 days'`,
	} {
		_, err := owner.Exec(ctx, sql)
		require.NoError(t, err)
	}
	run, err := mneme.StartRetentionPurge(ctx, h.Temporal, h.TaskQueue, api.SweepInput{Tenant: p.Tenant})
	require.NoError(t, err)
	var result api.SweepResult
	require.NoError(t, run.Get(ctx, &result))
	require.Equal(t, 1, result.Counts[string(lifecycle.PurgeVersions)])
	require.Zero(t, testkit.Rows(t, owner, "ingest_batches", "id = $1", started.Ack.BatchID))
}
