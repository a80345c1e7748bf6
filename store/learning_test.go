package store_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
)

// Reading new evidence and finding scopes go by an index whatever the planner knows of the tables: one page costs a
// page.
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
			began := time.Now()
			pending, err := w.Store.Learning.Pending(ctx, sc, due.DefaultRule(), time.Now())
			require.NoError(t, err)
			require.Equal(t, 1, pending.New, "all are of one session")
			t.Logf("whether the evidence is enough: %s", time.Since(began))
			require.Less(t, time.Since(began), 500*time.Millisecond)
			began = time.Now()
			page, err := w.Store.Learning.IndexPage(ctx, sc, learning.Position{}, time.Now())
			require.NoError(t, err)
			require.Equal(t, learning.EvidencePage, page.Read)
			t.Logf("a page of %d episodes: %s", page.Read, time.Since(began))
			began = time.Now()
			_, err = w.Store.Learning.Scopes(ctx, learning.Scope{Tenant: w.p.Tenant}, true, 3, 100)
			require.NoError(t, err)
			t.Logf("scopes: %s", time.Since(began))
			require.Less(t, time.Since(began), 500*time.Millisecond)
			var plan []string
			for _, sql := range []string{`
				SELECT m.id FROM memories m
				WHERE m.tenant = 't' AND m.project = '' AND m.scope = ''
					AND (CASE WHEN m.visibility IN ('private', 'group') THEN m.agent_id ELSE '' END) = 'a'
					AND m.live AND m.type = 'episodic'
					AND (coalesce(m.recorded_at, m.created_at), m.id) > ('2020-01-01',
					'00000000-0000-0000-0000-000000000000')
				ORDER BY coalesce(m.recorded_at, m.created_at), m.id LIMIT 500`, `
				SELECT m.content_hash FROM memories m
				WHERE m.tenant = 't' AND m.project = '' AND m.scope = ''
					AND (CASE WHEN m.visibility IN ('private', 'group') THEN m.agent_id ELSE '' END) = 'a'
					AND m.live AND m.type = 'episodic'
					AND (coalesce(m.recorded_at, m.created_at), m.id) > ('2020-01-01',
					'00000000-0000-0000-0000-000000000000')
				ORDER BY coalesce(m.recorded_at, m.created_at) DESC, m.id DESC LIMIT 200`} {
				lines, err := w.owner.Query(ctx, "EXPLAIN "+sql)
				require.NoError(t, err)
				for lines.Next() {
					var line string
					require.NoError(t, lines.Scan(&line))
					plan = append(plan, line)
				}
				require.NoError(t, lines.Err())
				require.Contains(t, strings.Join(plan, "\n"), "memories_evidence")
				plan = nil
			}
		})
	}
}

func episodeRecord() schema.MemoryRecord {
	return schema.MemoryRecord{ID: uuid.NewString(), Type: schema.TypeEpisodic,
		Payload:    []byte(`{"kind":"episodic","timeline":[{"t":"2026-01-02T03:04:05Z","event_kind":"run.started","ref":"e","summary":"run.started: Build the app"}],"outcome":"success"}`),
		Confidence: 1, Salience: 1, Importance: 1, SourceTrust: 1}
}
