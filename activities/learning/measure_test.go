package learning_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// recorded is the number of sessions that are recorded; the others are copies of their rows.
const recorded = 50

// TestEpisodesPerSecond measures the throughput and the memory use for MNEME_MEASURE_EPISODES episodes of ten
// problems. Without it, 100 episodes test that a second run has nothing to do.
func TestEpisodesPerSecond(t *testing.T) {
	w := newWorld(t)
	n, err := strconv.Atoi(os.Getenv("MNEME_MEASURE_EPISODES"))
	if err != nil {
		n = 100
	}
	for i := range min(n, recorded) {
		s := testkit.NewStory(ana, i).Says("Build the app please").In("linux", "/w", nil)
		word := words[i%len(words)]
		file := "/w/run-" + strconv.Itoa(i) + "/manifest"
		s.Does("make app", "error: the "+word+" stage lost its manifest "+file).Does("restore "+file, "").
			Does("make app", "")
		s.Ends(schema.OutcomeSuccess).Record(t, w.store)
	}
	if n > recorded {
		multiply(t, testkit.Owner(t, w.url), n)
	}
	require.Equal(t, n, w.count("memories", "type = 'episodic'"))

	peak := watchHeap(t)
	began := time.Now()
	got := w.learn(ana, schema.TypeCompetence)
	first := time.Since(began)
	heap := peak()
	require.Equal(t, n, got.Read)
	require.Equal(t, min(n, len(words)), got.Added, "%+v", got)
	began = time.Now()
	require.Zero(t, w.learn(ana, schema.TypeCompetence).Read)
	t.Logf("%d episodes in %s (%.0f/s), %d added; second run %s; heap at most %d MB", n, first,
		float64(n)/first.Seconds(), got.Added, time.Since(began), heap>>20)
}

var words = []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet"}

// watchHeap returns a function that stops watching and returns the largest heap size in use.
func watchHeap(t *testing.T) (stop func() uint64) {
	t.Helper()
	runtime.GC()
	var most atomic.Uint64
	sample := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most.Store(max(most.Load(), m.HeapInuse))
	}
	done, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				sample()
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-left
		sample()
		return most.Load()
	}
}

// multiply copies the recorded sessions and their events until there are n episodes.
func multiply(t *testing.T, db *pgx.Conn, n int) {
	t.Helper()
	require.Zero(t, n%recorded)
	other := func(column string) string { return "md5(" + column + "::text || '-' || i)::uuid" }
	next := func(column string) string { return column + " || '-' || i" }
	varied := "replace(t.payload::text, '/w/run-', '/w/run-' || i || '-')::jsonb"
	later := func(column string) string { return column + " + i * interval '1 millisecond'" }
	for _, table := range []struct {
		name    string
		differs map[string]string
	}{
		{"memories", map[string]string{"id": other("t.id"), "payload": varied,
			"agent_session_id": next("t.agent_session_id"),
			"content_hash":     "sha256(t.content_hash || i::text::bytea)",
			"recorded_at":      later("t.recorded_at"), "created_at": later("t.created_at")}},
		{"events", map[string]string{"id": next("t.id"), "payload": varied, "stream": next("t.stream"),
			"session": next("t.session")}},
		{"sessions", map[string]string{"id": other("t.id"), "workflow_id": next("t.workflow_id"),
			"session": next("t.session"), "stream": next("t.stream")}},
		{"session_episodes", map[string]string{"session_id": other("t.session_id"), "memory_id": other("t.memory_id")}},
	} {
		columns := testkit.Strings(t, db, `SELECT column_name FROM information_schema.columns
			WHERE table_schema = current_schema() AND is_generated = 'NEVER' AND table_name = '`+table.name+`'`)
		values := make([]string, len(columns))
		for i, c := range columns {
			if values[i] = table.differs[c]; values[i] == "" {
				values[i] = "t." + c
			}
		}
		tx, err := db.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "SET LOCAL session_replication_role = replica")
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s t, generate_series(1, %d) i",
			table.name, strings.Join(columns, ", "), strings.Join(values, ", "), table.name, n/recorded-1))
		require.NoError(t, err, table.name)
		require.NoError(t, tx.Commit(t.Context()))
		_, err = db.Exec(t.Context(), "ANALYZE "+table.name)
		require.NoError(t, err)
	}
}
