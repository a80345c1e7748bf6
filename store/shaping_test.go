package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Whoever may not see a memory gets nothing of it from what shaping reads, whatever ids it names.
func TestShapingReadsThroughTheFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, now := w.memory("Ana lives in Lyon"), w.memory("Ana lives in Oslo")
	w.exec(`UPDATE memories SET status = 'superseded', superseded_by = $2, superseded_at = now() WHERE id = $1`, old, now)
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT tenant, gen_random_uuid(), 'ana', 'Ana', 7, now(), now() FROM memories WHERE id = $1`, now)
	w.exec(`INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at) SELECT tenant, $1, id, now() FROM entities`, now)
	owner := w.p
	both := []uuid.UUID{old, now}
	for name, c := range map[string]struct {
		filter         store.Filter
		live, outdated bool
	}{
		"the owner":              {store.Filter{Principal: owner}, true, false},
		"the owner, of the past": {store.Filter{Principal: owner, Superseded: true}, true, true},
		"another agent":          {store.Filter{Principal: schema.Principal{Tenant: owner.Tenant, Agent: "other"}, Superseded: true}, false, false},
		"another tenant":         {store.Filter{Principal: schema.Principal{Tenant: "other", Agent: owner.Agent}, Superseded: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			contents, err := w.Contents(ctx, c.filter, both)
			require.NoError(t, err)
			require.Equal(t, c.live, contents[now] == "Ana lives in Oslo")
			require.Equal(t, c.outdated, contents[old] == "Ana lives in Lyon")
			degrees, err := w.LowestDegrees(ctx, c.filter, both)
			require.NoError(t, err)
			require.Equal(t, c.live, degrees[now] == 7)
			supersessions, err := w.Supersessions(ctx, c.filter, both)
			require.NoError(t, err)
			require.Equal(t, c.live, supersessions[now].Replaces)
			require.Equal(t, c.outdated, supersessions[old].SupersededBy == now)
			chain, err := w.Predecessors(ctx, c.filter, both)
			require.NoError(t, err)
			require.Equal(t, c.outdated, len(chain) == 1)
		})
	}
}

func TestHubDegreeIsBelievedForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT 't', gen_random_uuid(), 'e' || n, 'e' || n, CASE WHEN n > 17 THEN 90 ELSE 1 END, now(), now() FROM generate_series(1, 20) n`)
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	hub := func(tenant string, at time.Time) int64 {
		degree, err := w.HubDegree(ctx, tenant, at)
		require.NoError(t, err)
		return degree
	}
	require.Equal(t, int64(90), hub("t", at))
	require.Zero(t, hub("other", at), "each tenant has its own")
	w.exec(`UPDATE entities SET mentions = 1`)
	require.Equal(t, int64(90), hub("t", at.Add(9*time.Minute)))
	require.Zero(t, hub("t", at.Add(11*time.Minute)))
}
