package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

// The counts that a purge shows before approval and in its preview equal what the rule decides for each tombstone,
// for any class, links and age.
func TestPurgeCountMatchesTheRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = lifecycle.SweepFree + 10
	w.insertMany(n)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = now()`)
	w.forgetAll(w.forgets("", schema.Selector{All: true}))
	deleted := w.now
	m := schema.RetentionPolicy{Tier: schema.TierSession, Typology: schema.TypologyEpisodic}
	w.exec(`UPDATE memories SET tier = $1, typology = $2`, m.Tier, m.Typology)
	taken := map[bool]int{}
	for _, worldGoes := range []bool{false, true} {
		if worldGoes {
			_, err := w.SetRetention(ctx, "t",
				schema.RetentionPolicy{Domain: schema.RetainWorld, Tier: m.Tier, Typology: schema.Any,
					KeepSeconds: int64(lifecycle.TombstoneWindow.Seconds()), OnExpiry: schema.ExpiryPurge,
					UpdatedBy: "alice", Reason: "a test"}, nil, nil, w.now)
			require.NoError(t, err)
		}
		rules, err := w.RetentionPolicies(ctx, "t")
		require.NoError(t, err)
		for _, world := range []bool{false, true} {
			w.exec(`UPDATE memories SET world_id = CASE WHEN $1 THEN 'w' END`, world)
			for _, linked := range []bool{false, true} {
				w.exec(`DELETE FROM memory_links WHERE predicate = 'published_as'`)
				if linked {
					w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
						SELECT m.tenant, m.id, 'published_as', f.id, now()
							FROM memories m, (SELECT min(id::text)::uuid AS id FROM memories) f WHERE m.id <> f.id`)
				}
				for _, days := range []int{29, 31} {
					at := deleted.AddDate(0, 0, days)
					end, over := lifecycle.ExpiredTombstone(rules.For(lifecycle.MemoryDomain(world), m.Tier,
						m.Typology), deleted, linked, at)
					takes := over && end == schema.ExpiryPurge
					begun, err := w.BeginSweep(ctx, "t", schema.SweepRetention, 0.5, at)
					require.NoError(t, err)
					preview, err := w.PreviewPurge(ctx, "t", 0.5, at)
					require.NoError(t, err)
					purged, archived := int64(0), int64(0)
					if takes {
						purged = n
					} else if over {
						archived = n
					}
					what := []any{"world %t, which goes %t, linked %t, after %d days", world, worldGoes, linked, days}
					require.Equal(t, takes, begun.Held != nil, what...)
					require.Equal(t, takes, preview.Held != nil, what...)
					require.Equal(t, []int64{purged, archived},
						[]int64{preview.Would[lifecycle.PurgeTombstones], preview.Archived}, what...)
					taken[takes]++
				}
			}
		}
	}
	require.NotZero(t, taken[true])
	require.NotZero(t, taken[false])
}
