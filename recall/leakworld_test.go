package recall_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// leakNow is the time at which every request is made.
var leakNow = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// leakRow is a memory as the model of authorisation sees it. Its mark stands in every text of it.
type leakRow struct {
	id          uuid.UUID
	mark        string
	p           schema.Principal
	vis         schema.Visibility
	kind        schema.MemoryType
	category    schema.Category
	sensitivity schema.Sensitivity
	status      schema.Status
	gone        string // the column that says so: deleted_at or archived_at
	tags        []string
	who         string
	pinned      bool
	importance  float64
	occurred    time.Time
	from, until *time.Time
	conditions  map[string]any
	summary     bool
	content     string
}

func (r leakRow) live() bool {
	return r.gone == "" && (r.status == schema.StatusActive || r.status == schema.StatusContested)
}

// reaches says whether the asker may see a memory when sensitivity is left out of account; scopes are those
// that it was granted beside its own.
func reaches(r leakRow, q schema.RecallRequest, scopes []string) bool {
	p := q.Principal
	if r.p.Tenant != p.Tenant || p.Project != "" && r.p.Project != p.Project || r.p.Scope != p.Scope && !slices.Contains(scopes, r.p.Scope) {
		return false
	}
	if r.p.Agent == p.Agent {
		return true
	}
	if q.ReadPolicy == "" || q.ReadPolicy == schema.ReadIsolated {
		return false
	}
	switch r.vis {
	case schema.VisibilityGlobal:
		return true
	case schema.VisibilityShared:
		return r.p.Project == p.Project
	case schema.VisibilityGroup:
		return r.p.PolicyGroup != "" && r.p.PolicyGroup == p.PolicyGroup
	}
	return false
}

var ladder = []schema.Sensitivity{"public", "low", "medium", "high", "hyper"}

func rung(s schema.Sensitivity) int { return slices.Index(ladder, s) }

// shownMeets says whether what is shown of a redacted memory meets the request.
func shownMeets(r leakRow, q schema.RecallRequest) bool {
	return (len(q.Types) == 0 || slices.Contains(q.Types, r.kind)) && (len(q.Categories) == 0 || slices.Contains(q.Categories, r.category)) &&
		(q.Since == nil || !r.occurred.Before(*q.Since)) && (q.Until == nil || r.occurred.Before(*q.Until))
}

// meets says whether a memory is among what the request asks for.
func meets(r leakRow, q schema.RecallRequest) bool {
	if !shownMeets(r, q) || q.Pinned != nil && r.pinned != *q.Pinned || r.importance < q.ImportanceMin ||
		q.Who != "" && !strings.EqualFold(r.who, q.Who) || !holdsThen(r, q) {
		return false
	}
	for _, tag := range q.Tags {
		if !slices.Contains(r.tags, strings.ToLower(tag)) {
			return false
		}
	}
	var known map[string]any
	_ = json.Unmarshal(q.Context, &known)
	for key, value := range known {
		if want, named := r.conditions[key]; named && want != value {
			return false
		}
	}
	return true
}

func holds(r leakRow, at time.Time) bool {
	return (r.from == nil || !r.from.After(at)) && (r.until == nil || r.until.After(at))
}

// holdsThen says whether a memory holds at the time that the request is about, or at one that its query names.
func holdsThen(r leakRow, q schema.RecallRequest) bool {
	if q.ValidAt != nil {
		return holds(r, *q.ValidAt)
	}
	return holds(r, leakNow) || slices.ContainsFunc(memory.Begun(memory.ParseTimes(q.Query, leakNow), leakNow), func(w memory.TimeWindow) bool {
		return (r.from == nil || r.from.Before(w.End)) && (r.until == nil || r.until.After(w.Start))
	})
}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var (
	leakTopics   = []string{"harbour", "kestrel", "violin", "granite", "saffron"}
	leakPeople   = []string{"Alice", "Boris", "Chloe"}
	leakTypes    = []schema.MemoryType{"episodic", "episodic", "semantic", "semantic", "working", "competence", "plan_graph"}
	leakSessions = []string{"", "s1", "s2", "s3"}
)

func leakPrincipal(r *rand.Rand) schema.Principal {
	return schema.Principal{Tenant: oneOf(r, "t", "t", "t", "u"), Agent: oneOf(r, "a", "b", "c"), Project: oneOf(r, "", "p", "p", "q"),
		Scope: oneOf(r, "", "", "", "s", "z"), PolicyGroup: oneOf(r, "", "g", "g", "h")}
}

