package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/transfer"
)

// changed returns a line of an export with another content and without history.
func changedLine(t *testing.T, line []byte, content string) []byte {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(line, &fields))
	fields["record"].(map[string]any)["content"] = content
	delete(fields, "history")
	encoded, err := json.Marshal(fields)
	require.NoError(t, err)
	return encoded
}

// Two exports that are joined have lines of the same memory. The first is restored and the second compared with it,
// in one transaction or in two.
func TestLinesOfOneMemoryAreNotMixed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("The first line")
	lines := w.export(w.whole())[1:2]
	require.Contains(t, string(lines[0]), id.String())
	lines = append(lines, lines[0], changedLine(t, lines[0], "Another line"))
	for _, size := range []int{1, 3} {
		to := newWorld(t)
		got := to.restore("t", lines, size)
		require.Equal(t, 1, got.Restored, "in batches of %d", size)
		require.Equal(t, 1, got.Unchanged)
		require.Equal(t, []transfer.RestoreConflict{{ID: id.String(), Reason: transfer.ConflictDifferent}},
			got.Conflicts)
		require.Equal(t, "The first line", to.get(id).Content)
		require.Len(t, to.history(id), len(w.history(id)))
	}
}

// A restore keeps the rule of all writers: one active fact for a claim in windows of time that overlap. The index that
// enforces it compares only windows that are equal.
func TestRestoreKeepsOneActiveFactInAWindow(t *testing.T) {
	t.Parallel()
	window := func(from, until string) string {
		return `{"mode":"timeboxed","start":"` + from + `T00:00:00Z","end":"` + until + `T00:00:00Z"}`
	}
	w := newWorld(t)
	year := w.created(semantic("Bob lives in Rome.", "Bob", "lives_in", "Rome", window("2026-01-01", "2027-01-01")))
	apart := w.created(semantic("Bob lives in Lyon.", "Bob", "lives_in", "Lyon", window("2024-01-01", "2025-01-01")))
	lines := w.export(w.whole())

	to := newWorld(t)
	to.created(semantic("Bob lives in Oslo.", "Bob", "lives_in", "Oslo", window("2026-03-01", "2026-06-01")))
	got := to.restore("t", lines, 100)
	require.Equal(t, []transfer.RestoreConflict{{ID: year.String(), Reason: transfer.ConflictFact}}, got.Conflicts)
	require.Equal(t, 1, got.Restored)
	require.Equal(t, "Bob lives in Lyon.", to.get(apart).Content)
	to.requireExactStats()
}

// A line of history says how a memory ended whose row is gone. It says nothing of a memory that is stored.
func TestHistoryOfADeletedMemoryIsNotThatOfAStoredOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("This was really deleted")
	before := w.export(w.whole())
	w.forgetAll(w.forgets(schema.ForgetForce, named(id)))
	after := w.export(w.whole())

	to := newWorld(t)
	to.restore("t", before, 100)
	want := to.dump("t")
	to.restore("t", after, 100)
	require.Equal(t, want["memory_history"], to.dump("t")["memory_history"])
	require.Equal(t, "This was really deleted", to.get(id).Content)
	require.NotEqual(t, uuid.Nil, id)
}

// An import does not bring back what was deleted for good. A memory that was only deleted softly has a row.
func TestRestoreDoesNotBringBackWhatWasForgottenByForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, purged := w.explicit("This was really deleted"), w.explicit("Its window is over")
	kept := w.explicit("This stays")
	before := w.export(w.whole())
	w.forgetAll(w.forgets(schema.ForgetForce, named(gone)))
	w.forgetAll(w.forgets(schema.ForgetSoft, named(purged)))
	w.now = w.now.AddDate(0, 0, 31)
	w.purge(100)
	require.Zero(t, w.count("memories", "id = ANY($1)", []uuid.UUID{gone, purged}))
	stood := w.snapshot()
	for range 2 {
		got := w.restore(w.p.Tenant, before, 100)
		require.ElementsMatch(t, []transfer.RestoreConflict{{ID: gone.String(), Reason: transfer.ConflictForgotten},
			{ID: purged.String(), Reason: transfer.ConflictForgotten}}, got.Conflicts)
		require.Equal(t, []int{0, 1, 0}, []int{got.Restored, got.Unchanged, got.Events})
	}
	require.Equal(t, stood, w.snapshot())
	require.Equal(t, "This stays", w.get(kept).Content)
	w.requireExactStats()
}

// queries counts the statements of a store.
type queries struct{ atomic.Int64 }

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	q.Add(1)
	return ctx
}

func (*queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// The number of statements of a restore does not depend on the number of facts in it.
func TestRestoreReadsTheClaimsOfAllFactsAtOnce(t *testing.T) {
	t.Parallel()
	statements := func(facts int) int64 {
		w := newWorld(t)
		for i := range facts {
			start := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
			window := fmt.Sprintf(`{"mode":"timeboxed","start":%q,"end":%q}`, start.Format(time.RFC3339),
				start.AddDate(0, 0, 1).Format(time.RFC3339))
			w.created(semantic(fmt.Sprintf("Bob is in room %d.", i), "Bob", "lives_in", fmt.Sprint(i), window))
			w.created(semantic(fmt.Sprintf("Person %d is at home.", i), fmt.Sprint("Person", i), "lives_in", "home", window))
		}
		var traced queries
		s, err := store.OpenTraced(ctx, testkit.DatabaseURL(t), &traced)
		require.NoError(t, err)
		t.Cleanup(s.Close)
		before := traced.Load()
		got, err := s.Restore(ctx, "t", parsed(t, w.export(w.whole())...), w.now)
		require.NoError(t, err)
		require.Equal(t, 2*facts, got.Restored)
		return traced.Load() - before
	}
	require.Equal(t, statements(2), statements(30))
}
