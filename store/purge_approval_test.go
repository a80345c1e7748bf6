package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/sweeping"
)

// A window set too short would empty a tenant: the purge asks for approval.
func TestLargePurgeNeedsApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = lifecycle.SweepFree + 10
	w.insertMany(n)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = $1`, w.now)
	w.forgetAll(w.forgets("", schema.Selector{All: true}))
	w.now = w.now.Add(2 * time.Hour)
	require.Zero(t, w.purge(500)[lifecycle.PurgeExpire])
	hasty := schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 3600, OnExpiry: schema.ExpiryPurge, UpdatedBy: "alice", Reason: "a slip"}
	_, err := w.SetRetention(ctx, "t", hasty, nil, nil, w.now)
	require.NoError(t, err)
	begun, err := w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, w.now)
	require.NoError(t, err)
	require.Equal(t, []any{int64(lifecycle.SweepFree + 1), int64(n)}, []any{begun.Held.WouldTake, begun.Held.Stored})
	require.Zero(t, w.purge(500)[lifecycle.PurgeExpire], "it waits for approval")
	preview, err := w.PreviewPurge(ctx, "t", 0.5, w.now)
	require.NoError(t, err)
	require.NotNil(t, preview.Held)
	_, err = w.AdmitSweep(ctx, "t", schema.SweepRetention, n, "alice", "meant so", w.now)
	require.NoError(t, err)
	preview, err = w.PreviewPurge(ctx, "t", 0.5, w.now)
	require.NoError(t, err)
	require.Nil(t, preview.Held, "it is approved")
	require.Equal(t, n, w.purge(500)[lifecycle.PurgeTombstones])
	begun, err = w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, w.now)
	require.NoError(t, err)
	require.Nil(t, begun.Held)

	// A shorter window for history needs approval as well; the window of the documents does not, however old the rows
	// are.
	require.Positive(t, w.count("memory_history", "true"))
	short := schema.RetentionPolicy{Domain: schema.RetainHistory, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 3600, OnExpiry: schema.ExpiryPurge, UpdatedBy: "alice", Reason: "a slip"}
	_, err = w.SetRetention(ctx, "t", short, nil, nil, w.now)
	require.NoError(t, err)
	w.now = w.now.Add(2 * time.Hour)
	begun, err = w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.SweepHistory, begun.Held.Sweep)
	_, err = w.AdmitSweep(ctx, "t", schema.SweepHistory, 7, "alice", "a few", w.now)
	require.NoError(t, err)
	require.Equal(t, 7, w.purge(500, lifecycle.PurgeHistory)[lifecycle.PurgeHistory],
		"the history to remove does not exceed the approval either")
	require.NoError(t, w.ResetRetention(ctx, "t", short, "alice", "corrected", w.now))
	begun, err = w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, w.now.Add(400*day))
	require.NoError(t, err)
	require.Nil(t, begun.Held)
}

// Memories and history need separate approvals.
func TestPurgeOfMemoriesAndHistoryNeedsTwoApprovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = lifecycle.SweepFree + 10
	w.insertMany(n)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = $1`, w.now)
	w.forgetAll(w.forgets("", schema.Selector{All: true}))
	for _, d := range []schema.RetentionDomain{schema.RetainMemory, schema.RetainHistory} {
		_, err := w.SetRetention(ctx, "t",
			schema.RetentionPolicy{Domain: d, Tier: schema.Any, Typology: schema.Any, KeepSeconds: 3600,
				OnExpiry: schema.ExpiryPurge, UpdatedBy: "alice", Reason: "a slip"}, nil, nil, w.now)
		require.NoError(t, err)
	}
	w.now = w.now.Add(2 * time.Hour)
	begun, err := w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, w.now)
	require.NoError(t, err)
	require.NotNil(t, begun.Held)
	holds, err := w.SweepHolds(ctx)
	require.NoError(t, err)
	require.Len(t, holds, 2)
	_, err = w.AdmitSweep(ctx, "t", schema.SweepHistory, 10*n, "alice", "history alone", w.now)
	require.NoError(t, err)
	took := w.purge(500)
	require.Zero(t, took[lifecycle.PurgeExpire])
	require.Positive(t, took[lifecycle.PurgeHistory])
	require.Equal(t, n, w.count("memories", "true"))
}

