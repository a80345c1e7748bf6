package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

func (w *world) hints(id uuid.UUID) map[string]string {
	w.t.Helper()
	rows, err := w.owner.Query(ctx, `SELECT hint, source FROM memory_hints WHERE memory_id = $1`, id)
	require.NoError(w.t, err)
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var hint, source string
		require.NoError(w.t, rows.Scan(&hint, &source))
		out[hint] = source
	}
	require.NoError(w.t, rows.Err())
	return out
}

func hitIDs(t testing.TB, hits []search.Hit, err error) []uuid.UUID {
	t.Helper()
	require.NoError(t, err)
	out := make([]uuid.UUID, len(hits))
	for i, h := range hits {
		require.True(t, h.Score > 0 && h.Score <= 1, h.Score)
		if i > 0 {
			require.LessOrEqual(t, h.Score, hits[i-1].Score)
		}
		out[i] = h.ID
	}
	return out
}

// written takes a source and one of its facts through the pipeline and returns the memory of the fact.
func (w *world) written(source string, f memory.Fact) uuid.UUID {
	w.t.Helper()
	_, r := w.source(source, idea{fact: f, action: schema.ActionAdd})
	require.Equal(w.t, 1, w.write(r).Added)
	var id uuid.UUID
	require.NoError(w.t,
		w.owner.QueryRow(ctx, `SELECT memory_id FROM proposals WHERE batch_id = $1 AND state = 'applied'`,
			r.BatchID).Scan(&id))
	return id
}

func TestHintsFindMemoriesInOtherWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := lives("Alice lives in Lisbon", "Alice", "Lisbon")
	f.Hints = []string{"Whom could we visit in Portugal?"}
	id := w.written("a talk about Alice, who has moved", f)
	require.Equal(t, map[string]string{"Whom could we visit in Portugal?": "model",
		"Where is the home, residence or address of Alice, in which city, town, state or country is Alice " +
			"based?": "rules"}, w.hints(id))
	mine := pg.Filter{Principal: w.p}
	hits, err := w.SearchHints(ctx, mine, question(t, w, mine, "what is the address of Alice"), 10)
	require.Equal(t, []uuid.UUID{id}, hitIDs(t, hits, err))
	hits, err = w.SearchHints(ctx, mine, question(t, w, mine, "portugal"), 10)
	require.Equal(t, []uuid.UUID{id}, hitIDs(t, hits, err))
	for _, query := range []string{"Lisbon", "what is the", "?!", "", "'a' & | !"} {
		hits, err = w.SearchHints(ctx, mine, question(t, w, mine, query), 10)
		require.Empty(t, hitIDs(t, hits, err), query)
	}
	for _, other := range []pg.Filter{{Principal: schema.Principal{Tenant: "t", Agent: "b"}},
		{Principal: schema.Principal{Tenant: "t2", Agent: "a"}},
		{Principal: schema.Principal{Tenant: "t", Agent: "a", Scope: "s"}}} {
		hits, err = w.SearchHints(ctx, other, question(t, w, other, "address of Alice"), 10)
		require.Empty(t, hitIDs(t, hits, err))
	}
	w.forget(id)
	hits, err = w.SearchHints(ctx, mine, question(t, w, mine, "address of Alice"), 10)
	require.Empty(t, hitIDs(t, hits, err))
}

// A hint and a query use different words with the same meaning: the expansion of the query finds the hint.
func TestKeywordExpansionReachesHints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := fact("Rex came home with us")
	f.Hints = []string{"Which dog did the family get?"}
	id := w.written("a talk about a new friend", f)
	mine := pg.Filter{Principal: w.p}
	find := func(expansion string) []uuid.UUID {
		q, err := w.Analyse(ctx, "t", search.Wording{Query: "what pet is there", Expansion: expansion})
		require.NoError(t, err)
		hits, err := w.SearchHints(ctx, mine, q, 10)
		return hitIDs(t, hits, err)
	}
	require.Empty(t, find(""))
	require.Equal(t, []uuid.UUID{id}, find(rank.ExpandQuery("what pet is there")))
}

func TestASourceGetsTheHintsOfItsFactOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := lives("Alice lives in Lisbon", "Alice", "Lisbon")
	ack, r := w.stage(schema.Candidate{Content: f.Content, SourceKind: schema.SourceMemory})
	parent := uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, parent, idea{fact: f, action: schema.ActionAdd})
	w.write(r)
	w.write(r) // delivered twice
	require.Len(t, w.hints(parent), 1)
}

func TestHintsAreReplacedWithTheirText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := lives("Alice lives in Lisbon", "Alice", "Lisbon")
	f.Hints = []string{"Whom could we visit in Portugal?"}
	id := w.written("a talk about Alice, who has moved", f)
	text := "I have got a puppy"
	_, err := w.Modify(ctx, w.modifyInput(schema.Patch{ID: id.String(), Content: &text, Who: ptr("Bob")}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Which pets or animals does Bob have?": "rules"}, w.hints(id))
	_, err = w.Modify(ctx, w.modifyInput(schema.Patch{ID: id.String(), Who: ptr("Carl")}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Which pets or animals does Carl have?": "rules"}, w.hints(id))
	_, err = w.Modify(ctx, w.modifyInput(schema.Patch{ID: id.String(), Tags: &[]string{"x"}}))
	require.NoError(t, err)
	require.Len(t, w.hints(id), 1)
}

func TestErasureLeavesNoHint(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetErase, schema.ForgetForce} {
		w := newWorld(t)
		f := lives("Alice lives in Lisbon", "Alice", "Lisbon")
		f.Hints = []string{"Whom could we visit in Portugal?"}
		id := w.written("a talk about Alice, who has moved", f)
		kept := w.written("another talk, of Bob", lives("Bob lives in Rome", "Bob", "Rome"))
		run := w.selects(w.forgets(mode, schema.Selector{IDs: []string{id.String()}}))
		_, err := w.confirm(run, w.token(run))
		require.NoError(t, err)
		_, err = w.ForgetBatch(ctx, "t", uuid.MustParse(run.RunID), 500, w.now)
		require.NoError(t, err)
		require.Empty(t, w.hints(id))
		require.Len(t, w.hints(kept), 1)
		require.Zero(t, w.count("memory_candidates", "extraction::text LIKE '%Portugal%'"),
			"nor in the extraction")
		require.Zero(t, w.count("proposals", "fact::text LIKE '%Portugal%'"))
	}
}

func TestClaimsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := fact("She goes there every morning, rain or shine")
	f.Claim = memory.Claim{Subject: "Alice Moore", Predicate: "works_at", Object: "Initech"}
	id := w.written("a talk of work", f)
	g := fact("There is nothing better in his opinion")
	g.Claim = memory.Claim{Subject: "Bob", Predicate: "likes", Object: "tea"}
	tea := w.written("a talk of tea", g)
	mine := pg.Filter{Principal: w.p, Now: w.now}
	hits, err := w.SearchClaims(ctx, mine, question(t, w, mine, "where does Alice work?"), 10)
	require.Equal(t, []uuid.UUID{id}, hitIDs(t, hits, err))
	m := w.get(id)
	require.InDelta(t, 0.55+0.3*m.Importance+0.15*m.Confidence, hits[0].Score, 1e-9, "each word of the query matches")
	hits, err = w.SearchClaims(ctx, mine, question(t, w, mine, "does Bob or Alice like tea, or Alice's coffee"), 10)
	require.Equal(t, []uuid.UUID{tea, id}, hitIDs(t, hits, err), "the claim with more of the words first")
	for _, other := range []pg.Filter{{Principal: schema.Principal{Tenant: "t", Agent: "b"}},
		{Principal: schema.Principal{Tenant: "t2", Agent: "a"}}} {
		hits, err = w.SearchClaims(ctx, other, question(t, w, other, "where does Alice work?"), 10)
		require.Empty(t, hitIDs(t, hits, err))
	}
	for _, query := range []string{"", "the", "&!", "x:*", strings.Repeat("word ", 5000)} {
		_, err = w.SearchClaims(ctx, mine, question(t, w, mine, query), 10)
		require.NoError(t, err)
	}
}

// graph inserts a chain of entities directly, each named by one memory: c0 - c1 - c2 …
func (w *world) graph(names ...string) []uuid.UUID {
	w.t.Helper()
	var memories, entities []uuid.UUID
	for i, name := range names {
		memories, entities = append(memories,
			w.memory(fmt.Sprintf("memory number %d about something", i))), append(entities, uuid.New())
		w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
			VALUES ('t', $1, $2, $2, 1, now(), now())`, entities[i], name)
		w.exec(`INSERT INTO memory_entity_mentions VALUES ('t', $1, $2, now())`, memories[i], entities[i])
		if i > 0 {
			w.graphEdge(entities[i-1], entities[i], 0.9, 3)
		}
	}
	return memories
}

// graphEdge inserts an edge directly, with a number of mentions by the world's own memories.
func (w *world) graphEdge(from, to uuid.UUID, confidence float64, mentions int) {
	w.t.Helper()
	w.exec(`INSERT INTO entity_relations VALUES ('t', $1, 'knows', $2, $3, $4, now(), now())`, from, to, mentions,
		confidence)
	for n := range mentions {
		w.says(w.memory(fmt.Sprintf("witness %d of %s and %s", n, from, to)), from, to)
	}
}

func (w *world) says(memory, from, to uuid.UUID) {
	w.t.Helper()
	w.exec(`INSERT INTO entity_relation_sources VALUES ('t', $1, $2, 'knows', $3)`, memory, from, to)
}

// A forgotten memory, or one that only others may see, connects no entities.
func TestTheGraphIsWalkedAlongVisibleEdges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	named := w.graph("ann", "bob")
	var ann, bob uuid.UUID
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT min(id::text) FILTER (WHERE canonical_name = 'ann'), min(id::text) FILTER (WHERE canonical_name = 'bob')
			FROM entities`).Scan(&ann, &bob))
	mine := pg.Filter{Principal: w.p}
	find := func(f pg.Filter) []uuid.UUID {
		hits, err := w.SearchGraph(ctx, f, question(t, w, f, "what does ann do?"), 10)
		return hitIDs(t, hits, err)
	}
	require.Equal(t, named, find(mine))
	w.exec(`DELETE FROM entity_relation_sources`)
	require.Equal(t, named[:1], find(mine), "no memory mentions it any more")

	said := w.memory("ann and bob are old friends")
	w.says(said, ann, bob)
	require.Equal(t, named, find(mine))
	w.exec(`UPDATE memories SET agent_id = 'other' WHERE id = $1`, said)
	require.Equal(t, named[:1], find(mine), "another agent's secret")
	w.exec(`UPDATE memories SET visibility = 'global' WHERE id = $1`, said)
	require.Equal(t, named, find(pg.Filter{Principal: w.p, ReadPolicy: schema.ReadShared}))
	w.exec(`UPDATE memories SET agent_id = 'a', sensitivity = 'high' WHERE id = $1`, said)
	require.Equal(t, named[:1], find(mine), "above the limit")
	require.Equal(t, named, find(pg.Filter{Principal: w.p, MaxSensitivity: schema.SensitivityHigh}))
	w.exec(`UPDATE memories SET sensitivity = 'low', deleted_at = now() WHERE id = $1`, said)
	require.Equal(t, named[:1], find(mine), "forgotten")
}

