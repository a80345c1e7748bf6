package eventindex_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/store/events"
)

// TestAMillionEvents measures views over one stream of 1,000,000 events and over 1,000 streams of 1,000. It takes
// minutes, so it runs only if MNEME_MEASURE_VIEWS is set (docs/ledger.md has the results).
func TestAMillionEvents(t *testing.T) {
	if os.Getenv("MNEME_MEASURE_VIEWS") == "" {
		t.Skip("MNEME_MEASURE_VIEWS is not set")
	}
	for _, streams := range []int{1, 1_000} {
		url := testkit.FreshDatabaseURL(t)
		s, owner := testkit.OpenStore(t, url), testkit.Owner(t, url)
		ctx := context.Background()
		began := time.Now()
		const length = 1_000_000
		_, err := owner.Exec(ctx,
			fmt.Sprintf(`INSERT INTO events (tenant, stream, seq, id, agent_id, kind, turn, visibility, sensitivity,
				payload, occurred_at, recorded_at)
			SELECT 't', 'run/' || n %% %[1]d, n / %[1]d + 1, 'e' || n, 'agent' || n %% 4,
				k.kind, n / %[1]d / 16, CASE WHEN k.kind IN ('agent.thought', 'tool.called',
				'tool.returned') THEN 'private' ELSE 'global' END, 'low',
				CASE k.kind WHEN 'agent.reflected' THEN jsonb_build_object('belief',
				'The oven of day ' || n || ' is hot.', 'based_on', jsonb_build_array('e' || n - 1))
					WHEN 'world.observed' THEN jsonb_build_object('field' || n / 64 %% 20,
					n) ELSE jsonb_build_object('text', 'The miller of day ' || n || ' brings flour and rain.') END,
				now(), now()
			FROM generate_series(0, %[2]d) n,
				LATERAL (SELECT CASE WHEN n / 4 %% 10 = 0 THEN 'agent.reflected' WHEN n %% 5000 = 7 THEN 'user.injected' WHEN n / 4 %% 16 = 1 THEN 'world.observed'
					ELSE (ARRAY['agent.spoke', 'agent.thought', 'tool.called',
						'tool.returned'])[n / 4 %% 4 + 1] END AS kind) k`, streams, length-1))
		require.NoError(t, err)
		for _, sql := range []string{`INSERT INTO event_ids (tenant, id, stream, seq, recorded_at)
			SELECT tenant, id, stream, seq, recorded_at FROM events`,
			`INSERT INTO event_streams (tenant, stream, last_seq, created_at, updated_at)
				SELECT tenant, stream, max(seq), now(), now() FROM events GROUP BY 1, 2`, `VACUUM ANALYZE`} {
			_, err = owner.Exec(ctx, sql)
			require.NoError(t, err)
		}
		t.Logf("%d streams: appended in %s", streams, time.Since(began).Round(time.Second))
		for _, c := range []struct {
			name   string
			memory views.Memory
			scene  string
		}{
			{"window", views.Memory{}, ""},
			{"window with beliefs", views.Memory{ReflectionThreshold: 8}, ""},
			{"salience with beliefs", views.Memory{UseSalience: true, ReflectionThreshold: 8}, ""},
			{"salience, no scene", views.Memory{UseSalience: true}, "-"},
			{"salience", views.Memory{UseSalience: true}, ""},
		} {
			var took []time.Duration
			read, partial := 0, false
			for i := range 40 {
				start := time.Now()
				viewer := views.Viewer{Agent: fmt.Sprint("agent", i%4)}
				got, err := s.ForView(ctx, events.ViewInput{Tenant: "t", Viewer: viewer,
					Streams: []string{fmt.Sprint("run/", i*7%streams)},
					Memory:  c.memory, Scene: c.scene})
				require.NoError(t, err)
				_, err = views.Build(ctx, views.Request{Viewer: got.Viewer, Events: got.Events, Turn: got.Turn,
					Memory: c.memory, BudgetTokens: 2_000})
				require.NoError(t, err)
				took = append(took, time.Since(start))
				read, partial = len(got.Events), partial || got.Partial
			}
			slices.Sort(took)
			t.Logf("%d streams, context by %s: p50 %s, p95 %s, %d events, partial %v", streams, c.name,
				took[20].Round(100*time.Microsecond), took[37].Round(100*time.Microsecond), read, partial)
		}
	}
}
