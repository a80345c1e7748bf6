package recall_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// leakNames is how many entities of a tenant are named by only a few memories.
const leakNames = 24

// leakPredicates are the predicates of relations between memories, in either direction.
var leakPredicates = []string{revision.RelationDerivedFrom, revision.RelationDerivedFrom, revision.RelationSupersedes,
	revision.RelationContradicts, "because_of", "based_on", "supports", "justifies"}

// tables maps table names to rows, to be inserted in the order of leakTables.
type tables map[string][]map[string]any

var leakTables = []string{"memories", "memory_embeddings", "memory_hints", "entity_claims", "entities",
	"memory_entity_mentions", "entity_relations", "entity_relation_sources",
	"memory_links", "memory_provenance", "artifacts", "memory_artifacts", "memory_access"}

func (t tables) add(table string, row map[string]any) { t[table] = append(t[table], row) }

func bytea(b []byte) string { return fmt.Sprintf(`\x%x`, b) }

// storeLeakWorld writes the memories with everything by which they can be found: vectors, hints, claims, names, the
// graph with the sources of its edges, random relations, provenance, shared artifacts, and sessions across agents. It
// returns the memories by mark and by artifact hash: what a caller may see of them is allowed in answers. The same
// random numbers make the same world.
func storeLeakWorld(t testing.TB, owner *pgx.Conn, r *rand.Rand, rows []leakRow) map[string][]*leakRow {
	t.Helper()
	holders := map[string][]*leakRow{}
	all := tables{}
	storeLeakMemories(t, r, rows, all, holders)
	for _, tenant := range []string{"t", "u"} {
		var own []*leakRow
		for i := range rows {
			if rows[i].p.Tenant == tenant {
				own = append(own, &rows[i])
			}
		}
		storeLeakGraph(r, tenant, own, all, holders)
		storeLeakArtifacts(r, tenant, own, all, holders)
		for n := range 4 * len(own) {
			from, to := oneOf(r, own...), oneOf(r, own...)
			if r.IntN(2) == 0 {
				to = oneOf(r, sameScope(from, own)...)
			}
			predicate := leakPredicates[n%len(leakPredicates)]
			if from.id != to.id {
				all.add("memory_links", map[string]any{"tenant": tenant, "source_id": from.id, "target_id": to.id,
					"weight": 1, "predicate": predicate,
					"reason": "because of " + to.secret, "created_at": leakNow})
			}
		}
	}
	for _, name := range leakTables {
		columns := []string{}
		for column := range all[name][0] {
			columns = append(columns, column)
		}
		encoded, err := json.Marshal(all[name])
		require.NoError(t, err)
		list := strings.Join(columns, ", ")
		_, err = owner.Exec(ctx, `INSERT INTO `+name+` (`+list+`) SELECT `+list+` FROM jsonb_populate_recordset(NULL::`+
			name+`, $1) ON CONFLICT DO NOTHING`, string(encoded))
		require.NoError(t, err, name)
	}
	// Without statistics the first cases would have other plans than the rest, which follow Postgres' own analysis.
	_, err := owner.Exec(ctx, `
		UPDATE entities e SET mentions = (SELECT count(*) FROM memory_entity_mentions x WHERE x.tenant = e.tenant
		AND x.entity_id = e.id);
		INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l WHERE m.live
		GROUP BY 1, 2;
		INSERT INTO corpus_stats SELECT tenant, count(*), sum(length(tsv)) FROM memories WHERE live GROUP BY 1;
		ANALYZE lexeme_stats, corpus_stats, `+strings.Join(leakTables, ", "))
	require.NoError(t, err)
	return holders
}

// sameScope returns the memories of the same scope.
func sameScope(row *leakRow, own []*leakRow) []*leakRow {
	var out []*leakRow
	for _, other := range own {
		if other.p.Agent == row.p.Agent && other.p.Project == row.p.Project && other.p.Scope == row.p.Scope {
			out = append(out, other)
		}
	}
	return out
}

