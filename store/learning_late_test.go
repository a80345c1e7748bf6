package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/learning"
)

// indexed runs the index of a scope as a run of learning does, and returns how many episodes were new.
func (w *world) indexed(sc learning.Scope) int {
	w.t.Helper()
	mark, err := w.Learning.Watermark(ctx, sc, learning.Indexing)
	require.NoError(w.t, err)
	page, err := w.Learning.IndexPage(ctx, sc, learning.Position{At: mark.At.Add(-learning.Overlap)}, w.now)
	require.NoError(w.t, err)
	return page.Read
}

// due reports whether a tenant has scopes with something to learn from.
func (w *world) due() bool {
	w.t.Helper()
	page, err := w.Learning.Scopes(ctx, learning.Scope{Tenant: w.p.Tenant}, true, 1, 10)
	require.NoError(w.t, err)
	return len(page.Due) > 0
}

func numbered(n int) schema.MemoryRecord {
	m := episodeRecord()
	m.Payload = bytes.ReplaceAll(m.Payload, []byte("Build"), fmt.Appendf(nil, "Build %d", n))
	return m
}

// An episode from a worker whose clock is behind is read, although a run has read later ones.
func TestAnEpisodeFromAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
	w.putAll(numbered(1))
	require.Equal(t, 1, w.indexed(sc))
	w.now = w.now.Add(-2 * learning.Overlap)
	w.putAll(numbered(2))
	require.True(t, w.due())
	require.Equal(t, 1, w.pending(sc))
	require.Equal(t, 1, w.indexed(sc))
	require.Zero(t, w.pending(sc))
	require.Zero(t, w.indexed(sc))
}

// An episode whose transaction ends after a run has read later ones makes its scope due, also if no other one follows.
func TestAnEpisodeThatIsCommittedLate(t *testing.T) {
	t.Parallel()
	for _, later := range []int{1, 150} { // episodes between it and the watermark
		t.Run(strconv.Itoa(later), func(t *testing.T) {
			t.Parallel()
			committedLate(t, later)
		})
	}
}

func committedLate(t *testing.T, later int) {
	w := newWorld(t)
	sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
	w.putAll(numbered(1))
	require.Equal(t, 1, w.indexed(sc))
	slow, err := w.owner.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = slow.Rollback(ctx) }()
	late := uuid.New()
	_, err = slow.Exec(ctx, `
		CREATE TEMP TABLE late ON COMMIT DROP AS SELECT * FROM memories;
		ALTER TABLE late DROP COLUMN live`)
	require.NoError(t, err)
	var columns string
	require.NoError(t, slow.QueryRow(ctx, `
		SELECT string_agg(quote_ident(a.attname), ',')
		FROM pg_attribute a
		JOIN pg_attribute m ON m.attrelid = 'memories'::regclass AND m.attname = a.attname AND m.attgenerated = ''
		WHERE a.attrelid = 'late'::regclass AND a.attnum > 0 AND NOT a.attisdropped`).Scan(&columns))
	_, err = slow.Exec(ctx, `UPDATE late SET id = $1, content_hash = sha256('late'),
		recorded_at = recorded_at + interval '1 minute'`, late)
	require.NoError(t, err)
	_, err = slow.Exec(ctx, `INSERT INTO memories (`+columns+`) SELECT `+columns+` FROM late`)
	require.NoError(t, err)

	w.now = w.now.Add(2 * time.Minute)
	var records []schema.MemoryRecord
	for i := range later {
		records = append(records, numbered(2+i))
	}
	for part := range slices.Chunk(records, 50) {
		w.putAll(part...)
	}
	require.Equal(t, later, w.indexed(sc))
	require.False(t, w.due())
	require.NoError(t, slow.Commit(ctx))
	require.True(t, w.due())
	require.Equal(t, 1, w.pending(sc))
	require.Equal(t, 1, w.indexed(sc))
	require.False(t, w.due())
	require.Zero(t, w.pending(sc))
}