func TestTheGraphIsWalkedFromEntitiesOfTheQuery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chain := w.graph("atlas project", "initech", "berlin", "spree")
	mine := pg.Filter{Principal: w.p}
	hits, err := w.SearchGraph(ctx, mine, question(t, w, mine, "who runs the Atlas Project?"), 10)
	require.Equal(t, chain[:3], hitIDs(t, hits, err), "two edges away, the nearest first")
	hits, err = w.SearchGraph(ctx, mine, question(t, w, mine, "what flows through Berlin?"), 10)
	require.ElementsMatch(t, chain, hitIDs(t, hits, err), "an edge is followed in both directions")
	for _, query := range []string{"nobody", "?!", "", "atlas"} {
		hits, err = w.SearchGraph(ctx, mine, question(t, w, mine, query), 10)
		require.Empty(t, hitIDs(t, hits, err), query)
	}
	for _, other := range []pg.Filter{{Principal: schema.Principal{Tenant: "t", Agent: "b"}},
		{Principal: schema.Principal{Tenant: "t2", Agent: "a"}}} {
		hits, err = w.SearchGraph(ctx, other, question(t, w, other, "atlas project"), 10)
		require.Empty(t, hitIDs(t, hits, err))
	}
	w.exec(`UPDATE entity_relations SET confidence = 0.4 WHERE tenant = 't'`)
	hits, err = w.SearchGraph(ctx, mine, question(t, w, mine, "atlas project"), 10)
	require.Equal(t, chain[:1], hitIDs(t, hits, err), "edges of low confidence are not followed")
	w.exec(`UPDATE entity_relations SET confidence = 0.55, mentions = 1 WHERE tenant = 't'`)
	w.exec(`DELETE FROM entity_relation_sources x USING entity_relation_sources y WHERE x.source_id = y.source_id
		AND x.target_id = y.target_id AND x.memory_id > y.memory_id`)
	hits, err = w.SearchGraph(ctx, mine, question(t, w, mine, "atlas project"), 10)
	require.Equal(t, chain[:1], hitIDs(t, hits, err), "nor weak edges: 0.55 of a half")
}

