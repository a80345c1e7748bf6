package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/sweeping"
)

// An accepted request waits for its retry as long as its run does. A purge removes memories, but not such copies of
// their text.
func TestPurgeLeavesAcceptedRequestsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.fading("It goes.")
	w.softDelete(id)
	w.now = w.now.Add(31 * day)
	for name, body := range map[string]any{"other": "a fact", "naming": id} {
		require.NoError(t, w.Accept(ctx, schema.OperationRef{Tenant: "t", ID: name, WorkflowID: "w"}, "put", body,
			w.now.Add(-25*time.Hour)))
	}
	require.Equal(t, 1, w.purge(500)[lifecycle.PurgeTombstones])
	require.Equal(t, 2, w.count("staged_requests", "true"))

	// An explicit erasure removes them.
	w.forgetAll(w.forgets(schema.ForgetErase, schema.Selector{IDs: []string{w.fading("It is erased.").String()}}))
	require.Zero(t, w.count("staged_requests", "id IN ('other', 'naming')"))
}

// manyVersions puts a memory with many versions and many relations in both directions, all of them due for a purge.
func (w *world) manyVersions(content string, by, n int, end uuid.UUID) uuid.UUID {
	w.t.Helper()
	id := w.fading(content)
	w.exec(`INSERT INTO memory_versions (tenant, memory_id, version, since, until, record)
		SELECT 't', $1, -g, now(), now(), '{}' FROM generate_series(1, $2::integer) g`, id, by)
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		SELECT 't', $1::uuid, 'p' || g, $2::uuid, now() FROM generate_series(1, $3::integer) g UNION ALL
			SELECT 't', $2, 'q' || g, $1, now() FROM generate_series(1, $3) g`, end, id, n)
	return id
}

// A memory may have a thousand versions and as many derived memories: no transaction of a purge removes more than its
// share of them.
func TestPurgeRemovesDependentRowsInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const limit = 10
	stays, other := w.fading("It stays."), w.fading("It stays too.")
	w.edge(stays, revision.RelationSupports, other, "because")
	grown := []uuid.UUID{w.manyVersions("It has grown.", 12, 7, stays),
		w.manyVersions("It has grown as well.", 3, 11, stays)}
	for i := range 8 {
		grown = append(grown, w.fading(fmt.Sprintf("It is small %d.", i)))
	}
	var ids []string
	for _, id := range grown {
		ids = append(ids, id.String())
	}
	w.forgetAll(w.forgets(schema.ForgetSoft, schema.Selector{IDs: ids}))
	w.now = w.now.Add(31 * day)
	w.purge(500, lifecycle.PurgeExpire, lifecycle.PurgeGraphLinks, lifecycle.PurgeEmbeddings)

	dependents := 0
	for _, table := range []string{"memory_versions", "memory_provenance", "memory_hints", "memory_artifacts"} {
		dependents += w.count(table, "memory_id = ANY($1)", grown)
	}
	dependents += w.count("memory_links", "source_id = ANY($1) OR target_id = ANY($1)", grown)
	require.Greater(t, dependents, 15+36)
	seen := w.watchDeletions("memory_versions", "memory_links", "memory_provenance", "memory_hints", "memory_artifacts",
		"memories")
	w.purge(limit, lifecycle.PurgeTombstones)
	require.Zero(t, w.count("memories", "id = ANY($1)", grown))
	perTx, all := map[int64]int{}, 0
	for _, d := range seen() {
		perTx[d.Tx] += d.Rows
		all += d.Rows
	}
	require.Equal(t, dependents+len(grown), all)
	for _, rows := range perTx {
		require.LessOrEqual(t, rows, limit)
	}
	runs, err := w.SweepRuns(ctx, "t", schema.SweepRetention, 1)
	require.NoError(t, err)
	require.Equal(t, []int64{int64(dependents), int64(len(grown))},
		[]int64{runs[0].Counts[lifecycle.CountDependents], runs[0].Counts["tombstones"]})
	require.Equal(t, 1, w.count("memory_links", "true"), "links between other memories stay")
	testkit.CheckInvariants(t, w.owner)
}

// A memory may be erased after a purge has begun to remove it: the row stays for the audit, and the purge ends.
func TestPurgeEndsAfterAConcurrentErasure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.manyVersions("It has grown.", 12, 7, w.fading("It stays."))
	w.softDelete(id)
	w.now = w.now.Add(31 * day)
	w.purge(500, lifecycle.PurgeExpire)
	b, err := w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: lifecycle.PurgeTombstones, Limit: 5,
		At: w.now, Now: w.now})
	require.NoError(t, err)
	require.Equal(t, []any{5, 5, 0, true},
		[]any{b.Removed, b.Counts[lifecycle.CountDependents], b.Counts["tombstones"], b.More})
	require.Equal(t, schema.RecoverExpired, w.recoverOne(id).Status)
	w.forgetAll(w.forgets(schema.ForgetErase, schema.Selector{IDs: []string{id.String()}}))
	edges := w.count("memory_links", "true")
	require.Positive(t, edges)
	require.Zero(t, w.purge(5, lifecycle.PurgeTombstones)[lifecycle.PurgeTombstones])
	require.Equal(t, []int{1, edges},
		[]int{w.count("memories", "id = $1 AND erased_at IS NOT NULL", id), w.count("memory_links", "true")})
}

// Proposals from or about a memory are emptied before the memory is removed, in parts: neither a source with many
// facts nor a fact that was stated many times makes a transaction large.
func TestPurgeEmptiesProposalsInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const limit = 5
	often := w.memory("The gate is open")
	for i := range 4 { // stated again, each time by a source that stays
		w.source(fmt.Sprintf("a talk about the gate, part %d", i),
			idea{fact: fact("gate is open"), action: schema.ActionDelete, target: often},
			idea{fact: fact("open it is"), action: schema.ActionUpdate, target: often})
	}
	var ideas []idea
	for i := range 12 { // of one source that is removed
		ideas = append(ideas, idea{fact: fact(fmt.Sprintf("gate %d is open", i)), action: schema.ActionAdd})
	}
	source, _ := w.source("a long talk about gates", ideas...)
	gone := []uuid.UUID{often, source}
	w.exec(`UPDATE proposals SET state = 'skipped'`)
	w.forgetAll(w.forgets(schema.ForgetSoft, named(gone...)))
	w.now = w.now.Add(31 * day)
	w.purge(500, lifecycle.PurgeExpire, lifecycle.PurgeGraphLinks, lifecycle.PurgeEmbeddings)
	const full = "fact->>'content' <> '' OR reason <> ''"
	require.Equal(t, 20, w.count("proposals", full))
	batches := 0
	for more := true; more; batches++ {
		before := w.count("proposals", full) + w.count("memory_candidates", "content <> ''")
		b, err := w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: lifecycle.PurgeTombstones,
			Limit: limit, At: w.now, Now: w.now})
		require.NoError(t, err)
		emptied := before - w.count("proposals", full) - w.count("memory_candidates", "content <> ''")
		require.LessOrEqual(t, emptied, b.Counts[lifecycle.CountDependents])
		require.LessOrEqual(t, b.Removed, limit)
		more = b.More
	}
	require.GreaterOrEqual(t, batches, 20/limit)
	require.Zero(t, w.count("memories", "id = ANY($1)", gone))
	require.Zero(t, w.count("proposals", full))
	require.Equal(t, 4, w.count("memory_candidates", "content <> ''"), "the text of sources that stay is kept")
	testkit.CheckInvariants(t, w.owner)
}

// A fact of a source that stays is removed from the source's extraction, even if its proposal was emptied earlier
// because of another memory.
func TestPurgeEmptiesExtractionsOfEmptiedProposals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, target := w.memory("The gate is green"), w.memory("The gate is red")
	w.source("a talk about colours", idea{fact: fact("gate turned green"), action: schema.ActionUpdate, target: target})
	w.exec(`UPDATE proposals SET state = 'applied', memory_id = $1`, made)
	w.exec(`UPDATE memory_candidates
		SET extraction = '{"facts": [{"content": "gate turned green", "category": "fact", "confidence": 0.9}]}'
			WHERE content LIKE 'a talk%'`)
	const told = "extraction::text LIKE '%turned green%'"
	w.softDelete(target)
	w.now = w.now.Add(31 * day)
	w.purge(500)
	require.Equal(t, []int{0, 1}, []int{w.count("proposals", "fact->>'content' <> ''"),
		w.count("memory_candidates", told)}, "the memory that it became is there")
	w.softDelete(made)
	w.now = w.now.Add(31 * day)
	w.purge(500)
	require.Equal(t, []int{0, 0}, []int{w.count("memories", "id = $1", made), w.count("memory_candidates", told)})
}

// A shadow evaluation belongs to no memory: it is removed with its job, in parts.
func TestPurgeEmptiesShadowEvaluations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stays, _ := w.source("a talk about doors", idea{fact: fact("The door is green."), action: schema.ActionAdd})
	w.policy.Mode = schema.ModeShadow
	var ideas []idea
	for i := range 12 {
		ideas = append(ideas, idea{fact: fact(fmt.Sprintf("gate %d is open", i)), action: schema.ActionAdd})
	}
	_, r := w.source("a long talk about gates", ideas...)
	w.write(r)
	require.Equal(t, 12, w.count("proposals", "outcome = 'shadow_mode'"))
	w.stage(say("a long talk about gates", "a talk about doors")...) // the first text again, with its own job
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = $1 WHERE memory_id <> $2`, w.now, stays)
	memories, proposals := w.count("memories", "true"), w.count("proposals", "true")

	const candidate, proposal = "content <> '' OR extraction <> '{\"facts\": []}'", "fact->>'content' <> '' " +
		"OR reason <> ''"
	const said = "reason LIKE '%because%' AND memory_id <> $1"
	require.Equal(t, 12, w.count("memory_history", said, stays))
	before := []int{w.count("memory_candidates", candidate), w.count("proposals", proposal)}
	require.Zero(t, w.purge(5, lifecycle.PurgeJobsCompleted)[lifecycle.PurgeJobsCompleted])
	require.Equal(t, before, []int{w.count("memory_candidates", candidate), w.count("proposals", proposal)})
	w.now = w.now.Add(15 * day)
	batches := 0
	for more := true; more; batches++ {
		b, err := w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: lifecycle.PurgeJobsCompleted,
			Limit: 5, At: w.now, Now: w.now})
		require.NoError(t, err)
		require.LessOrEqual(t, b.Removed, 5)
		more = b.More
	}
	require.Equal(t, 4, batches, "14 texts and 2 jobs")
	require.Equal(t, []int{2, 1}, []int{w.count("memory_candidates", candidate), w.count("proposals", proposal)},
		"what became a memory is removed with the memory")
	require.Zero(t, w.count("memory_history", said, stays), "the model's words quote the removed text")
	require.Equal(t, []int{memories, proposals, 1},
		[]int{w.count("memories", "true"), w.count("proposals", "true"), w.count("jobs", "true")})
	testkit.CheckInvariants(t, w.owner)
}