// An episode that has grown since it was read is read again, also if the clock of the worker that wrote it is behind.
func TestAnEpisodeThatGrowsAfterItWasRead(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]time.Duration{"later": time.Hour, "clock behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
			grows := numbered(1)
			w.putAll(grows)
			w.now = w.now.Add(2 * time.Hour)
			w.putAll(numbered(2))
			require.Equal(t, 2, w.indexed(sc))
			require.Zero(t, w.indexed(sc))

			w.now = w.now.Add(later)
			grows.Payload = bytes.Replace(grows.Payload, []byte(`}]`),
				[]byte(`}, {"t":"2026-01-02T03:05:05Z","event_kind":"observation","ref":"f","summary":"more"}]`), 1)
			require.Equal(t, schema.PutUpdated, w.putAll(grows)[0].Status)
			require.Equal(t, 1, w.pending(sc))
			require.True(t, w.due())
			require.Equal(t, 1, w.indexed(sc))
			require.Zero(t, w.pending(sc))
			require.Zero(t, w.indexed(sc))

			w.exec(`UPDATE memories SET salience = 0.4, version = version + 1 WHERE id = $1`, grows.ID)
			require.Zero(t, w.indexed(sc), "it has not grown")
		})
	}
}

// An attempt that had failed when its episode was read has succeeded when the episode has grown, and one that was about
// a task is about a problem. Both are new evidence.
func TestTheAttemptsOfAGrownEpisode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
	story := func(calls ...string) []byte {
		payload := schema.EpisodicPayload{Kind: schema.TypeEpisodic, Outcome: schema.OutcomeFailure}
		add := func(kind, ref, text string) {
			payload.Timeline = append(payload.Timeline, schema.TimelineEvent{EventKind: kind, Ref: ref, Summary: text,
				T: time.Date(2026, 1, 2, 3, len(payload.Timeline), 0, 0, time.UTC)})
		}
		add(ledger.KindUserInjected, "e", "user: Build the app")
		for i, c := range calls {
			cmd, problem, _ := strings.Cut(c, ": ")
			ref := fmt.Sprint("r", i)
			payload.ToolGraph = append(payload.ToolGraph, schema.ToolNode{ID: fmt.Sprint("c", i), Tool: "shell",
				Args: json.RawMessage(fmt.Sprintf(`{"cmd":%q}`, cmd)), ResultRef: ref})
			if problem == "" {
				add(ledger.KindToolReturned, ref, "shell: ok")
			} else {
				add(ledger.KindToolFailed, ref, "shell failed: "+problem)
			}
		}
		encoded, err := json.Marshal(payload)
		require.NoError(t, err)
		return encoded
	}
	const broken = "make: ld: cache mismatch in /home/a/.cache"
	attempts := func() []string {
		return testkit.Strings(t, w.owner, `
			SELECT g.kind || ' ' || a.ok || ' ' || g.attempts
			FROM learning_attempts a JOIN learning_groups g ON g.tenant = a.tenant AND g.id = a.group_id
			ORDER BY 1`)
	}
	grow := func(m *schema.MemoryRecord, calls ...string) {
		m.Payload = story(calls...)
		require.Equal(t, schema.PutUpdated, w.putAll(*m)[0].Status)
		require.Equal(t, 1, w.indexed(sc))
		require.Zero(t, w.indexed(sc))
	}
	solved := episodeRecord()
	solved.Payload = story(broken, "rm -rf /home/a/.cache")
	w.putAll(solved)
	require.Equal(t, 1, w.indexed(sc))
	require.Equal(t, []string{"error false 1"}, attempts())
	w.now = w.now.Add(time.Hour)
	grow(&solved, broken, "rm -rf /home/a/.cache", "make")
	require.Equal(t, []string{"error true 2"}, attempts())

	task := episodeRecord()
	task.Payload = story("ls")
	w.putAll(task)
	require.Equal(t, 1, w.indexed(sc))
	require.Equal(t, []string{"error true 2", "intent false 1"}, attempts())
	w.now = w.now.Add(time.Hour)
	grow(&task, "ls", broken, "make clean")
	require.Equal(t, []string{"error false 3", "error true 3", "intent false 1"}, attempts())
	w.now = w.now.Add(time.Hour)
	grow(&task, "ls", broken, "make clean", "ls -l")
	require.Equal(t, []string{"error false 3", "error true 3", "intent false 1"}, attempts(), "nothing new")
}
