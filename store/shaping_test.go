package store_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// Shaping reads nothing of a memory that the caller may not see, whatever ids are requested.
func TestShapingReadsThroughTheFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, now := w.memory("Ana lives in Lyon"), w.memory("Ana lives in Oslo")
	w.exec(`UPDATE memories SET status = 'superseded', superseded_by = $2, superseded_at = now() WHERE id = $1`, old,
		now)
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT tenant, gen_random_uuid(), 'ana', 'Ana', 7, now(), now() FROM memories WHERE id = $1`, now)
	w.exec(`INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at) SELECT tenant, $1, id, now()
		FROM entities`, now)
	w.exec(`INSERT INTO memory_access (tenant, memory_id, access_count, last_accessed_at) SELECT tenant, id, 3, now()
		FROM memories`)
	owner := w.p
	both := []uuid.UUID{old, now}
	for name, c := range map[string]struct {
		filter         pg.Filter
		live, outdated bool
	}{
		"the owner":                           {pg.Filter{Principal: owner}, true, false},
		"the owner, with superseded memories": {pg.Filter{Principal: owner, Superseded: true}, true, true},
		"another agent": {pg.Filter{Principal: schema.Principal{Tenant: owner.Tenant, Agent: "other"},
			Superseded: true}, false, false},
		"another tenant": {pg.Filter{Principal: schema.Principal{Tenant: "other", Agent: owner.Agent},
			Superseded: true}, false, false},
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
			accesses, err := w.Accesses(ctx, c.filter, both)
			require.NoError(t, err)
			require.Equal(t, []bool{c.live, c.outdated}, []bool{accesses[now].Times == 3, accesses[old].Times == 3})
			rows, err := w.Hydrate(ctx, c.filter, both, w.now)
			require.NoError(t, err)
			require.Equal(t, []bool{c.live, c.outdated},
				[]bool{rows[now].Content == "Ana lives in Oslo", rows[old].Content == "Ana lives in Lyon"})
		})
	}
}

// A memory that the caller may not see leads to no successor: whether it exists must not change an answer.
func TestAHiddenMemoryLeadsToNoSuccessor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, hidden, last := w.memory("Ana lives in Lyon"), w.memory("Ana lives in Nice"), w.memory("Ana lives in Oslo")
	said, fact := w.memory("we talked of Ana's flat"), w.memory("Ana rents a flat")
	restating, same := w.memory("Ana, with her flat"), w.memory("Ana has a flat")
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'derived_from', $2, now()), ('t', $3, 'restates', $4, now())`, fact, said, restating, same)
	for _, step := range [][2]uuid.UUID{{first, hidden}, {hidden, last}, {fact, last}, {same, last}} {
		w.exec(`UPDATE memories SET status = 'superseded', superseded_by = $2, superseded_at = now() WHERE id = $1`,
			step[0], step[1])
	}
	of := []uuid.UUID{first, said, restating}
	all := []search.Succession{{ID: first, Successor: last}, {ID: said, Successor: last}, {ID: restating, Successor: last}}
	for name, c := range map[string]struct {
		hide uuid.UUID
		want []search.Succession
	}{
		"all visible":       {uuid.Nil, all},
		"within a chain":    {hidden, all[1:]},
		"an extracted fact": {fact, []search.Succession{all[0], all[2]}},
		"a restated fact":   {same, all[:2]},
		"the first":         {first, all[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			w.exec(`UPDATE memories SET sensitivity = CASE WHEN id = $1 THEN 'high' ELSE 'low' END`, c.hide)
			found, err := w.Currentness(ctx, pg.Filter{Principal: w.p}, of, false)
			require.NoError(t, err)
			require.ElementsMatch(t, c.want, found.Successors)
		})
	}
}

