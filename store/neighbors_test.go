package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

func (w *world) neighbors(f memory.Fact, exclude uuid.UUID, v []float32) []memory.Neighbor {
	w.t.Helper()
	q := search.NeighborQuery{Fact: f, Exclude: exclude}
	if v != nil {
		q.Embedding = &pg.Embedding{Model: hash, Vector: v}
	}
	out, err := w.Neighbors(ctx, w.p, []search.NeighborQuery{q})
	require.NoError(w.t, err)
	return out[0]
}

// setVector gives a memory an embedding at an angle to axis, in a random direction: an approximate index loses points
// if many are the same.
func (w *world) setVector(id uuid.UUID, angle float64) {
	w.t.Helper()
	v := make([]string, 384)
	for i := range v {
		v[i] = "0"
	}
	v[0], v[1+(int(id[14])<<8|int(id[15]))%383] = fmt.Sprint(math.Cos(angle)), fmt.Sprint(math.Sin(angle))
	w.exec(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
		created_at)
		SELECT tenant, gen_random_uuid(), id, 'hash-v1', 384, $2::text::vector, tier, typology, content_hash, now()
			FROM memories WHERE id = $1`, id, "["+strings.Join(v, ",")+"]")
}

func axis() []float32 { v := make([]float32, 384); v[0] = 1; return v }

func ids(ns []memory.Neighbor) []string {
	var out []string
	for _, n := range ns {
		out = append(out, n.ID)
	}
	return out
}

func TestNeighborsAreTheOwnersLiveMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := lives("Alice lives in Paris", "Alice", "Paris")
	foreign := map[string]*world{}
	for name, change := range map[string]func(*world){"agent": func(w *world) {
		w.p.Agent, w.vis = "b", schema.VisibilityGlobal
	},
		"project": func(w *world) { w.p.Project = "p" }, "scope": func(w *world) { w.p.Scope = "s" },
		"tenant": func(w *world) { w.p.Tenant = "t2" }} {
		other := *w
		change(&other)
		id := other.memory("Alice lives in Paris")
		other.setVector(id, 0)
		other.exec(`INSERT INTO entity_claims SELECT tenant, id, 'Alice', 'lives_in', 'Paris', true, now() FROM memories
			WHERE id = $1`, id)
		foreign[name] = &other
	}
	require.Empty(t, w.neighbors(f, uuid.Nil, axis()))

	same := w.memory("alice lives in PARIS.")
	claimed := w.memory("wholly different words")
	w.exec(`INSERT INTO entity_claims SELECT tenant, id, 'ALICE', 'lives_in', 'Rome', true, now() FROM memories
		WHERE id = $1`, claimed)
	textual := w.memory("Paris is where Alice works")
	near := w.explicit("nothing in common")
	w.setVector(near, 0.3)
	far := w.explicit("not even close")
	w.setVector(far, math.Pi/2)
	got := w.neighbors(f, uuid.Nil, axis())
	require.ElementsMatch(t, []string{same.String(), claimed.String(), near.String(), textual.String()}, ids(got))
	require.Equal(t, same.String(), got[0].ID)
	require.InDelta(t, 1, got[0].Score, 1e-9)
	for i, n := range got {
		require.Equal(t, 1, n.Version)
		require.NotEmpty(t, n.Hash)
		if i > 0 {
			require.LessOrEqual(t, n.Score, got[i-1].Score)
		}
		if n.ID == claimed.String() {
			require.Equal(t, memory.Claim{Subject: "ALICE", Predicate: "lives_in", Object: "Rome", Functional: true},
				n.Claim)
		}
	}
	require.NotContains(t, ids(w.neighbors(f, same, axis())), same.String(),
		"a source is no neighbour of its own facts")
	require.NotContains(t, ids(w.neighbors(f, uuid.Nil, nil)), near.String())
	for _, id := range []uuid.UUID{same, claimed, textual, near} {
		w.forget(id)
	}
	require.Empty(t, w.neighbors(f, uuid.Nil, axis()), "deleted memories are no neighbours")
	for name, other := range foreign {
		require.Len(t, other.neighbors(f, uuid.Nil, axis()), 1, "%s: each tenant sees its own", name)
	}
}

func TestDeletedAndForeignMemoriesAreNoNeighbors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent := w.memory("heron heron heron said the source")
	w.setVector(parent, 0)
	other := *w
	other.p.Agent = "b"
	for i := range 6 { // more in total than a channel returns, fewer than a point of the index has links
		for _, x := range []*world{w, &other} {
			id := x.explicit(fmt.Sprintf("heron heron %d", i))
			x.setVector(id, 0.1)
			x.exec(`INSERT INTO entity_claims SELECT tenant, id, 'heron', 'eats', 'fish', false, now() FROM memories
				WHERE id = $1`, id)
			if x == w {
				x.forget(id)
			}
		}
	}
	byText := w.memory("one heron among quite a few other birds")
	byVector := w.explicit("found by its vector alone")
	w.setVector(byVector, 0.5)
	byClaim := w.memory("found by its claim alone")
	w.exec(`INSERT INTO entity_claims SELECT tenant, id, 'heron', 'eats', 'frogs', false, '2000-01-01' FROM memories
		WHERE id = $1`, byClaim)
	f := fact("heron heron")
	f.Claim = memory.Claim{Subject: "heron", Predicate: "eats", Object: "eels"}
	require.ElementsMatch(t, []string{byText.String(), byVector.String(), byClaim.String()},
		ids(w.neighbors(f, parent, axis())),
		"memories are excluded before the limit, in every channel")
}

// Episodes do not take the places of memories that a fact may change, however near they are.
func TestNearerEpisodesDoNotHideALastingNeighbor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		w.setVector(w.memory(fmt.Sprintf("an episode in words like %d", i)), 0.1)
	}
	lasting := w.explicit("something that lasts")
	w.setVector(lasting, 0.5)
	for _, scan := range []int64{0, -1} { // compared one by one, and by the index
		w.ScanUpTo = scan
		require.Equal(t, []string{lasting.String()}, ids(w.neighbors(fact("zyzzyva"), uuid.Nil, axis())))
	}
}

func TestNeighborsOfManyFactsAreFivePerFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var queries []search.NeighborQuery
	want := make([]map[string]bool, 20)
	for i := range 20 {
		want[i] = map[string]bool{}
		for k := range 7 {
			want[i][w.memory(fmt.Sprintf("subject%d was seen %d times", i, k)).String()] = true
		}
		queries = append(queries, search.NeighborQuery{Fact: fact(fmt.Sprintf("subject%d", i))})
	}
	queries = append(queries, search.NeighborQuery{Fact: fact("of the and")},
		search.NeighborQuery{Fact: fact("zyzzyva")})
	got, err := w.Neighbors(ctx, w.p, queries)
	require.NoError(t, err)
	require.Len(t, got, 22)
	for i := range 20 {
		require.Len(t, got[i], 5)
		for _, n := range got[i] {
			require.True(t, want[i][n.ID], "fact %d is offered %q", i, n.Content)
		}
	}
	require.Empty(t, got[20])
	require.Empty(t, got[21])
}

// A memory that a fact changes is a neighbour, although it only has another word for what the fact is about. A memory
// that the fact does not change is not, even if it has such words.
func TestNeighborsHaveOtherWordsForAnAttribute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ghent := w.explicit("I live in Ghent.")
	for _, other := range []string{"I work from home on Fridays.", "I like the town of Ghent.", "My sister lives in Ghent.",
		"My house has a red door.", "I live with Tom."} {
		w.explicit(other)
	}
	moved := fact("I moved to Antwerp.")
	require.Equal(t, []string{ghent.String()}, ids(w.neighbors(moved, uuid.Nil, nil)))
	require.Empty(t, w.neighbors(moved, ghent, nil), "the source of the fact")
	require.Empty(t, w.agent("b", "").neighbors(moved, uuid.Nil, nil), "that of another agent")
	maya := *w
	maya.p.Scope = schema.UserScope("maya")
	require.Empty(t, maya.neighbors(moved, uuid.Nil, nil), "that of no user")
	require.NotContains(t, ids(w.neighbors(fact("I climbed a hill near Antwerp."), uuid.Nil, nil)), ghent.String())
}

// Memories that only share such words neither hide the one that changes nor take the places of similar ones.
func TestNeighborsOfAnAttributeAmongMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ghent := w.explicit("I live in Ghent.")
	var similar []string
	for i := range proposals.OfferedNeighbors {
		similar = append(similar, w.explicit(fmt.Sprintf("Antwerp has museum number %d.", i)).String())
		w.explicit(fmt.Sprintf("The house of neighbour number %d is red.", i))
	}
	got := ids(w.neighbors(fact("I moved to Antwerp."), uuid.Nil, nil))
	require.Len(t, got, proposals.OfferedNeighbors)
	require.Equal(t, ghent.String(), got[0], "the one that changes comes first")
	require.Subset(t, similar, got[1:])
}