func storeLeakMemories(t testing.TB, r *rand.Rand, rows []leakRow, all tables, holders map[string][]*leakRow) {
	t.Helper()
	embedder := rules.New().Embedder
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.content
	}
	vectors, _, err := embedder.Embed(ctx, texts)
	require.NoError(t, err)
	for i, row := range rows {
		holders[row.mark], holders[row.secret] = append(holders[row.mark], &rows[i]), append(holders[row.secret],
			&rows[i])
		hash := sha256.Sum256([]byte(row.content))
		tier, typology := memory.Placement(row.kind)
		m := map[string]any{"tenant": row.p.Tenant, "id": row.id, "agent_id": row.p.Agent, "project": row.p.Project,
			"scope": row.p.Scope, "visibility": row.vis,
			"policy_group": row.p.PolicyGroup, "version": 1, "type": row.kind, "category": row.category, "tier": tier,
			"typology": typology, "content": row.content,
			"normalized_content": strings.ToLower(row.content), "content_hash": bytea(hash[:]),
			"payload": json.RawMessage(row.payload()), "tags": append([]string{}, row.tags...),
			"language": "en", "who": row.who, "functional": false, "confidence": 0.9, "importance": row.importance,
			"salience": 1, "salience_at": leakNow,
			"decay_curve": "exponential", "half_life": "30 days", "min_salience": 0, "reinforcement_gain": 0.1,
			"last_reinforced_at": leakNow, "pinned": row.pinned,
			"deletion_policy": "manual_only", "status": row.status, "sensitivity": row.sensitivity, "source_trust": 1,
			"occurred_at": row.occurred,
			"created_at":  row.occurred, "updated_at": row.occurred, "created_by": "test", "decay_floor": 0,
			"conditions_hash": "", "revision_policy": "replace",
			"validity": "global", "conditions": nil, "valid_from": row.from, "valid_until": row.until,
			"agent_session_id": nil, "superseded_by": nil, "superseded_at": nil,
			"deleted_at": nil, "archived_at": nil, "safe_summary": "", "subject": nil, "predicate": nil, "object": nil}
		if row.gone != "" {
			m[row.gone] = leakNow
		}
		if row.from != nil {
			m["validity"] = "timeboxed"
		}
		if row.conditions != nil {
			m["validity"], m["conditions"], m["conditions_hash"] = "conditional", row.conditions, row.mark
		}
		if session := oneOf(r, leakSessions...); session != "" {
			m["agent_session_id"] = session
		}
		if row.status == schema.StatusSuperseded {
			m["superseded_at"] = leakNow
			if row.successor != uuid.Nil {
				m["superseded_by"] = row.successor
			}
		}
		if row.summary {
			m["safe_summary"] = "There is a needle sm" + row.mark[2:] + " about a " + oneOf(r, leakTopics...)
		}
		claims := r.IntN(2)
		if row.kind == schema.TypeSemantic {
			m["subject"], m["predicate"], m["object"] = "Alice", "keeps", row.content
			claims = 2
		}
		for n := range claims {
			subject := oneOf(r, slices.Concat(leakPeople, leakTopics, []string{leakName(r.IntN(leakNames))})...)
			holders[subject] = append(holders[subject], &rows[i])
			all.add("entity_claims", map[string]any{"tenant": row.p.Tenant, "memory_id": row.id, "subject": subject,
				"predicate": []string{oneOf(r, "keeps", "knows"), oneOf(r, "states", "owns")}[n],
				"object":    "the needle " + row.mark + " of " + row.secret, "functional": false,
				"created_at": leakNow})
		}
		all.add("memories", m)
		all.add("memory_embeddings", map[string]any{"tenant": row.p.Tenant, "id": leakID("vector", i),
			"memory_id": row.id, "model": embedder.Model().Name, "dims": len(vectors[i]),
			"embedding": pgvector.NewVector(vectors[i]).String(), "tier": tier, "typology": typology,
			"content_hash": bytea(hash[:]), "created_at": leakNow})
		for n, hint := range []string{"where is the needle " + row.mark,
			"who keeps the " + oneOf(r, leakTopics...) + " " + row.secret} {
			all.add("memory_hints", map[string]any{"tenant": row.p.Tenant, "memory_id": row.id, "position": n,
				"source": oneOf(r, "rules", "model"), "hint": hint, "created_at": leakNow})
		}
		if r.IntN(2) == 0 {
			all.add("memory_provenance", map[string]any{"tenant": row.p.Tenant, "memory_id": row.id, "position": 0,
				"kind": "event", "ref": "event:" + row.secret, "hash": "", "created_at": leakNow})
		}
		all.add("memory_access", map[string]any{"tenant": row.p.Tenant, "memory_id": row.id,
			"access_count": leakAccesses(i), "last_accessed_at": leakNow.AddDate(0, 0, -i%30)})
	}
}