// The cost of a hub is bounded, and no statement is sent for each edge or node.
func TestAHubCostsOneStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chain := w.graph("hub", "spoke")
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT 't', lpad(to_hex(g), 32, '0')::uuid, 'node' || g, 'node', 0, now(), now()
			FROM generate_series(1, 3000) g`)
	w.exec(`INSERT INTO entity_relations SELECT 't', (SELECT id FROM entities
		WHERE canonical_name = 'hub'), 'knows', id, 5, 0.8, now(), now() FROM entities
			WHERE canonical_name LIKE 'node%'`)
	w.exec(`INSERT INTO entity_relations SELECT 't', a.id, 'knows', b.id, 5, 0.8, now(), now()
		FROM entities a, entities b WHERE a.canonical_name LIKE 'node1%'
			AND b.canonical_name IN ('node7', 'node8', 'spoke')`)
	w.exec(`INSERT INTO entity_relation_sources SELECT 't', $1, source_id, relationship, target_id FROM entity_relations
		ON CONFLICT DO NOTHING`, chain[0])
	listen := &tracer{}
	s, err := store.OpenTraced(ctx, w.url, listen)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	var hits []search.Hit
	sent, err := listen.of(func() error {
		hits, err = s.SearchGraph(ctx, pg.Filter{Principal: w.p},
			question(t, s, pg.Filter{Principal: w.p}, "tell me of the hub"), 50)
		return err
	})
	require.Contains(t, hitIDs(t, hits, err), chain[1])
	selects := 0
	for _, st := range sent {
		if strings.Contains(st.sql, "FROM") {
			selects++
		}
	}
	require.LessOrEqual(t, selects, 3, "the words, the corpus, the walk")
}

func TestTimeSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(days int) *time.Time { d := w.now.AddDate(0, 0, days); return &d }
	put := func(content string, when *time.Time) uuid.UUID {
		ack, _ := w.stage(schema.Candidate{Content: content, OccurredAt: when})
		return uuid.MustParse(ack.MemoryIDs[0])
	}
	yesterday, before := put("we walked along the river", at(-1)), put("we stayed at home", at(-5))
	mine := pg.Filter{Principal: w.p}
	find := func(query string, f pg.Filter) []uuid.UUID {
		hits, err := w.SearchTime(ctx, f, timeexpr.ParseTimes(query, w.now), 10)
		return hitIDs(t, hits, err)
	}
	require.Equal(t, []uuid.UUID{yesterday}, find("what happened yesterday", mine))
	require.ElementsMatch(t, []uuid.UUID{yesterday, before},
		find("what happened last week or since monday or in february 2026", mine))
	require.Empty(t, find("what happened", mine))
	require.Empty(t, find("in 2019", mine))
	require.Equal(t, []uuid.UUID{before, yesterday}, append(find("4 days ago or 5 days ago", mine), yesterday))
	require.Empty(t, find("yesterday", pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "b"}}))
	require.Empty(t, find("yesterday", pg.Filter{Principal: schema.Principal{Tenant: "t2", Agent: "a"}}))

	w.exec(`UPDATE memories SET validity = 'timeboxed', valid_from = '2025-06-01', valid_until = '2025-09-01'
		WHERE id = $1`, before)
	require.Equal(t, []uuid.UUID{before}, find("in July 2025", mine), "what was valid then")
	require.Equal(t, []uuid.UUID{before}, find("before July 2025", mine))
	require.Empty(t, find("in September 2025", mine))
}
