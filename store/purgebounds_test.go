package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// keeps sets how many days a domain is kept.
func (w *world) keeps(d schema.RetentionDomain, days int64) {
	w.t.Helper()
	_, err := w.SetRetention(ctx, w.p.Tenant,
		schema.RetentionPolicy{Domain: d, Tier: schema.Any, Typology: schema.Any, KeepSeconds: days * 86_400,
			OnExpiry: lifecycle.DefaultRetention(d, schema.Any, schema.Any).OnExpiry, UpdatedBy: "ops",
			Reason: "a test"},
		nil, nil, w.now)
	require.NoError(w.t, err)
}

// A batch is removed when nothing needs it: it has no job left, and no proposal of it waits for review.
func TestPurgeLeavesBatchesThatAreNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.explicit("critical: The door code is 4711.")
	_, done := w.stage(say("A note that was read.")...)
	require.NoError(t, w.CompleteJobs(ctx, done, w.now))
	_, open := w.stage(say("A note that is still to be read.")...)
	_, dead := w.stage(say("A note that cannot be read.")...)
	_, err := w.MarkRangeDead(ctx, dead, "extract", "broken", w.now)
	require.NoError(t, err)
	w.keeps(schema.RetainJobsDead, 400)
	waits := w.blockedSource("The door code was changed.",
		idea{fact: fact("The door code is void."), action: schema.ActionDelete, target: target})

	w.now = w.now.Add(100 * day)
	preview, err := w.PreviewPurge(ctx, "t", 1, w.now)
	require.NoError(t, err)
	counts := w.purge(3)
	left := func(r schema.Range) int { return w.count("ingest_batches", "id = $1", r.BatchID) }
	require.Equal(t, []int{0, 1, 1, 1}, []int{left(done), left(open), left(dead), left(waits)})
	require.Equal(t, 2, counts[lifecycle.PurgeIngest], "a batch and its candidate")
	require.EqualValues(t, 0, preview.Would[lifecycle.PurgeIngest], "their jobs are removed earlier in the same run")
	require.Zero(t, w.count("memory_candidates", "batch_id = $1", done.BatchID))

	require.NoError(t, w.CompleteJobs(ctx, open, w.now))
	_, err = w.OpenReview(ctx, "t", waits.BatchID, 14*day, w.now)
	require.NoError(t, err)
	w.now = w.now.Add(20 * day)
	_, err = w.ExpireProposals(ctx, pipeline.ExpireInput{Tenant: "t", BatchID: waits.BatchID, Before: w.now,
		Policy: w.policy, Now: w.now})
	require.NoError(t, err)
	w.purge(3)
	require.Equal(t, []int{0, 1, 0}, []int{left(open), left(dead), left(waits)}, "the review has expired")
	require.Zero(t, w.count("proposals", "true"))

	w.now = w.now.Add(300 * day)
	w.purge(3)
	require.Zero(t, left(dead), "it was not replayed")
}

// blockedSource takes ideas through a write that may not apply them, and completes the job.
func (w *world) blockedSource(content string, ideas ...idea) schema.Range {
	w.t.Helper()
	_, r := w.source(content, ideas...)
	require.Equal(w.t, schema.WriteCounts{Blocked: len(ideas)}, w.write(r))
	require.NoError(w.t, w.CompleteJobs(ctx, r, w.now))
	return r
}

// An idempotency key is kept as long as the data that it prevents from being written twice, even if its own window is
// shorter.
func TestAnIdempotencyKeyOutlivesWhatItProtects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keyed := schema.Candidate{Content: "The key was handed over.", IdempotencyKey: "k1"}
	in := w.input(keyed)
	ack, err := w.Stage(ctx, in)
	require.NoError(t, err)
	require.NoError(t, w.CompleteJobs(ctx, w.rangeOf(ack), w.now))
	w.keeps(schema.RetainOperations, 1)
	w.softDelete(uuid.MustParse(ack.MemoryIDs[0]))

	w.now = w.now.Add(89 * day)
	w.purge(500)
	require.Equal(t, 1, w.count("ingest_batches", "true"), "kept for 90 days")
	again, err := w.Stage(ctx, in)
	require.NoError(t, err)
	require.Equal(t, ack, again, "the request is known, although the window of its key is a day")
	other, _ := w.stage(keyed)
	require.Equal(t, ack.MemoryIDs, other.MemoryIDs, "the candidate is known too: a deleted memory is not stored again")
	require.NoError(t, w.CompleteJobs(ctx, w.rangeOf(other), w.now))

	w.now = w.now.Add(2 * day)
	w.purge(500)
	later, _ := w.stage(keyed)
	require.NotEqual(t, ack.MemoryIDs, later.MemoryIDs, "after 90 days it is a new request")
}

