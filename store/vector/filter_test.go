package vector_test

import (
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
	"github.com/mneme/mneme/store/vectorindex"
)

// The index returns a superset of what Postgres admits for any filter, and exactly that if the whole filter can be
// pushed down.
func TestPushedFilterIsNeverNarrower(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	st, owner := testkit.OpenStore(t, url), testkit.Owner(t, url)
	q := open(t, qdranttest.Any(t))
	g := generation(t, q, flat, vectorindex.GenerationActive)
	r := rand.New(rand.NewPCG(7, 11))
	ids := someMemories(t, r, owner, 250)
	entries, err := st.IndexEntries(ctx, "t", flat, ids)
	require.NoError(t, err)
	var c vector.Changes
	for _, e := range entries {
		if e.Delete {
			c.Deletes = append(c.Deletes, vector.Ref{MemoryID: e.MemoryID, Version: e.Version})
			continue
		}
		e.Vector = []float32{1, 0}
		c.Upserts = append(c.Upserts, vector.PointOf(e))
	}
	require.NoError(t, q.Apply(ctx, g, "t", c))
	admitted := 0
	for range 400 {
		f, whole := someFilter(r)
		want, err := st.Authorize(ctx, f, ids)
		require.NoError(t, err)
		hits, err := q.Search(ctx, f, pg.Embedding{Model: flat, Vector: []float32{1, 0}}, len(ids))
		require.NoError(t, err)
		got := map[uuid.UUID]bool{}
		for _, h := range hits {
			got[h.ID] = true
		}
		for id := range want {
			require.True(t, got[id], "Postgres admits %s, but the index does not: %+v", id, f)
		}
		if whole {
			require.Len(t, got, len(want), "%+v", f)
		}
		admitted += len(want)
	}
	require.Greater(t, admitted, 400, "the filters admit too little")
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var (
	someAgents = []string{"anja", "bo"}
	somePlaces = []string{"", "p", "q"}
	someWho    = []string{"", "Ana", "ANA", "Łukasz", "łukasz", "\u212Aelvin", "kelvin"}
	levels     = []schema.Sensitivity{schema.SensitivityPublic, schema.SensitivityLow, schema.SensitivityMedium,
		schema.SensitivityHigh, schema.SensitivityHyper}
)

func someMemories(t *testing.T, r *rand.Rand, owner *pgx.Conn, n int) []uuid.UUID {
	t.Helper()
	base := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	ids := make([]uuid.UUID, n)
	var batch pgx.Batch
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
		hash := sha256.Sum256(ids[i][:])
		var from, until, deleted *time.Time
		if r.IntN(3) == 0 {
			from = new(base.AddDate(0, 0, r.IntN(60)))
		}
		if r.IntN(3) == 0 {
			until = new(base.AddDate(0, 0, 61+r.IntN(60)))
		}
		if r.IntN(10) == 0 {
			deleted = new(base)
		}
		var conditions any
		if r.IntN(4) == 0 {
			conditions = `{"os": "` + pick(r, "linux", "plan9") + `"}`
		}
		tags := []string{}
		for _, tag := range []string{"a", "b", "ü"} {
			if r.IntN(2) == 0 {
				tags = append(tags, tag)
			}
		}
		batch.Queue(`INSERT INTO memories (tenant, id, agent_id, project, scope, visibility, policy_group, type,
			category, tier, typology, content, normalized_content,
				content_hash, payload, tags, who, confidence, importance, salience, salience_at, decay_curve, half_life,
				min_salience, reinforcement_gain,
				last_reinforced_at, pinned, deletion_policy, valid_from, valid_until, conditions, sensitivity,
				occurred_at, created_at, updated_at, created_by, deleted_at)
			VALUES ('t', $1, $2, $3, $4, $5, $6, $7, $8, 'session', 'episodic', 'x', 'x', $9, jsonb_build_object('kind',
			$7::text), $10, $11, 1, $12, 1, now(), 'exponential',
				'1 day', 0, 0.1, now(), $13, 'auto_prune', $14, $15, $16, $17, $18, now(), now(), 'me', $19)`,
			ids[i], pick(r, someAgents...), pick(r, somePlaces...), pick(r, "", "s", "z"),
			pick(r, "private", "group", "shared", "global"), pick(r, "", "g", "h"),
			pick(r, "episodic", "working"), pick(r, "fact", "decision"), hash[:], tags, pick(r, someWho...),
			float64(r.IntN(11))/10, r.IntN(4) == 0, from, until, conditions,
			pick(r, levels...), base.Add(time.Duration(r.IntN(1000))*time.Hour+
				time.Duration(r.IntN(3))*time.Microsecond), deleted)
	}
	require.NoError(t, owner.SendBatch(ctx, &batch).Close())
	return ids
}

// someFilter returns a random filter, and reports whether all of it can be pushed down.
func someFilter(r *rand.Rand) (pg.Filter, bool) {
	base := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	f := pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: pick(r, someAgents...),
		Project: pick(r, somePlaces...), Scope: pick(r, "", "", "s"),
		PolicyGroup: pick(r, "", "g", "h")},
		ReadPolicy: pick(r, "", schema.ReadIsolated, schema.ReadShared, schema.ReadGroup)}
	whole := true
	often := func(fn func()) {
		if r.IntN(4) == 0 {
			fn()
		}
	}
	often(func() { f.Types = []schema.MemoryType{schema.TypeEpisodic} })
	often(func() { f.Categories = []schema.Category{schema.CategoryDecision, schema.CategoryRule} })
	often(func() { f.Tags = []string{pick(r, "a", "b", "ü")} })
	often(func() { f.Tags = append(f.Tags, "b") })
	often(func() {
		f.Who = pick(r, someWho...)
		whole = whole && f.Who != "Łukasz" && f.Who != "łukasz" && f.Who != "\u212Aelvin"
	})
	often(func() { f.Pinned = new(r.IntN(2) == 0) })
	often(func() {
		f.ImportanceMin = float64(r.IntN(11)) / 10
		whole = whole && f.ImportanceMin == 0 // the index has the base importance only
	})
	often(func() { f.Since = new(base.Add(time.Duration(r.IntN(1000))*time.Hour + 1500*time.Nanosecond)) })
	often(func() { f.Until = new(base.Add(time.Duration(r.IntN(1000))*time.Hour + time.Microsecond)) })
	often(func() { f.MaxSensitivity = pick(r, levels...) })
	often(func() { f.Scopes = pick(r, []string{"s"}, []string{"z", "s"}, []string{"nowhere"}) })
	often(func() { f.At = base.AddDate(0, 0, r.IntN(120)) })
	often(func() {
		start := base.AddDate(0, 0, r.IntN(120))
		f.During = []timeexpr.TimeWindow{{Start: start, End: start.AddDate(0, 0, 1+r.IntN(30))}}
		whole = whole && f.At.IsZero()
	})
	often(func() { f.Context = json.RawMessage(`{"os": "linux"}`); whole = false })
	return f, whole
}
