package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// classIndexes are the indexes of the classes that may be stored, by tier and typology.
var classIndexes = map[string]string{
	"session episodic": "session_episodic", "interaction episodic": "interaction_episodic",
	"persistent semantic": "persistent_semantic", "persistent procedural": "persistent_procedural",
	"session semantic": "brief_learned", "session procedural": "brief_learned",
	"interaction semantic": "brief_learned", "interaction procedural": "brief_learned",
}

// The vector search and the check of an index find a record of any class. The neighbour search leaves episodes out.
func TestVectorsOfEveryClassAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	vec := pg.Embedding{Model: hash, Vector: axis()}
	for class := range classIndexes {
		tier, typology, _ := strings.Cut(class, " ")
		m := record(t,
			`{"type": "semantic", "confidence": 0.9, "tier": %q, "typology": %q, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": %q,
			"predicate": "nests_in", "object": "the tower", "validity": {"mode": "global"}}}`, tier, typology,
			"kestrel "+class)
		if typology == string(schema.TypologyEpisodic) {
			m = episode(t, "", "the kestrel of "+class)
			m.Tier = schema.Tier(tier)
		}
		id := w.created(m)
		stored := w.get(id)
		require.Equal(t, class, fmt.Sprintf("%s %s", stored.Tier, stored.Typology))
		w.setVector(id, 0.1)
		f := pg.Filter{Principal: w.p}
		hits, err := w.SearchVector(ctx, f, vec, 50)
		require.NoError(t, err)
		require.Contains(t, hitIDs(t, hits, err), id, class)
		near, err := w.NearestEmbedded(ctx, "t", vec, 50)
		require.NoError(t, err)
		require.Contains(t, hitIDs(t, near, err), id, class)
		found, err := w.Neighbors(ctx, w.p,
			[]search.NeighborQuery{{Fact: fact("something in other words"), Embedding: &vec}})
		require.NoError(t, err)
		if class == "session episodic" {
			require.Empty(t, found[0], "a fact never changes an episode")
		} else {
			require.Equal(t, []string{id.String()}, ids(found[0]), class)
		}
		w.forget(id)
	}
}

// Every class is searched by its index, for the indexes of a model and for those of the offline embedder.
func TestVectorsOfEveryClassAreSearchedByTheirIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := hash
	model.Name = "some-model"
	built, err := w.BuildVectorIndexes(ctx, model, false)
	require.NoError(t, err)
	require.Equal(t, 5, built)
	built, err = w.BuildVectorIndexes(ctx, model, false)
	require.NoError(t, err)
	require.Zero(t, built, "they exist already")
	var prefix string
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT replace(mneme_vector_index_name($1, 384, '', ''), '__', '_')`,
		model.Name).Scan(&prefix))
	id := w.memory("the kestrel nests in the tower")
	w.exec(`ALTER TABLE memory_embeddings DROP CONSTRAINT memory_embeddings_pkey,
		DROP CONSTRAINT memory_embeddings_tenant_memory_id_fkey`)
	for class := range classIndexes {
		tier, typology, _ := strings.Cut(class, " ")
		for _, name := range []string{hash.Name, model.Name} {
			w.exec(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology,
				content_hash, created_at)
				SELECT 't', gen_random_uuid(), $1, $2, 384, (SELECT array_agg(random() - 0.5)::vector
				FROM generate_series(1, 384) WHERE g > 0), $3, $4, '', now()
				FROM generate_series(1, 60) g`, id, name, tier, typology)
		}
	}
	w.exec(`ANALYZE memory_embeddings`)
	listen := &tracer{}
	s, err := store.OpenTraced(ctx, w.url+"&enable_sort=off", listen) // so that a small table uses the index
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.ScanUpTo = -1 // by default, small tenants are scanned
	for _, m := range []struct {
		name, indexes string
	}{{hash.Name, "memory_embeddings_hash_v1_"}, {model.Name, prefix}} {
		vec := pg.Embedding{Model: model, Vector: axis()}
		vec.Model.Name = m.name
		for what, run := range map[string]func() error{
			"search": func() error { return second(s.SearchVector(ctx, pg.Filter{Principal: w.p}, vec, 5)) },
			"neighbours": func() error {
				return second(s.Neighbors(ctx, w.p, []search.NeighborQuery{{Fact: fact("x y z"), Embedding: &vec}}))
			},
			"nearest": func() error { return second(s.NearestEmbedded(ctx, "t", vec, 5)) },
		} {
			sent, err := listen.of(run)
			require.NoError(t, err)
			sent = slices.DeleteFunc(sent, func(st statement) bool {
				return !strings.Contains(st.sql, "memory_embeddings")
			})
			require.Len(t, sent, 1)
			plan := explain(t, s, sent[0], false)
			for class, index := range classIndexes {
				if what == "neighbours" && class == "session episodic" {
					require.NotContains(t, plan, m.indexes+index, plan)
					continue
				}
				require.Contains(t, plan, m.indexes+index, "%s, %s of %s:\n%s", what, class, m.name, plan)
			}
		}
	}
}
