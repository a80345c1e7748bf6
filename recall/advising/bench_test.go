package advising_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

// fillSQL loads 100,000 memories. 10,000 of them are episodes with a failure, and 1,000 are procedures.
const fillSQL = `
	SET session_replication_role = replica;
	INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content, content_hash,
		payload, confidence, importance, salience, salience_at, decay_curve, half_life, min_salience, reinforcement_gain,
		last_reinforced_at, deletion_policy, occurred_at, created_at, updated_at, created_by)
	SELECT 't', lpad(to_hex(g), 32, '0')::uuid, 'a', CASE WHEN g % 100 = 0 THEN 'competence' ELSE 'episodic' END,
		CASE WHEN g % 100 = 0 THEN 'procedural' ELSE 'fact' END, 'session',
		CASE WHEN g % 100 = 0 THEN 'procedural' ELSE 'episodic' END, c, c, sha256(c::bytea),
		CASE WHEN g % 100 = 0 THEN
			jsonb_build_object('kind', 'competence', 'skill_name', 'repair', 'triggers', jsonb_build_array(
				jsonb_build_object('signal', 'builder: cannot lock topic' || k || ' of ' || w)),
				'recipe', jsonb_build_array(jsonb_build_object('step', 'unlock', 'tool', 'shell', 'args_schema',
					'{"type": "object", "properties": {"cmd": {"const": "unlock"}}}'::jsonb)),
				'performance', '{"success_count": 5}'::jsonb)
		WHEN g % 10 = 1 THEN jsonb_build_object('kind', 'episodic', 'timeline', jsonb_build_array(jsonb_build_object(
			't', now(), 'event_kind', 'tool.failed', 'ref', 'r', 'summary',
			'shell failed: builder: cannot lock topic' || k || ' of ' || w)))
		ELSE '{"kind": "episodic", "timeline": []}' END,
		1, 0.5, 1, now(), 'exponential', '1 day', 0, 0, now(), 'auto_prune', now(), now(), now(), 'x'
	FROM (SELECT g, chr(97 + g % 26) || 'opic' AS k, chr(97 + g / 100 % 26) || chr(97 + g / 2600 % 26) || 'word' AS w,
		format('word%s met word%s about topic%s and rare%s', g % 977, g % 1013, g % 37, g) AS c
		FROM generate_series(1, 100000) g) x;
	ANALYZE memories;
	SET session_replication_role = DEFAULT;`

// BenchmarkAdvise reports the median and the 95th percentile of the latency of sequential requests.
func BenchmarkAdvise(b *testing.B) {
	ctx := context.Background()
	url := testkit.FreshDatabaseURL(b)
	owner, err := pgx.Connect(ctx, url)
	require.NoError(b, err)
	defer func() { _ = owner.Close(ctx) }()
	_, err = owner.Exec(ctx, fillSQL)
	require.NoError(b, err)
	s, err := store.Open(ctx, pg.Config{URL: url})
	require.NoError(b, err)
	defer s.Close()
	adviser := inprocess.NewAdviser(inprocess.Options{Store: s})
	var took []time.Duration
	found := 0
	advise := func(n int) {
		g := n * 7919 % 1000 * 100
		start := time.Now()
		out, err := adviser.Advise(ctx, api.AdviseRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
			Task: "build the app", Context: map[string]string{"os": "linux"}, Error: fmt.Sprintf(
				"builder: cannot lock topic%copic of %c%cword", 'a'+rune(g%26), 'a'+rune(g/100%26),
				'a'+rune(g/2600%26))})
		took = append(took, time.Since(start))
		require.NoError(b, err)
		if out.Best != nil {
			found++
		}
	}
	for n := range 50 {
		advise(n)
	}
	took, found = nil, 0
	for n := 50; b.Loop(); n++ {
		advise(n)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(100*float64(found)/float64(len(took)), "%advised")
}
