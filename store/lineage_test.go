package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// edge adds a relation between two memories directly in the database.
func (w *world) edge(from uuid.UUID, predicate string, to uuid.UUID, reason string) {
	w.t.Helper()
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at, reason)
		SELECT tenant, id, $2, $3, created_at, $4 FROM memories WHERE id = $1`,
		from, predicate, to, reason)
}

func (w *world) lineage(id uuid.UUID, depth int) read.Lineage {
	w.t.Helper()
	l, err := w.Lineage(ctx, w.p, id, depth)
	require.NoError(w.t, err)
	require.Equal(w.t, id.String(), l.Nodes[0].ID)
	return l
}

func nodesOf(l read.Lineage) []string {
	out := []string{}
	for _, n := range l.Nodes {
		out = append(out, n.ID)
	}
	slices.Sort(out)
	return out
}

func sorted(ids ...uuid.UUID) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, id.String())
	}
	slices.Sort(out)
	return out
}

func TestLineage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	talk, log := w.memory("a long talk with Dana"), w.memory("a log file")
	oldest, older, fact := w.explicit("Dana drinks water"), w.explicit("Dana drinks tea"), w.explicit("Dana "+
		"drinks coffee")
	sibling, skill, rival, friend := w.explicit("Dana has a cat"), w.explicit("brew coffee for "+
		"Dana"), w.explicit("Dana drinks cocoa"), w.explicit("Dana owns a mill")
	w.edge(fact, "derived_from", talk, "")
	w.edge(sibling, "derived_from", talk, "")
	w.edge(older, "derived_from", log, "")
	w.edge(skill, "derived_from", fact, "practised twice")
	w.edge(fact, "supersedes", older, "she changed her mind")
	w.edge(older, "supersedes", oldest, "")
	w.edge(fact, "contradicts", rival, "")
	w.edge(friend, "supports", fact, "")
	w.exec(`UPDATE memories SET status = 'superseded', superseded_by = $2 WHERE id = $1`, older, fact)
	// Superseded by the column alone, as a record that was put may be.
	ancestor := w.explicit("Dana drinks milk")
	w.exec(`UPDATE memories SET status = 'superseded', superseded_by = $2 WHERE id = $1`, ancestor, oldest)

	l := w.lineage(fact, 0)
	require.Equal(t, sorted(fact, talk, older, oldest, ancestor, log, skill, rival, friend), nodesOf(l),
		"all but the sibling")
	require.Empty(t, l.Cut)
	require.Len(t, l.Edges, 8, "an edge in both the columns and the relations is returned once")
	for _, e := range l.Edges {
		if e.Predicate == "supersedes" && e.To == older.String() {
			require.Equal(t, "she changed her mind", e.Reason)
			require.Equal(t, "agent:a", e.Actor)
			require.True(t, w.now.Equal(*e.At))
		}
		if e.Predicate == "derived_from" && e.From == fact.String() {
			require.Equal(t, "ingested as memory", e.Reason, "the reason is that of the step that created it")
		}
	}
	for _, n := range l.Nodes {
		require.NotNil(t, n.LastStep)
		require.Equal(t, schema.AuditCreate, n.LastStep.Action)
		require.Equal(t, "agent:a", n.CreatedBy)
	}
	require.Equal(t, sorted(oldest, ancestor, older, fact), nodesOf(w.lineage(oldest, 0)),
		"forwards along the chain, not to memories derived from others")
	require.Equal(t, sorted(talk, fact, sibling, skill), nodesOf(w.lineage(talk, 0)))

	near := w.lineage(fact, 1)
	require.Equal(t, sorted(fact, talk, older, skill, rival, friend), nodesOf(near))
	require.Equal(t, []string{"depth"}, near.Cut)
	require.Empty(t, w.lineage(fact, 3).Cut, "nothing is farther away")
}

func TestLineageWithholds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.memory("the root of it")
	secret := w.memory("what nobody else may read")
	open := w.explicit("what all may read")
	w.edge(open, "derived_from", secret, "a telling reason")
	w.edge(secret, "derived_from", root, "")
	w.exec(`UPDATE memories SET visibility = 'global' WHERE id = $1`, open)
	stranger := schema.Principal{Tenant: "t", Agent: "b"}
	l, err := w.Lineage(ctx, stranger, open, 0)
	require.NoError(t, err)
	require.Equal(t, sorted(open, secret), nodesOf(l), "nothing after a withheld memory")
	require.Equal(t, read.LineageNode{ID: secret.String(), Distance: 1, Withheld: true}, l.Nodes[1])
	require.Equal(t, read.LineageEdge{From: open.String(), Predicate: "derived_from", To: secret.String(), Weight: 1},
		l.Edges[0])
	_, err = w.Lineage(ctx, stranger, secret, 0)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = w.Lineage(ctx, w.p, uuid.New(), 0)
	require.ErrorIs(t, err, pg.ErrNotFound)

	// A deleted memory is withheld as well.
	w.exec(`UPDATE memories SET superseded_by = $2, status = 'superseded' WHERE id = $1`, open, uuid.New())
	require.True(t, w.lineage(open, 0).Nodes[1].Withheld || w.lineage(open, 0).Nodes[2].Withheld)
}

func TestLineageStopsAtCyclesAndAtItsLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, c := w.memory("one"), w.memory("two"), w.memory("three")
	for _, pair := range [][2]uuid.UUID{{a, b}, {b, c}, {c, a}} {
		w.edge(pair[0], "derived_from", pair[1], "")
		w.edge(pair[0], "supersedes", pair[1], "")
		w.edge(pair[0], "contradicts", pair[1], "")
	}
	l := w.lineage(a, read.MaxLineageDepth)
	require.Equal(t, sorted(a, b, c), nodesOf(l))
	require.Empty(t, l.Cut)

	w.exec(`INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content,
		content_hash, payload, confidence, importance, salience,
			salience_at, decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy,
			occurred_at, created_at, updated_at, created_by)
		SELECT 't', gen_random_uuid(), 'a', 'episodic', 'fact', 'session', 'episodic', 'n' || g, 'n' || g,
		sha256(('n' || g)::bytea), '{"kind": "episodic", "timeline": []}', 1, 0.5, 1,
			now(), 'exponential', '1 day', 0, 0, now(), 'auto_prune', now(), now(), now(), 'x'
				FROM generate_series(1, 5000) g`)
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		SELECT 't', id, 'derived_from', $1, now() FROM memories WHERE content ~ '^n[0-9]+$'`, c)
	l = w.lineage(c, 2)
	require.Len(t, l.Nodes, read.MaxLineageNodes)
	require.Contains(t, l.Cut, "nodes")
	require.LessOrEqual(t, len(l.Edges), 4*read.MaxLineageNodes, fmt.Sprint(len(l.Edges)))
}
