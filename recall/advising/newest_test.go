package advising_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// failuresSQL loads 2,000 episodes with the same failure, the oldest first.
const failuresSQL = `
	INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content, content_hash,
		payload, confidence, importance, salience, salience_at, decay_curve, half_life, min_salience, reinforcement_gain,
		last_reinforced_at, deletion_policy, occurred_at, created_at, updated_at, created_by)
	SELECT 't', lpad(to_hex(g), 32, '0')::uuid, 'a', 'episodic', 'fact', 'session', 'episodic', c, c, sha256(c::bytea),
		'{"kind": "episodic", "timeline": [{"t": "2026-01-01T00:00:00Z", "event_kind": "tool.failed", "ref": "r",
			"summary": "shell failed: builder: cannot lock topic of kword"}]}',
		1, 0.5, 1, now(), 'exponential', '1 day', 0, 0, now(), 'auto_prune',
		timestamptz '2026-01-01' + g * interval '1 minute', now(), now(), 'x'
	FROM (SELECT g, 'Number ' || g AS c FROM generate_series(1, 2000) g) x;
	ANALYZE memories`

// An error that occurs often is looked up in its newest episodes: only they may have what helps now.
func TestTheNewestFailuresAreRead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := testkit.DatabaseURL(t)
	s := testkit.OpenStore(t, url)
	_, err := testkit.Owner(t, url).Exec(ctx, failuresSQL)
	require.NoError(t, err)
	f := pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a"}}
	found, err := s.EpisodesWith(ctx, f, []string{"builder", "cannot", "lock"}, "")
	require.NoError(t, err)
	require.Len(t, found, 20)
	for i, e := range found {
		require.Equal(t, byte((2000-i)&0xff), e.ID[15], i)
		require.Equal(t, byte((2000-i)>>8), e.ID[14], i)
	}
}

// Of the reports on an episode, the newest of each source are read: one source with many hides no other.
func TestTheNewestReportsOfEachSourceAreRead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := testkit.DatabaseURL(t)
	s := testkit.OpenStore(t, url)
	owner := testkit.Owner(t, url)
	_, err := owner.Exec(ctx, failuresSQL)
	require.NoError(t, err)
	_, err = owner.Exec(ctx, `
		INSERT INTO outcome_reports (tenant, memory_id, advice_id, problem, agent_id, session, ok, at)
		SELECT 't', lpad(to_hex(2000), 32, '0')::uuid, gen_random_uuid(), 'p', CASE WHEN n = 1 THEN 'b' ELSE 'a' END,
			n::text, true, timestamptz '2026-01-01' + n * interval '1 second'
		FROM generate_series(1, 200) n`)
	require.NoError(t, err)
	f := pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a"}}
	found, err := s.EpisodesWith(ctx, f, []string{"builder", "cannot", "lock"}, "p")
	require.NoError(t, err)
	require.Len(t, found[0].Reports, 31)
	require.Equal(t, "b", found[0].Reports[0].Agent)
	require.Equal(t, "200", found[0].Reports[30].Session)
}
