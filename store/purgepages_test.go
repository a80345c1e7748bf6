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

// A purge reads one page at a time, however many rows stay: of a world, still needed, or of other classes.
func TestPurgeReadsAPageAtATime(t *testing.T) {
	t.Parallel()
	const stays, limit = 250, 5
	filler := func(sql string, args ...any) func(w *world) {
		return func(w *world) { w.t.Helper(); w.exec(sql, append([]any{w.now, stays}, args...)...) }
	}
	ofWorld := func(w *world) {
		w.fading("It is of a world.", func(m *schema.MemoryRecord) {
			m.WorldID, m.Lifecycle.Pinned, m.Importance = "w", true, 1
		})
	}
	for step, fill := range map[schema.PurgeStep]func(w *world){
		lifecycle.PurgeHistory: func(w *world) {
			ofWorld(w)
			filler(`INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, created_at, action)
				SELECT 't', gen_random_uuid(), m.id, 'none', 'x', 'a test', $1::timestamptz + n * interval '1 second',
				'keep'
				FROM memories m, generate_series(1, $2::integer) n`)(w)
			w.now = w.now.Add(time.Hour)
			w.memory("It is of none.")
		},
		lifecycle.PurgeVersions: func(w *world) {
			ofWorld(w)
			filler(`INSERT INTO memory_versions (tenant, memory_id, version, since, until, record)
				SELECT 't', m.id, 1000 + n, $1::timestamptz, $1::timestamptz + (n / 7) * interval '1 second', '{}'
				FROM memories m, generate_series(1, $2::integer) n`)(w)
			w.now = w.now.Add(time.Hour)
			id := w.memory("It is of none.")
			w.now = w.now.Add(time.Hour)
			tags := []string{"again"}
			require.Equal(w.t, schema.PatchUpdated, w.modifyOne(schema.Patch{ID: id.String(), Tags: &tags}).Status)
		},
		lifecycle.PurgeOperations: func(w *world) {
			_, r := w.stage(say("It is still to be read.")...)
			w.exec(`DELETE FROM operations`)
			filler(`INSERT INTO operations (tenant, id, kind, result, created_at)
				SELECT 't', 'op' || n, 'ingest', jsonb_build_object('batch_id', $3::text),
				$1::timestamptz + (n / 7) * interval '1 second'
				FROM generate_series(1, $2::integer) n`, r.BatchID.String())(w)
			w.exec(`INSERT INTO operations (tenant, id, kind, result, created_at)
				VALUES ('t', 'last', 'put', '{}', $1::timestamptz + interval '1 hour')`, w.now)
		},
		lifecycle.PurgeArtifacts: func(w *world) {
			w.memory("It has many pages.")
			filler(`WITH made AS (INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id,
				created_at)
					SELECT 't', sha256(('page' || n)::bytea), 'text/plain', length('page' || n), ('page' || n)::bytea,
					'a', $1::timestamptz
					FROM generate_series(1, $2::integer) n RETURNING sha256)
				INSERT INTO memory_artifacts (tenant, memory_id, sha256) SELECT 't', m.id, sha256
					FROM made, memories m`)(w)
			w.exec(`INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
				VALUES ('t', sha256('lost'), 'text/plain', 4, 'lost', 'a', $1::timestamptz + interval '1 hour')`, w.now)
		},
		lifecycle.PurgeExpire: func(w *world) {
			var texts []string
			for i := range stays {
				texts = append(texts, fmt.Sprintf("Note number %d was taken.", i))
			}
			w.stage(say(texts...)...)
			_, err := w.SetRetention(ctx, "t",
				schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.TierSession,
					Typology:    schema.TypologyEpisodic,
					KeepSeconds: 3000 * 86_400, OnExpiry: schema.ExpiryPurge, UpdatedBy: "ops", Reason: "a test"}, nil,
				nil,
				w.now)
			require.NoError(w.t, err)
			other := w.explicit("critical: It is of another class.")
			w.exec(`UPDATE memories
				SET deleted_at = $1::timestamptz + CASE WHEN id = $2 THEN interval '1 hour' ELSE '0' END`, w.now, other)
		},
	} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			fill(w)
			w.now = w.now.Add(1000 * day)
			removed, batches := 0, 0
			var after schema.HistoryCursor
			for more := true; more; batches++ {
				b, err := w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Step: step, After: after,
					Limit: limit, At: w.now, Now: w.now})
				require.NoError(t, err)
				require.Less(t, batches, 10)
				if batches < 2 {
					require.Equal(t, []any{0, true}, []any{b.Removed, b.More}, "batch %d", batches)
				}
				removed, after, more = removed+b.Removed, b.Next, b.More
			}
			require.Equal(t, 3, batches, "twenty rows are read for each row that may be removed")
			require.Equal(t, 1, removed)
		})
	}
}