// The same for supplements: a link shows nothing of the memory at its other end.
func TestSupplementsReadThroughTheFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	said, known, why := w.memory("we talked of Ana's new flat"), w.memory("Ana lives in Oslo"), w.memory("Ana wants "+
		"to be near the sea")
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'derived_from', $2, now()), ('t', $1, 'because', $3, now())`, known, said, why)
	w.exec(`INSERT INTO entity_claims (tenant, memory_id, subject, predicate, object, functional, created_at)
		VALUES ('t', $1, 'Ana', 'lives_in', 'Oslo', false, now())`, known)
	w.exec(`INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
		VALUES ('t', sha256('log'), 'text/plain', 3, 'log', 'a', now())`)
	w.exec(`INSERT INTO memory_artifacts (tenant, memory_id, sha256) VALUES ('t', $1, sha256('log'))`, known)
	w.exec(`UPDATE memories SET sensitivity = 'high' WHERE id = $1`, why)
	owner := w.p
	for name, c := range map[string]struct {
		filter        pg.Filter
		sees, reasons bool
	}{
		"the owner":          {pg.Filter{Principal: owner}, true, false},
		"the owner, cleared": {pg.Filter{Principal: owner, MaxSensitivity: schema.SensitivityHigh}, true, true},
		"another agent": {pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "other"},
			MaxSensitivity: schema.SensitivityHigh}, false, false},
		"another tenant": {pg.Filter{Principal: schema.Principal{Tenant: "other", Agent: owner.Agent},
			MaxSensitivity: schema.SensitivityHigh}, false, false},
		"the owner, elsewhere": {pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: owner.Agent,
			Scope: "elsewhere"}, MaxSensitivity: schema.SensitivityHigh}, false, false},
		"the owner, of one type": {pg.Filter{Principal: owner, Types: []schema.MemoryType{schema.TypeCompetence}},
			false, false},
		"the owner, of last year": {pg.Filter{Principal: owner, Until: new(w.now.AddDate(-1, 0, 0))}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			of := []uuid.UUID{known}
			sources, err := w.Sources(ctx, c.filter, of)
			require.NoError(t, err)
			require.Equal(t, c.sees, len(sources) == 1 && sources[0].ID == said)
			reasons, err := w.Rationale(ctx, c.filter, of)
			require.NoError(t, err)
			require.Equal(t, c.reasons, len(reasons) == 2 && reasons[0].ID == why)
			artifacts, err := w.Artifacts(ctx, c.filter, of)
			require.NoError(t, err)
			searched, err := w.SearchArtifacts(ctx, c.filter, []string{"lo", "nothing"}, 10)
			require.NoError(t, err)
			require.Equal(t, artifacts, searched)
			require.Equal(t, c.sees, len(artifacts) == 1 && artifacts[0].Text == "log")
			cards, err := w.Cards(ctx, c.filter, of, 5)
			require.NoError(t, err)
			require.Equal(t, c.sees, len(cards) == 1 && len(cards[0].Claims) == 1)
			found, err := w.RescueText(ctx, c.filter, []string{"flat", "osl"}, 5)
			require.NoError(t, err)
			require.Equal(t, c.sees, len(found) == 2)
		})
	}
}

// The fallback search covers all texts, by the words of their first 256 KiB, whatever bytes they contain.
func TestArtifactsAreSearchedByTheirWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("some files")
	put := func(mediaType string, content []byte) string {
		a, err := w.PutArtifact(ctx, w.p, bytes.NewReader(content), mediaType, "", w.now)
		require.NoError(t, err)
		w.exec(`INSERT INTO memory_artifacts (tenant, memory_id, sha256) VALUES ('t', $1, decode($2, 'hex'))`, id,
			strings.TrimPrefix(a.Address, schema.ArtifactPrefix))
		return a.Address
	}
	long := strings.Repeat("ü", 128<<10-1) + "ü saffron" // a character crosses the end of the indexed part
	texts := map[string]string{
		"kestr":  put("text/plain", []byte("the Kestrel nests")),
		"quoin":  put("application/json", []byte(`{"kind": "Quoin"}`)),
		"übel":   put("text/plain; charset=utf-8", []byte("Übel riecht es")),
		"broken": put("text/plain", append([]byte("broken \xff\x00 bytes "), 0xff, 0x00, 0xfe)),
		"middle": put("text/markdown", []byte("middle "+long)),
	}
	put("image/png", []byte("kestrel in a picture"))
	find := func(words ...string) []string {
		found, err := w.SearchArtifacts(ctx, pg.Filter{Principal: w.p}, words, 10)
		require.NoError(t, err)
		var out []string
		for _, a := range found {
			out = append(out, a.Address)
		}
		return out
	}
	for word, address := range texts {
		require.Equal(t, []string{address}, find(word), word)
	}
	require.Empty(t, find("saffr"), "after the indexed part")
	require.Equal(t, []string{texts["quoin"], texts["kestr"]}, find("quoin", "kind", "kestr"),
		"texts with most of the words first")
	w.forget(id)
	require.Empty(t, find("kestr"))
}

func TestHubDegreeIsCached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT 't', gen_random_uuid(), 'e' || n, 'e' || n, CASE WHEN n > 17 THEN 90 ELSE 1 END, now(), now()
			FROM generate_series(1, 20) n`)
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