// The source kind of a memory is known after its candidate was removed.
func TestSourceKindOutlivesTheCandidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stage := func(content string, kind schema.SourceKind) uuid.UUID {
		ack, r := w.stage(schema.Candidate{Content: content, SourceKind: kind})
		require.NoError(t, w.CompleteJobs(ctx, r, w.now))
		return uuid.MustParse(ack.MemoryIDs[0])
	}
	printed, said := stage("The printer is out of paper.", schema.SourceToolOutput), stage("We are out of paper.",
		schema.SourceUserInput)
	w.now = w.now.Add(100 * day)
	w.purge(500)
	require.Zero(t, w.count("memory_candidates", "true"))
	require.Equal(t, []uuid.UUID{printed},
		w.chosen(w.selects(w.forgets(schema.ForgetSoft, schema.Selector{SourceKind: schema.SourceToolOutput}))))
	require.Equal(t, []uuid.UUID{said},
		w.chosen(w.selects(w.forgets(schema.ForgetSoft, schema.Selector{SourceKind: schema.SourceUserInput}))))
}

// Forget runs, events, lost artifacts and earlier versions are removed when their windows are over, and not before.
func TestPurgeOfUnboundedTables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := w.memory("Something to forget.")
	kept, world := w.explicit("critical: It stays."), w.fading("It is of a world.", func(m *schema.MemoryRecord) {
		m.WorldID, m.Lifecycle.Pinned, m.Importance = "w", true, 1
	})
	w.forgetAll(w.forgets(schema.ForgetForce, named(gone)))
	waiting := w.selects(w.forgets(schema.ForgetErase, named(kept)))
	tags := []string{"again"}
	require.Equal(t, schema.PatchUpdated, w.modifyOne(schema.Patch{ID: kept.String(), Tags: &tags}).Status)
	require.Equal(t, schema.PatchUpdated, w.modifyOne(schema.Patch{ID: world.String(), Tags: &tags}).Status)
	_, err := w.Stage(ctx, w.input(schema.Candidate{Content: "An event.", SourceKind: schema.SourceOutcome}))
	require.NoError(t, err)
	require.Equal(t, 2, w.count("events", "true"))

	w.now = w.now.Add(179 * day)
	w.purge(2)
	require.Equal(t, []int{2, 2, 2},
		[]int{w.count("events", "true"), w.count("forget_runs", "true"), w.count("memory_versions", "true")})
	w.now = w.now.Add(10 * day)
	counts := w.purge(1)
	require.Equal(t, 1, counts[lifecycle.PurgeEvents], "the event of a memory that still exists stays")
	require.Zero(t, w.count("forget_runs", "true"), "including the run that was not confirmed")
	require.Zero(t, w.count("forget_items", "true"))
	require.Equal(t, 1, w.count("memory_versions", "memory_id = $1", world), "the versions of a world's memory stay")
	require.Zero(t, w.count("memory_versions", "memory_id = $1", kept))
	_, err = w.ConfirmForget(ctx, "t", uuid.MustParse(waiting.RunID), schema.ForgetConfirmation{Token: "x"}, w.now)
	require.ErrorIs(t, err, pg.ErrNotFound)

	_, err = w.owner.Exec(ctx, `DELETE FROM retention_policy_changes`)
	require.NoError(t, err) // there are no partitions
	w.keeps(schema.RetainEvents, 7)
	_, err = w.owner.Exec(ctx, `DELETE FROM retention_policy_changes`)
	require.ErrorContains(t, err, "append-only")
}