// newLeakRow makes up a memory.
func newLeakRow(r *rand.Rand, n int) leakRow {
	row := leakRow{id: uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "row %d", n)), mark: fmt.Sprintf("mk%04d", n), p: leakPrincipal(r),
		vis:         oneOf[schema.Visibility](r, "private", "private", "group", "shared", "shared", "global"),
		kind:        oneOf(r, leakTypes...),
		category:    oneOf[schema.Category](r, "fact", "preference", "decision", "procedural", "issue"),
		sensitivity: oneOf(r, append(ladder, "low", "low", "medium")...),
		status:      oneOf[schema.Status](r, "active", "active", "active", "active", "active", "contested", "superseded", "retracted"),
		gone:        oneOf(r, "", "", "", "", "", "", "", "deleted_at", "archived_at"),
		tags:        oneOf(r, nil, []string{"x"}, []string{"x", "y"}), who: oneOf(r, "", "Alice", "Boris"), pinned: r.IntN(6) == 0,
		importance: oneOf(r, 0.2, 0.5, 0.9), occurred: leakNow.AddDate(0, 0, -oneOf(r, 1, 6, 20, 40, 400)), summary: r.IntN(2) == 0}
	if r.IntN(8) == 0 {
		from, until := leakNow.AddDate(0, 0, oneOf(r, -30, -10, 5)), leakNow.AddDate(0, 0, oneOf(r, 8, 30))
		if r.IntN(2) == 0 {
			until = leakNow.AddDate(0, 0, -5)
			from = leakNow.AddDate(0, 0, -60)
		}
		row.from, row.until = &from, &until
	}
	if r.IntN(8) == 0 {
		row.conditions = map[string]any{"os": oneOf(r, "linux", "windows")}
	}
	row.content = fmt.Sprintf("%s needle %s: %s keeps the %s near the %s%s", oneOf(r, "Last week", "In May 2026", "Once"), row.mark, oneOf(r, leakPeople...),
		oneOf(r, leakTopics...), oneOf(r, leakTopics...), oneOf(r, ".", "?"))
	return row
}

// payload is one that its type may have, with the mark in it.
func (r leakRow) payload() string {
	switch r.kind {
	case schema.TypeSemantic:
		return fmt.Sprintf(`{"kind":"semantic","subject":"Alice","predicate":"keeps","object":%q,"validity":{"mode":"global"}}`, r.content)
	case schema.TypeWorking:
		return fmt.Sprintf(`{"kind":"working","thread_id":"th","state":"planning","context_summary":%q}`, r.content)
	case schema.TypeCompetence:
		return fmt.Sprintf(`{"kind":"competence","skill_name":"skill_%[1]s","triggers":[{"signal":"needle %[1]s","conditions":{"os":"linux"}}],"recipe":[{"step":%[2]q}],`+
			`"performance":{"success_count":4,"failure_count":1}}`, r.mark, r.content)
	case schema.TypePlanGraph:
		return fmt.Sprintf(`{"kind":"plan_graph","plan_id":"plan_%[1]s","version":"1","intent":"needle","nodes":[{"id":"n","op":%[2]q}],"edges":[]}`, r.mark, r.content)
	}
	return fmt.Sprintf(`{"kind":"episodic","timeline":[{"t":"2026-01-01T00:00:00Z","event_kind":"note","ref":"e","summary":%q}]}`, r.content)
}

