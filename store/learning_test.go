package store_test

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/tidying"
)

// A page of evidence reads about a page of rows, whether the tables have statistics or not. The statements run as the
// worker's role, because row-level security limits the conditions that an index can serve.
func TestEvidenceIsReadByIndex(t *testing.T) {
	t.Parallel()
	rows := 20_000
	if n, err := strconv.Atoi(os.Getenv("MNEME_TEST_EPISODES")); err == nil {
		rows = n
	}
	for _, analyzed := range []bool{false, true} {
		t.Run("analyzed="+strconv.FormatBool(analyzed), func(t *testing.T) {
			w := newUnplannedWorld(t)
			story := episodeRecord()
			w.putAll(story)
			_, err := w.owner.Exec(ctx, `
				INSERT INTO memories (tenant, id, agent_id, project, scope, visibility, type, category, tier, typology,
				content,
					normalized_content, content_hash, payload, confidence, importance, salience, salience_at,
					decay_curve, half_life,
					min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at, created_at,
					updated_at,
					created_by)
				SELECT tenant, gen_random_uuid(), agent_id, project, scope, visibility, type, category, tier, typology,
				content,
					normalized_content, sha256(n::text::bytea), payload, confidence, importance, salience, salience_at,
					decay_curve,
					half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at,
					created_at + n * interval '1 second', updated_at, created_by
				FROM memories, generate_series(1, $1) n`, rows)
			require.NoError(t, err)
			if analyzed {
				_, err = w.owner.Exec(ctx, `ANALYZE`)
				require.NoError(t, err)
			}
			sc := learning.Scope{Tenant: w.p.Tenant, Agent: w.p.Agent}
			listen := &tracer{}
			traced, err := store.OpenTraced(ctx, w.url, listen)
			require.NoError(t, err)
			t.Cleanup(traced.Close)
			same := tidying.Scope{Tenant: w.p.Tenant, Agent: w.p.Agent}
			middle := w.now.Add(time.Duration(rows/2) * time.Second)
			require.NoError(t, commit.Write(ctx, w.DB, w.p.Tenant, w.now, func(c *commit.Change) error {
				return learning.MoveWatermark(ctx, c, sc, learning.Indexing, learning.Position{At: middle}, "")
			}))
			page, err := w.Learning.IndexPage(ctx, sc, learning.Position{At: middle}, time.Now())
			require.NoError(t, err)
			require.Equal(t, learning.EvidencePage, page.Read)
			for name, c := range map[string]struct {
				run  func() error
				most float64
			}{
				"enough evidence": {func() error {
					pending, err := traced.Learning.Pending(ctx, sc, due.DefaultRule(), time.Now())
					require.Equal(t, 1, pending.New, "all are of one session")
					return err
				}, 1_000},
				"page of evidence, again": {func() error {
					again, err := traced.Learning.IndexPage(ctx, sc, learning.Position{At: middle}, time.Now())
					require.Equal(t, page.Next, again.Next)
					return err
				}, 3 * learning.EvidencePage},
				"scopes": {func() error {
					return second(traced.Learning.Scopes(ctx, learning.Scope{Tenant: w.p.Tenant}, true, 3, 100))
				}, 200},
				"old threads": {func() error {
					return second(traced.OldThreads(ctx, same, tidying.Place{At: middle}, time.Now(), 100))
				}, 500},
				"statements": {func() error {
					_, _, _, err := traced.Statements(ctx, same, tidying.Place{At: middle}, 100)
					return err
				}, 500},
			} {
				n, worst := rowsRead(t, traced, listen, c.run)
				require.LessOrEqual(t, n, c.most, "%s\n%s", name, worst)
			}
		})
	}
}

// The reports of a scope are found among many newer ones of other scopes, and are processed once.
func TestReportsOfAScopeAmongManyOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, other := episodeRecord(), episodeRecord()
	other.Payload = bytes.ReplaceAll(other.Payload, []byte("Build"), []byte("Test"))
	w.putAll(mine, other)
	w.exec(`UPDATE memories SET agent_id = 'b' WHERE id = $1`, other.ID)
	for _, agent := range []string{"a", "b"} {
		w.exec(`INSERT INTO learning_groups (tenant, id, agent_id, kind, attempts, procedures, updated_at)
			VALUES ('t', md5($1)::uuid, $1, 'error', 3, 3, now())`, agent)
	}
	w.exec(`INSERT INTO learned (tenant, memory_id, kind, group_id, key, updated_at)
		SELECT tenant, id, 'competence', md5(agent_id)::uuid, 'error:x', now() FROM memories`)
	w.exec(`INSERT INTO outcome_reports (tenant, memory_id, advice_id, ok, at)
		VALUES ('t', $1, gen_random_uuid(), true, '2026-01-01')`, mine.ID)
	w.exec(`INSERT INTO outcome_reports (tenant, memory_id, advice_id, ok, at)
		SELECT 't', $1, gen_random_uuid(), true, '2026-01-02'::timestamptz + n * interval '1 second'
		FROM generate_series(1, 5000) n`, other.ID)
	for _, agent := range []string{"a", "b"} {
		sc := learning.Scope{Tenant: "t", Agent: agent}
		groups, err := w.Learning.TakeReports(ctx, sc, w.now)
		require.NoError(t, err)
		require.Equal(t, 1, groups, agent)
		w.exec(`UPDATE learning_groups SET procedures = attempts WHERE agent_id = $1`, agent)
		groups, err = w.Learning.TakeReports(ctx, sc, w.now)
		require.NoError(t, err)
		require.Zero(t, groups, "a second run")
		pending, err := w.Learning.Pending(ctx, sc, due.DefaultRule(), w.now)
		require.NoError(t, err)
		require.Equal(t, "2026-01-02", pending.Reports.At.UTC().Format(time.DateOnly))
	}
}

func episodeRecord() schema.MemoryRecord {
	return schema.MemoryRecord{ID: uuid.NewString(), Type: schema.TypeEpisodic,
		Payload:    []byte(`{"kind":"episodic","timeline":[{"t":"2026-01-02T03:04:05Z","event_kind":"run.started","ref":"e","summary":"run.started: Build the app"}],"outcome":"success"}`),
		Confidence: 1, Salience: 1, Importance: 1, SourceTrust: 1}
}
