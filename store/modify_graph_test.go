package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// What a memory says about entities follows from its text: a new text does not state what the old one did.
func TestANewContentLeavesTheGraph(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(schema.Candidate{Content: "Alice knows Bob.", SourceKind: schema.SourceMemory})
	id := uuid.MustParse(ack.MemoryIDs[0])
	require.NoError(t, w.SaveExtractions(ctx, w.p.Tenant, []pipeline.Extracted{{CandidateID: id,
		Extraction: memory.Extraction{Facts: []memory.Fact{}, Triples: []memory.Triple{triple("Alice", "knows", "Bob")}}}},
		w.now))
	w.link(r)
	_, r = w.linkable("Alice knows Carla.", triple("Alice", "knows", "Carla"))
	w.link(r)
	exact := func(alice, bob, edges int) {
		t.Helper()
		require.Equal(t, alice, w.mentions("alice"))
		require.Equal(t, bob, w.count("memory_entity_mentions x JOIN entities e ON e.id = x.entity_id",
			"e.canonical_name = 'bob'"))
		require.Equal(t, edges, w.count("entity_relation_sources", "memory_id = $1", id))
		w.requireExactMentions()
		w.requireExactEdges()
	}
	exact(2, 1, 1)
	w.modifyOne(schema.Patch{ID: id.String(), Tags: &[]string{"people"}})
	exact(2, 1, 1)
	w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("ALICE knows Bob well.")})
	exact(2, 1, 1)
	w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("Alice met someone.")})
	exact(2, 0, 0)
	require.Zero(t, w.count("entities", "canonical_name = 'bob'"), "no memory names it any more")
	w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("They met.")})
	exact(1, 0, 0)
}