// A candidate delivered during a purge of its memory holds the memory until the copy of its text is stored. The purge
// sees the copy and removes it too.
func TestPurgeRemovesConcurrentlyDeliveredText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("The gate is open")
	w.softDelete(id)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = $1`, w.now)
	w.now = w.now.Add(31 * day)
	w.purge(500, lifecycle.PurgeExpire, lifecycle.PurgeGraphLinks, lifecycle.PurgeEmbeddings)

	tx, err := w.owner.Begin(ctx) // in place of Stage
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM memories WHERE id = $1 FOR SHARE`, id)
	require.NoError(t, err)
	var group errgroup.Group
	group.Go(func() error {
		return second(w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: lifecycle.PurgeTombstones,
			Limit: 500, At: w.now, Now: w.now}))
	})
	w.awaitWaiter()
	_, err = tx.Exec(ctx,
		`INSERT INTO memory_candidates (tenant, id, batch_id, ordinal, state, memory_id, source_kind, content, category,
			sensitivity, occurred_at, created_at)
		SELECT tenant, gen_random_uuid(), batch_id, 99, 'duplicate', memory_id, source_kind, 'The gate is open',
			category, sensitivity, occurred_at, created_at FROM memory_candidates WHERE memory_id = $1`, id)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, group.Wait())
	w.purge(500, lifecycle.PurgeTombstones)
	require.Zero(t, w.count("memories", "true"))
	require.Equal(t, []int{2, 0}, []int{w.count("memory_candidates", "true"),
		w.count("memory_candidates", "content <> ''")})
}