// History that stays is not counted for the approval.
func TestPurgeApprovalDoesNotCountHistoryThatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insertMany(lifecycle.SweepFree + 10)
	w.exec(`UPDATE memories SET world_id = 'w', world_version = '1', tier = 'session'`)
	_, err := w.SetRetention(ctx, "t",
		schema.RetentionPolicy{Domain: schema.RetainHistory, Tier: schema.Any, Typology: schema.Any, KeepSeconds: 3600,
			OnExpiry: schema.ExpiryPurge, UpdatedBy: "alice", Reason: "meant so"}, nil, nil, w.now)
	require.NoError(t, err)
	w.now = w.now.Add(2 * time.Hour)
	begun, err := w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, w.now)
	require.NoError(t, err)
	require.Nil(t, begun.Held)
	require.Zero(t, w.purge(500)[lifecycle.PurgeHistory])

	// Tombstones of a world stay as well unless the policy removes them. Then their history is removed in the same
	// run, once its window is over.
	begin := func(after time.Duration) sweeping.SweepStart {
		t.Helper()
		begun, err := w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, w.now.Add(after))
		require.NoError(t, err)
		return begun
	}
	w.exec(`UPDATE memories SET deleted_at = $1`, w.now)
	w.exec(`UPDATE corpus_stats SET docs = 0`)
	require.Nil(t, begin(0).Held)
	require.Nil(t, begin(400*day).Held)
	_, err = w.SetRetention(ctx, "t",
		schema.RetentionPolicy{Domain: schema.RetainWorld, Tier: schema.TierSession, Typology: schema.Any,
			KeepSeconds: 10 * 86400, UpdatedBy: "alice", Reason: "meant so",
			OnExpiry: schema.ExpiryPurge}, new(schema.ExpiryPurge), nil, w.now)
	require.NoError(t, err)
	require.Nil(t, begin(9*day).Held)
	require.Equal(t, schema.SweepRetention, begin(10*day).Held.Sweep)
	holds, err := w.SweepHolds(ctx)
	require.NoError(t, err)
	require.Len(t, holds, 2)
	_, err = w.AdmitSweep(ctx, "t", schema.SweepRetention, 1000, "alice", "meant so", w.now)
	require.NoError(t, err)
	w.now = w.now.Add(10 * day)
	require.Positive(t, w.purge(500, lifecycle.PurgeExpire)[lifecycle.PurgeExpire])
	require.Equal(t, schema.SweepHistory, begin(0).Held.Sweep,
		"the history of memories that are being purged goes with them")
	w.exec(`UPDATE memories SET erased_at = $1`, w.now)
	require.Nil(t, begin(0).Held, "an erased memory is kept for the audit")
}

// History that must stay is read once per run: each batch continues where the previous one ended.
func TestPurgeReadsHistoryOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 6 {
		w.fading(fmt.Sprintf("Of a world %d.", i), func(m *schema.MemoryRecord) { m.WorldID = "w" })
	}
	for i := range 5 {
		w.now = w.now.Add(time.Minute)
		w.fading(fmt.Sprintf("Of none %d.", i))
	}
	w.now = w.now.Add(200 * day)
	batch := func(after schema.HistoryCursor) sweeping.PurgeBatch {
		t.Helper()
		b, err := w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: lifecycle.PurgeHistory, After: after,
			Limit: 2, At: w.now, Now: w.now})
		require.NoError(t, err)
		return b
	}
	first := batch(schema.HistoryCursor{})
	require.Equal(t, []any{2, true}, []any{first.Removed, first.More})
	require.Equal(t, w.now.Add(-200*day-3*time.Minute), first.Next.CreatedAt,
		"it ended at the second row that may be removed")
	require.Zero(t, batch(schema.HistoryCursor{CreatedAt: w.now}).Removed, "earlier rows are not read again")
	again := batch(schema.HistoryCursor{}) // repeated delivery: the rest
	require.Equal(t, 2, again.Removed)
	last := batch(first.Next)
	require.Equal(t, []any{1, false}, []any{last.Removed, last.More})
	require.Equal(t, 6, w.count("memory_history", "true"))
	none := batch(last.Next)
	require.Equal(t, []any{0, false, last.Next}, []any{none.Removed, none.More, none.Next})
}