// storeLeakWorld writes the rows, and around them all by which they are found: vectors, hints, claims, names,
// relations of any to any, artifacts, sessions that run across agents.
func storeLeakWorld(t testing.TB, owner *pgx.Conn, r *rand.Rand, rows []leakRow) {
	t.Helper()
	insert := func(table string, values []map[string]any) {
		columns := []string{}
		for name := range values[0] {
			columns = append(columns, name)
		}
		encoded, err := json.Marshal(values)
		require.NoError(t, err)
		list := strings.Join(columns, ", ")
		_, err = owner.Exec(ctx, `INSERT INTO `+table+` (`+list+`) SELECT `+list+` FROM jsonb_populate_recordset(NULL::`+table+`, $1) ON CONFLICT DO NOTHING`, string(encoded))
		require.NoError(t, err, table)
	}
	bytea := func(b []byte) string { return fmt.Sprintf(`\x%x`, b) }
	embedder := rules.New().Embedder
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.content
	}
	vectors, _, err := embedder.Embed(ctx, texts)
	require.NoError(t, err)
	entities := map[string]string{}
	var memories, embeddings, hints, claims, names, mentions, relations, artifacts, held []map[string]any
	for _, tenant := range []string{"t", "u"} {
		for _, name := range leakPeople {
			id := uuid.NewString()
			entities[tenant+name] = id
			names = append(names, map[string]any{"tenant": tenant, "id": id, "canonical_name": strings.ToLower(name), "name": name, "mentions": 9, "created_at": leakNow, "updated_at": leakNow})
		}
	}
	for i, row := range rows {
		hash := sha256.Sum256([]byte(row.content))
		tier, typology := memory.Placement(row.kind)
		m := map[string]any{"tenant": row.p.Tenant, "id": row.id, "agent_id": row.p.Agent, "project": row.p.Project, "scope": row.p.Scope, "visibility": row.vis,
			"policy_group": row.p.PolicyGroup, "version": 1, "type": row.kind, "category": row.category, "tier": tier, "typology": typology, "content": row.content,
			"normalized_content": strings.ToLower(row.content), "content_hash": bytea(hash[:]), "payload": json.RawMessage(row.payload()), "tags": append([]string{}, row.tags...),
			"language": "en", "who": row.who, "functional": false, "confidence": 0.9, "importance": row.importance, "salience": 1, "salience_at": leakNow,
			"decay_curve": "exponential", "half_life": "30 days", "min_salience": 0, "reinforcement_gain": 0.1, "last_reinforced_at": leakNow, "pinned": row.pinned,
			"deletion_policy": "manual_only", "status": row.status, "sensitivity": row.sensitivity, "source_trust": 1, "occurred_at": row.occurred,
			"created_at": row.occurred, "updated_at": row.occurred, "created_by": "test", "decay_floor": 0, "conditions_hash": "", "revision_policy": "replace",
			"validity": "global", "conditions": nil, "valid_from": row.from, "valid_until": row.until, "agent_session_id": nil, "superseded_by": nil, "superseded_at": nil,
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
		other := rows[r.IntN(len(rows))]
		if row.status == schema.StatusSuperseded {
			m["superseded_at"] = leakNow
			if other.id != row.id {
				m["superseded_by"] = other.id
			}
		}
		if row.summary {
			m["safe_summary"] = "There is a needle sm" + row.mark[2:] + " about a " + oneOf(r, leakTopics...)
		}
		if row.kind == schema.TypeSemantic {
			m["subject"], m["predicate"], m["object"] = "Alice", "keeps", row.content
			claims = append(claims, map[string]any{"tenant": row.p.Tenant, "memory_id": row.id, "subject": "Alice", "predicate": "keeps", "object": row.content, "functional": false, "created_at": leakNow})
		}
		memories = append(memories, m)
		embeddings = append(embeddings, map[string]any{"tenant": row.p.Tenant, "id": uuid.NewString(), "memory_id": row.id, "model": embedder.Model().Name, "dims": len(vectors[i]),
			"embedding": pgvector.NewVector(vectors[i]).String(), "tier": tier, "typology": typology, "content_hash": bytea(hash[:]), "created_at": leakNow})
		hints = append(hints, map[string]any{"tenant": row.p.Tenant, "memory_id": row.id, "position": 0, "source": "rules", "hint": "where is the needle " + row.mark, "created_at": leakNow})
		for _, name := range leakPeople {
			if strings.Contains(row.content, name) {
				mentions = append(mentions, map[string]any{"tenant": row.p.Tenant, "memory_id": row.id, "entity_id": entities[row.p.Tenant+name], "created_at": leakNow})
			}
		}
		if r.IntN(5) == 0 {
			text := []byte("An artifact of the needle " + row.mark)
			sum := sha256.Sum256(text)
			artifacts = append(artifacts, map[string]any{"tenant": row.p.Tenant, "sha256": bytea(sum[:]), "media_type": "text/plain", "size": len(text), "content": bytea(text), "agent_id": row.p.Agent, "created_at": leakNow})
			held = append(held, map[string]any{"tenant": row.p.Tenant, "memory_id": row.id, "sha256": bytea(sum[:])})
		}
	}
	for range 2 * len(rows) {
		from, to := rows[r.IntN(len(rows))], rows[r.IntN(len(rows))]
		if from.id != to.id && from.p.Tenant == to.p.Tenant {
			relations = append(relations, map[string]any{"tenant": from.p.Tenant, "source_id": from.id, "target_id": to.id, "weight": 1, "reason": "because of " + to.mark,
				"predicate": oneOf(r, memory.RelationDerivedFrom, memory.RelationSupersedes, memory.RelationContradicts, "supports"), "created_at": leakNow})
		}
	}
	insert("memories", memories)
	insert("memory_embeddings", embeddings)
	insert("memory_hints", hints)
	insert("entity_claims", claims)
	insert("entities", names)
	insert("memory_entity_mentions", mentions)
	insert("memory_relations", relations)
	insert("artifacts", artifacts)
	insert("memory_artifacts", held)
	_, err = owner.Exec(ctx, `
		INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l WHERE m.live GROUP BY 1, 2;
		INSERT INTO corpus_stats SELECT tenant, count(*), sum(length(tsv)) FROM memories WHERE live GROUP BY 1`)
	require.NoError(t, err)
}
