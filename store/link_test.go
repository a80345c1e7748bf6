package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

func triple(source, rel, target string) memory.Triple {
	return memory.Triple{Source: source, Relationship: rel, Target: target, Confidence: 0.8}
}

// linkable stages a text with the triples found in it.
func (w *world) linkable(content string, triples ...memory.Triple) (uuid.UUID, schema.Range) {
	w.t.Helper()
	ack, r := w.stage(say(content)...)
	id := uuid.MustParse(ack.MemoryIDs[0])
	require.NoError(w.t, w.SaveExtractions(ctx, w.p.Tenant,
		[]pipeline.Extracted{{CandidateID: id,
			Extraction: memory.Extraction{Facts: []memory.Fact{}, Triples: triples}}}, w.now))
	return id, r
}

func (w *world) link(r schema.Range) schema.LinkCounts {
	w.t.Helper()
	counts, err := w.Link(ctx, r, w.now)
	require.NoError(w.t, err)
	return counts
}

// requireExactMentions recounts the mentions of entities.
func (w *world) requireExactMentions() {
	w.t.Helper()
	require.Zero(w.t, w.count("entities e",
		`mentions <> (SELECT count(*) FROM memory_entity_mentions m WHERE m.tenant = e.tenant AND m.entity_id = e.id)`))
}

func (w *world) mentions(canonical string) int {
	w.t.Helper()
	var n int
	require.NoError(w.t,
		w.owner.QueryRow(ctx, `SELECT mentions FROM entities WHERE tenant = $1 AND canonical_name = $2`, w.p.Tenant,
			canonical).Scan(&n))
	return n
}

func TestLinkCountsEachMentionOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.linkable("Alice knows Bob. Bob knows Alice.", triple("Alice", "knows", "Bob"),
		triple(" BOB ", "knows", "alice."), triple("Alice", "is", "Alice"))
	require.Equal(t, schema.LinkCounts{Entities: 2, Relations: 2, Mentions: 2}, w.link(r))
	before := w.snapshot()
	require.Equal(t, schema.LinkCounts{}, w.link(r), "a second run finds nothing to do")
	require.Equal(t, before, w.snapshot())
	_, r = w.linkable("Alice knows Bob well.", triple("alice", "knows", "Bob"))
	require.Equal(t, schema.LinkCounts{Relations: 1, Mentions: 2}, w.link(r))
	require.Equal(t, 2, w.mentions("alice"))
	require.Equal(t, 1, w.count("entity_relations", "mentions = 2"))
	require.Equal(t, 2, w.count("entities", "true"), "names that differ in spelling only are one entity")
	w.requireExactMentions()

	other := *w
	other.p.Tenant = "t2"
	_, r = other.linkable("Alice knows Bob.", triple("Alice", "knows", "Bob"))
	require.Equal(t, 2, other.link(r).Entities, "each tenant has its own")
	require.Equal(t, 1, other.mentions("alice"))
}

func TestLinkMentionsTheFactsThatNameAnEntity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("Alice met Bob, and Carol was away")...)
	id := uuid.MustParse(ack.MemoryIDs[0])
	facts := []memory.Fact{fact("Alice met Bob once"), fact("Carol was away then")}
	require.NoError(t, w.SaveExtractions(ctx, "t",
		[]pipeline.Extracted{{CandidateID: id,
			Extraction: memory.Extraction{Facts: facts,
				Triples: []memory.Triple{triple("Alice", "met", "Bob"), triple("Carol", "was", "away")}}}}, w.now))
	w.decide(r, id, idea{fact: facts[0], action: schema.ActionAdd}, idea{fact: facts[1], action: schema.ActionAdd})
	require.Equal(t, 2, w.write(r).Added)
	require.Equal(t, 8, w.link(r).Mentions, "four entities, each in the source and in one fact")
	w.requireExactMentions()
}

func TestConcurrentLinksCountExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ranges []schema.Range
	for i := range 4 {
		_, r := w.linkable(fmt.Sprintf("Alice, Bob, Carol and Dave met %d times", i), triple("Alice", "met", "Bob"),
			triple("Carol", "met", "Dave"), triple("Dave", "met", "Alice"),
			triple("Bob", "met", fmt.Sprintf("guest %d", i)))
		ranges = append(ranges, r)
	}
	errs := make(chan error, 16)
	var wg sync.WaitGroup
	for i := range cap(errs) {
		wg.Go(func() {
			_, err := w.Link(ctx, ranges[i%4], w.now)
			errs <- err
		})
	}
	wg.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 4, w.mentions("alice"))
	require.Equal(t, 8, w.count("entities", "true"))
	require.Equal(t, 3, w.count("entity_relations", "mentions = 4"))
	w.requireExactMentions()
}

func TestLinkSkipsForgottenMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("Alice owes Bob money", "Alice likes Bob")...)
	gone, kept := uuid.MustParse(ack.MemoryIDs[0]), uuid.MustParse(ack.MemoryIDs[1])
	require.NoError(t, w.SaveExtractions(ctx, "t", []pipeline.Extracted{
		{CandidateID: gone, Extraction: memory.Extraction{Triples: []memory.Triple{triple("Alice", "owes", "Bob"),
			triple("Alice", "owes", "Secret Corp")}}},
		{CandidateID: kept, Extraction: memory.Extraction{Triples: []memory.Triple{triple("Alice", "likes", "Bob")}}}},
		w.now))
	w.forget(gone)
	require.Equal(t, schema.LinkCounts{Entities: 2, Relations: 1, Mentions: 2}, w.link(r))
	require.Zero(t, w.count("entity_relations", "relationship = 'owes'"), "forgotten means forgotten")
}

func TestLinkFailureRevertsNoFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, r := w.linkable("XyzzyCanary knows Bob", triple("XyzzyCanary", "knows", "Bob"))
	for _, table := range []string{"entities", "entity_relations", "memory_entity_mentions", "memory_candidates"} {
		before := w.snapshot()
		w.breaking(table, func() {
			_, err := w.Link(ctx, r, w.now)
			require.Error(t, err, table)
			require.NotContains(t, err.Error(), "XyzzyCanary")
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	require.NotEmpty(t, w.get(id).Content)
	require.Equal(t, 2, w.link(r).Mentions, "a retry adds the facts")
}

func TestShadowLinksNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Mode = schema.ModeShadow
	_, r := w.linkable("Alice knows Bob", triple("Alice", "knows", "Bob"))
	require.Equal(t, schema.LinkCounts{}, w.link(r))
	require.Zero(t, w.count("entities", "true"))
}

func TestOutboxMergesAndSettlesEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, three := w.memory("the first"), w.memory("the second"), w.memory("the third")
	w.setVector(two, 0)
	entries, err := w.Outbox(ctx, "t", hash, nil, 10)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.Equal(t, []uuid.UUID{one, two, three},
		[]uuid.UUID{entries[0].MemoryID, entries[1].MemoryID, entries[2].MemoryID}, "oldest first")
	require.Equal(t, "the first", entries[0].Content)
	require.Nil(t, entries[0].Vector)
	require.Empty(t, entries[1].Content, "content is read only for what has to be embedded")
	require.Len(t, entries[1].Vector, 384)
	require.Equal(t, schema.TierSession, entries[0].Tier)

	// A memory changes after the index was updated and before the entry is settled.
	_, r := w.source("a correction",
		idea{fact: fact("the second, corrected"), action: schema.ActionUpdate, target: two})
	w.write(r)
	require.NoError(t, w.KeepEmbeddings(ctx, "t", hash, entries, map[uuid.UUID][]float32{one: axis(), three: axis()},
		w.now))
	require.NoError(t, w.SettleOutbox(ctx, "t", entries, w.now))
	require.Equal(t, 3, w.count("memory_embeddings", "true"))
	require.Zero(t, w.count("index_outbox", "memory_id = $1", one))
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'delete'", two), "the later change stays")
	only, err := w.Outbox(ctx, "t", hash, []uuid.UUID{two}, 10)
	require.NoError(t, err)
	require.Len(t, only, 1)
	require.True(t, only[0].Delete)
	require.Empty(t, only[0].Content)
	left, err := w.Outbox(ctx, "t", hash, nil, 10)
	require.NoError(t, err)
	require.Len(t, left, 3)
	theirs, err := w.Outbox(ctx, "t2", hash, nil, 10)
	require.NoError(t, err)
	require.Empty(t, theirs)

	ids, err := w.BatchMemories(ctx, r)
	require.NoError(t, err)
	require.Len(t, ids, 3, "source, fact and target")
	require.Contains(t, ids, two)

	// A memory whose content changed after it was embedded has no vector of the old words.
	w.exec(`UPDATE memories SET content_hash = sha256('x') WHERE id = $1`, one)
	w.exec(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) VALUES ('t', $1, 2, 'upsert', now())`,
		one)
	again, err := w.Outbox(ctx, "t", hash, []uuid.UUID{one}, 10)
	require.NoError(t, err)
	require.Nil(t, again[0].Vector)
	require.NoError(t, w.KeepEmbeddings(ctx, "t", hash, entries[:1], map[uuid.UUID][]float32{one: make([]float32, 384)},
		w.now))
	require.NoError(t, w.SettleOutbox(ctx, "t", entries[:1], w.now))
	require.Zero(t, w.count("memory_embeddings", "memory_id = $1 AND content_hash = sha256('x')", one),
		"a late vector of the old words is not stored")
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1", one))
}
