package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestWritingARangeAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.memory("the first thing"), w.memory("the second thing")
	_, r := w.source("much was said",
		idea{fact: fact("an addition"), action: schema.ActionAdd, vector: embed(t, "an addition")},
		idea{fact: fact("the first thing, corrected"), action: schema.ActionUpdate, target: one},
		idea{fact: fact("other words"), action: schema.ActionDelete, target: two})
	require.Equal(t, schema.WriteCounts{Added: 1, Updated: 1, Deleted: 1}, w.write(r))
	before := w.snapshot()
	require.Equal(t, schema.WriteCounts{}, w.write(r))
	require.Equal(t, before, w.snapshot())
}

func TestConcurrentWritesApplyEachProposalOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("the first thing")
	_, r := w.source("much was said", idea{fact: fact("an addition"), action: schema.ActionAdd},
		idea{fact: fact("a correction"), action: schema.ActionUpdate, target: target})
	counts := make([]schema.WriteCounts, 8)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range counts {
		wg.Go(func() { counts[i], errs[i] = w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now}) })
	}
	wg.Wait()
	var sum schema.WriteCounts
	for i := range counts {
		require.NoError(t, errs[i])
		sum = sum.Add(counts[i])
	}
	require.Equal(t, schema.WriteCounts{Added: 1, Updated: 1}, sum)
	require.Equal(t, 1, w.count("memory_history", "event = 'modified'"))
}

func TestConcurrentUpdatesOfOneTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("the train leaves at nine")
	var ranges []schema.Range
	for i := range 6 {
		_, r := w.source(fmt.Sprintf("timetable %d", i),
			idea{fact: fact(fmt.Sprintf("the train leaves at %d", i)), action: schema.ActionUpdate, target: target})
		ranges = append(ranges, r)
	}
	counts := make([]schema.WriteCounts, len(ranges))
	errs := make([]error, len(ranges))
	var wg sync.WaitGroup
	for i, r := range ranges {
		wg.Go(func() { counts[i], errs[i] = w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now}) })
	}
	wg.Wait()
	updated, stale := 0, 0
	for i := range counts {
		require.NoError(t, errs[i])
		updated, stale = updated+counts[i].Updated, stale+counts[i].Stale
	}
	require.Equal(t, 1, updated)
	require.Equal(t, 5, stale)
	require.Equal(t, 2, w.get(target).Version)
}

func TestConcurrentFunctionalClaimsGiveOneFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ranges []schema.Range
	for i := range 8 {
		_, r := w.source(fmt.Sprintf("talk %d", i),
			idea{fact: lives(fmt.Sprintf("Alice lives in town %d", i), "Alice", fmt.Sprint("town ", i)),
				action: schema.ActionAdd})
		ranges = append(ranges, r)
	}
	// Slow inserts make writers that do not wait for each other overlap.
	w.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END'`)
	w.exec(`CREATE TRIGGER slow BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION slow()`)
	counts := make([]schema.WriteCounts, len(ranges))
	errs := make([]error, len(ranges))
	var wg sync.WaitGroup
	for i, r := range ranges {
		wg.Go(func() { counts[i], errs[i] = w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now}) })
	}
	wg.Wait()
	var sum schema.WriteCounts
	for i := range counts {
		require.NoError(t, errs[i], "writers of one scope wait for each other")
		sum = sum.Add(counts[i])
	}
	require.Equal(t, schema.WriteCounts{Added: 1, Blocked: 7}, sum)
}

// Operations outside the pipeline, such as Forget, do not take the scope's lock.
func TestWriteWaitsForAConcurrentChangeOfItsTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := w.memory("the train leaves at nine")
	_, r := w.source("a new timetable",
		idea{fact: fact("the train leaves at ten"), action: schema.ActionAdd, offered: []uuid.UUID{known}})
	tx, err := w.owner.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1`, known)
	require.NoError(t, err)
	var counts schema.WriteCounts
	done := make(chan error, 1)
	go func() {
		var err error
		counts, err = w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now})
		done <- err
	}()
	select {
	case <-done:
		require.Fail(t, "it did not wait")
	case <-time.After(300 * time.Millisecond):
	}
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-done)
	require.Equal(t, schema.WriteCounts{Stale: 1}, counts)
}

func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.memory("the first thing"), w.memory("the second thing")
	f := lives("XyzzyCanary lives in Paris", "XyzzyCanary", "Paris")
	_, r := w.source("much was said", idea{fact: f, action: schema.ActionAdd, vector: embed(t, "x")},
		idea{fact: fact("the first thing, XyzzyCanary"), action: schema.ActionUpdate, target: one},
		idea{fact: fact("other words"), action: schema.ActionDelete, target: two})
	for _, table := range []string{"memories", "memory_links", "memory_embeddings", "entity_claims", "memory_history",
		"index_outbox", "proposals", "lexeme_stats", "corpus_stats"} {
		before := w.snapshot()
		w.breaking(table, func() {
			_, err := w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now})
			require.Error(t, err, table)
			require.NotContains(t, err.Error(), "XyzzyCanary", "errors never quote content")
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	require.Equal(t, schema.WriteCounts{Added: 1, Updated: 1, Deleted: 1}, w.write(r))
}

func TestWriteStaysInItsRangeAndTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("one", "two")...)
	for i, id := range ack.MemoryIDs {
		w.decided(r, uuid.MustParse(id), idea{fact: fact(fmt.Sprintf("fact number %d", i)), action: schema.ActionAdd})
	}
	require.Equal(t, schema.WriteCounts{Added: 1},
		w.write(schema.Range{Tenant: "t", BatchID: r.BatchID, From: 1, To: 2}))
	_, err := w.Write(ctx, pipeline.WriteInput{Range: schema.Range{Tenant: "t2", BatchID: r.BatchID, From: 0, To: 2},
		MaxRounds: 3, Now: w.now})
	require.ErrorIs(t, err, pg.ErrNotFound)
	require.Equal(t, schema.WriteCounts{Added: 1}, w.write(r))
}