// leakAccesses is the number of earlier recalls of the n-th memory.
func leakAccesses(n int) int64 { return int64(n % 7) }

func leakName(n int) string { return fmt.Sprintf("kn%04d", n) }

// storeLeakGraph generates the entities of a tenant, the memories that name them, and random edges, each stated by one
// or more memories, which may be hidden.
func storeLeakGraph(r *rand.Rand, tenant string, own []*leakRow, all tables, holders map[string][]*leakRow) {
	ids := map[string]uuid.UUID{}
	names := slices.Concat(leakPeople, leakTopics)
	for n := range leakNames {
		names = append(names, leakName(n))
	}
	for n, name := range names {
		ids[name] = leakID("entity "+tenant, n)
		all.add("entities", map[string]any{"tenant": tenant, "id": ids[name], "canonical_name": strings.ToLower(name),
			"name": name, "mentions": 0, "created_at": leakNow, "updated_at": leakNow})
	}
	mention := func(row *leakRow, name string) {
		all.add("memory_entity_mentions",
			map[string]any{"tenant": tenant, "memory_id": row.id, "entity_id": ids[name], "created_at": leakNow})
		holders[name] = append(holders[name], row)
	}
	for _, row := range own {
		for _, name := range slices.Concat(leakPeople, leakTopics) {
			if strings.Contains(row.content, name) && r.IntN(4) > 0 {
				mention(row, name)
			}
		}
	}
	for n := range leakNames {
		for range 1 + r.IntN(4) {
			mention(oneOf(r, own...), leakName(n))
		}
	}
	for range 2 * len(names) {
		from, to, label := oneOf(r, names...), oneOf(r, names...), oneOf(r, "knows", "keeps")
		all.add("entity_relations", map[string]any{"tenant": tenant, "source_id": ids[from], "relationship": label,
			"target_id": ids[to], "mentions": 1,
			"confidence": oneOf(r, 0.3, 0.7, 0.9, 1), "created_at": leakNow, "updated_at": leakNow})
		for range 1 + r.IntN(3) {
			all.add("entity_relation_sources",
				map[string]any{"tenant": tenant, "memory_id": oneOf(r, own...).id, "source_id": ids[from],
					"relationship": label, "target_id": ids[to]})
		}
	}
}

// storeLeakArtifacts generates artifacts of a tenant, each of one memory or of several.
func storeLeakArtifacts(r *rand.Rand, tenant string, own []*leakRow, all tables, holders map[string][]*leakRow) {
	for n := range len(own) / 3 {
		mark := fmt.Sprintf("ar%04d", n)
		if tenant != "t" {
			mark = fmt.Sprintf("ar9%03d", n)
		}
		text := []byte("An artifact of the needle in the " + oneOf(r, leakTopics...) + ": " + mark)
		sum := sha256.Sum256(text)
		all.add("artifacts", map[string]any{"tenant": tenant, "sha256": bytea(sum[:]),
			"media_type": oneOf(r, "text/plain", "application/json", "text/markdown", "image/png"),
			"size":       len(text), "content": bytea(text), "agent_id": oneOf(r, own...).p.Agent,
			"created_at": leakNow})
		for range 1 + r.IntN(3) {
			row := oneOf(r, own...)
			all.add("memory_artifacts", map[string]any{"tenant": tenant, "memory_id": row.id, "sha256": bytea(sum[:])})
			holders[mark] = append(holders[mark], row)
			holders[hex.EncodeToString(sum[:])] = append(holders[hex.EncodeToString(sum[:])], row)
		}
	}
}
