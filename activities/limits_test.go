package activities_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

// Tests that change the time limit of an attempt are not parallel, because the limit is global.

func TestAnAttemptWithoutProgressIsCancelled(t *testing.T) {
	defer activities.StalledAfter(400 * time.Millisecond)()
	w := newWorld(t)
	_, r := w.stage(2)
	e := &extractor{fn: func(ctx context.Context, _ inference.Source) error { <-ctx.Done(); return ctx.Err() }}
	before, began := beats.Load(), time.Now()
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e,
		Concurrency: 2}).ExtractFacts, r)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeStalled, app.Type())
	require.False(t, app.NonRetryable(), "another attempt may do better")
	require.Less(t, time.Since(began), 5*time.Second)
	require.LessOrEqual(t, beats.Load()-before, int32(9), "heartbeats have stopped")
	require.Zero(t, w.count("jobs", "attempts > 1 OR last_error <> ''"), "no candidate is counted as failed")
}

func TestSlowProgressIsProgress(t *testing.T) {
	defer activities.StalledAfter(600 * time.Millisecond)()
	w := newWorld(t)
	_, r := w.stage(5)
	e := &extractor{fn: func(context.Context, inference.Source) error {
		time.Sleep(300 * time.Millisecond)
		return nil
	}}
	out, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e}).ExtractFacts, r)
	require.NoError(t, err)
	require.Equal(t, 5, out.Candidates)
}

func TestAttemptReturnsPartialResults(t *testing.T) {
	defer activities.PartialAfter(0)()
	w := newWorld(t)
	_, r := w.stage(3)
	e := &extractor{}
	extraction := &activities.Extraction{Store: w.store, Extractor: e}
	for i := 1; i <= 3; i++ {
		out, err := run[schema.ExtractCounts](w, extraction.ExtractFacts, r)
		require.NoError(t, err)
		require.Equal(t, i, out.Candidates, "the totals of the range")
		require.Equal(t, i < 3, out.More)
	}
	require.EqualValues(t, 3, e.calls.Load(), "no model call is repeated")
	decision := &activities.Decision{Store: w.store, Decider: &decider{}, Embedder: rules.New().Embedder}
	for i := 1; i <= 3; i++ {
		out, err := run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r})
		require.NoError(t, err)
		require.Equal(t, i, out.Candidates)
		require.Equal(t, i < 3, out.More)
	}
	require.Equal(t, 3, w.count("proposals", "true"))
}

// After a search that takes longer than its limit, fewer candidates are searched at once.
func TestSearchShrinksAfterATimeout(t *testing.T) {
	w := newWorld(t)
	r := w.extracted(16)
	// Looking up each word of a fact now takes a hundredth of a second.
	w.exec(`CREATE POLICY slow ON lexeme_stats AS RESTRICTIVE FOR SELECT USING (pg_sleep(0.01)::text IS NOT NULL)`)
	var timeouts atomic.Int32
	limited := func(limit time.Duration) *store.Store {
		s, err := store.Open(ctx, pg.Config{URL: w.url, StatementTimeout: limit, TimedOut: func(pg.Class, bool) {
			timeouts.Add(1)
		}})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	decision := &activities.Decision{Store: limited(300 * time.Millisecond), Decider: &decider{},
		Embedder: rules.New().Embedder}
	out, err := run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Equal(t, 16, out.Candidates)
	require.Positive(t, timeouts.Load(), "the whole group took too long")

	// An attempt whose time is over has still decided something; otherwise attempts would follow forever.
	w.exec(`UPDATE memory_candidates SET decided_at = NULL`)
	later := activities.PartialAfter(time.Nanosecond)
	out, err = run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r})
	later()
	require.NoError(t, err)
	require.True(t, out.More)
	require.Positive(t, w.count("memory_candidates", "decided_at IS NOT NULL"))
	w.exec(`UPDATE memory_candidates SET decided_at = now()`)
	require.Equal(t, 16, w.count("memory_candidates", "decided_at IS NOT NULL"))

	// A search that is too slow for a single candidate fails with its own error type, and does not count as an
	// outage.
	w.exec(`UPDATE memory_candidates SET decided_at = NULL`)
	decision.Store = limited(20 * time.Millisecond)
	_, err = run[schema.DecideCounts](w, decision.DecideFacts, activities.DecideRequest{Range: r})
	var app *temporal.ApplicationError
	require.True(t, errors.As(err, &app), err)
	require.Equal(t, api.ErrTypeStatementTimeout, app.Type())
	require.False(t, app.NonRetryable())
	require.Zero(t, w.count("jobs", "attempts > 1 OR last_error <> ''"), "no candidate is counted as failed")
}

// A transaction that takes longer than its limit is repeated for half of the range, and again for half of that.
func TestTransactionIsHalvedAfterATimeout(t *testing.T) {
	w := newWorld(t)
	const n = 16
	r := w.extracted(n)
	_, err := run[schema.DecideCounts](w, (&activities.Decision{Store: w.store, Decider: &decider{},
		Embedder: rules.New().Embedder}).DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	added := w.count("proposals", "action = 'add'")
	require.Positive(t, added)
	var timeouts atomic.Int32
	limited, err := store.Open(ctx, pg.Config{URL: w.url, StatementTimeout: 300 * time.Millisecond,
		TimedOut: func(pg.Class, bool) { timeouts.Add(1) }})
	require.NoError(t, err)
	t.Cleanup(limited.Close)

	// Locking each row now takes a while, so that all of them take too long for one statement.
	w.exec(`CREATE POLICY slow ON proposals AS RESTRICTIVE FOR UPDATE USING (pg_sleep(0.03)::text IS NOT NULL)`)
	counts, err := run[schema.WriteCounts](w, (&activities.Writing{Store: limited,
		Embedder: rules.New().Embedder}).WriteProposals,
		activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Positive(t, timeouts.Swap(0), "the whole range took too long")
	require.Equal(t, added, counts.Added+counts.Stale, "the sum over all halves; a write makes later proposals stale")
	require.Zero(t, w.count("proposals", "state = 'proposed'"))

	w.exec(`UPDATE memory_candidates
		SET extraction = jsonb_set(extraction, '{triples}', jsonb_build_array(jsonb_build_object(
		'source', 'Ana' || ordinal, 'relationship', 'knows', 'target', 'Bo' || ordinal, 'confidence', 1)))`)
	w.exec(`CREATE POLICY slow ON memories AS RESTRICTIVE FOR UPDATE USING (pg_sleep(0.02)::text IS NOT NULL)`)
	linked, err := run[schema.LinkCounts](w, (&activities.Linking{Store: limited}).LinkEntities, r)
	require.NoError(t, err)
	require.Positive(t, timeouts.Load(), "the whole range took too long")
	require.Equal(t, 2*n, linked.Entities, "the sum over all halves")
}
