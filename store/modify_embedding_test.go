package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestModifyReplacesTheEmbedding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.claimed("Alice lives in Paris.", "Alice", "Paris")
	w.exec(`INSERT INTO memory_embeddings
		SELECT tenant, gen_random_uuid(), memory_id, 'older', dims, embedding, tier, typology, content_hash, created_at
		FROM memory_embeddings WHERE memory_id = $1`, id)
	score := func(text string) float64 {
		hits, err := w.SearchVector(ctx, pg.Filter{Principal: w.p}, pg.Embedding{Model: hash, Vector: embed(t, text)},
			10)
		require.NoError(t, err)
		for _, hit := range hits {
			if hit.ID == id {
				return hit.Score
			}
		}
		return -1
	}
	require.InDelta(t, 1, score("Alice lives in Paris."), 1e-3)

	in := w.modifyInput(schema.Patch{ID: id.String(), Content: ptr("The copper kettle whistles.")})
	in.Embeddings = []*pg.Embedding{{Model: hash, Vector: embed(t, "The copper kettle whistles.")}}
	out, err := w.Modify(ctx, in)
	require.NoError(t, err)
	require.True(t, out.Results[0].Embedded)
	require.InDelta(t, 1, score("The copper kettle whistles."), 1e-3)
	require.Less(t, score("Alice lives in Paris."), 0.5)
	require.Equal(t, 1, w.count("memory_embeddings", "memory_id = $1", id), "vectors of other models are stale as well")
	require.Equal(t, 1, w.count("memory_embeddings e",
		"memory_id = $1 AND content_hash = (SELECT content_hash FROM memories m WHERE m.id = e.memory_id)", id))

	// Without an embedding, the vector search does not find it until the outbox is drained.
	require.False(t, w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("The copper kettle hums.")}).Embedded)
	require.Zero(t, w.count("memory_embeddings", "memory_id = $1", id))
	require.InDelta(t, -1, score("The copper kettle whistles."), 0)
	pending, err := w.Outbox(ctx, w.p.Tenant, hash, []uuid.UUID{id}, 10)
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, "The copper kettle hums.", pending[0].Content)

	// Another spelling gets its own vector, although the hash is the same.
	in = w.modifyInput(schema.Patch{ID: id.String(), Content: ptr("The Copper Kettle hums")})
	in.Embeddings = []*pg.Embedding{{Model: hash, Vector: embed(t, "The Copper Kettle hums")}}
	out, err = w.Modify(ctx, in)
	require.NoError(t, err)
	require.True(t, out.Results[0].Embedded)
	require.Equal(t, 1, w.count("memory_embeddings", "memory_id = $1", id))
}

// The pipeline embeds a source, and the source is modified before the vector is written: the vector belongs to a text
// that no longer exists.
func TestModifyDuringTheEmbeddingOfASource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(schema.Candidate{Content: "Tea is served hot.", SourceKind: schema.SourceMemory})
	id := uuid.MustParse(ack.MemoryIDs[0])
	missing, err := w.Unembedded(ctx, r, hash)
	require.NoError(t, err)
	require.Len(t, missing, 1)
	sources := map[uuid.UUID]pg.Embedding{id: {Model: hash, Vector: embed(t, missing[0].Content),
		Hash: missing[0].Hash}}
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("Zebras graze.")}).Status)
	_, err = w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now, Sources: sources})
	require.NoError(t, err)
	require.Zero(t, w.count("memory_embeddings", "memory_id = $1", id))
}

func TestModifyAndRecoverKeepTheStatisticsExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	updated, recovered := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := *w
		w.p.Tenant = uuid.NewString()
		text := func() string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 3).Draw(rt, "words"),
				" ") + fmt.Sprint(" ", rapid.IntRange(0, 3).Draw(rt, "n"))
		}
		ack, _ := w.stage(schema.Candidate{Content: "first " + text(), SourceKind: schema.SourceMemory},
			schema.Candidate{Content: "second " + text(), SourceKind: schema.SourceMemory},
			schema.Candidate{Content: "third " + text()},
			schema.Candidate{Content: "critical: fourth " + text(), SourceKind: schema.SourceMemory})
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			var patches []schema.Patch
			for _, id := range ack.MemoryIDs {
				patches = append(patches, schema.Patch{ID: id, Force: rapid.Bool().Draw(rt, "force"),
					Tags: &[]string{"x"}, Who: rapid.Ptr(rapid.SampledFrom([]string{"", "alpha", "zoe"}),
						true).Draw(rt, "who"),
					Pinned: rapid.Ptr(rapid.Bool(), true).Draw(rt, "pinned")})
				if rapid.Bool().Draw(rt, "edit") {
					patches[len(patches)-1].Content = ptr(text())
				}
			}
			updated += w.modify(patches...).Updated
			if id := rapid.SampledFrom(ack.MemoryIDs).Draw(rt, "forget"); w.get(uuid.MustParse(id)).DeletedAt == nil {
				w.softDelete(uuid.MustParse(id))
			}
			recovered += len(w.recover(schema.Target{ID: rapid.SampledFrom(ack.MemoryIDs).Draw(rt,
				"recover")}).Changed())
		}
		w.requireExactStats()
	})
	require.Positive(t, updated)
	require.Positive(t, recovered)
}
