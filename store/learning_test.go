package store_test

import (
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

func episodeRecord() schema.MemoryRecord {
	return schema.MemoryRecord{ID: uuid.NewString(), Type: schema.TypeEpisodic,
		Payload:    []byte(`{"kind":"episodic","timeline":[{"t":"2026-01-02T03:04:05Z","event_kind":"run.started","ref":"e","summary":"run.started: Build the app"}],"outcome":"success"}`),
		Confidence: 1, Salience: 1, Importance: 1, SourceTrust: 1}
}
