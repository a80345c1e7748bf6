package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// claims is a record of where a person lives; conditions may be empty.
func claims(who, where, conditions string) schema.MemoryRecord {
	validity := `{"mode":"global"}`
	if conditions != "" {
		validity = `{"mode":"conditional","conditions":` + conditions + `}`
	}
	return semantic(fmt.Sprintf("%s lives in %s.", who, where), who, "lives_in", where, validity)
}

func semantic(content, subject, predicate, object, validity string) schema.MemoryRecord {
	payload := fmt.Sprintf(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":%q,"predicate":%q,"object":%q,"validity":%s}`, subject, predicate, object, validity)
	return schema.MemoryRecord{Type: schema.TypeSemantic, Content: content, Confidence: 0.9, Importance: 0.5,
		Salience: 1, SourceTrust: 1,
		Sensitivity: schema.SensitivityLow, Payload: json.RawMessage(payload)}
}

func with(m schema.MemoryRecord, change func(*schema.MemoryRecord)) *schema.MemoryRecord {
	change(&m)
	return &m
}

func same(m schema.MemoryRecord) *schema.MemoryRecord { return &m }

// keep stores a record directly.
func (w *world) keep(m schema.MemoryRecord) uuid.UUID {
	w.t.Helper()
	id, err := w.Insert(ctx, w.p, w.vis, m, w.now)
	require.NoError(w.t, err)
	return id
}

// as names memories with their current versions.
func (w *world) as(ids ...uuid.UUID) []schema.Target {
	w.t.Helper()
	out := make([]schema.Target, len(ids))
	for i, id := range ids {
		out[i] = schema.Target{ID: id.String(), IfVersion: w.get(id).Version}
	}
	return out
}

var heard = []schema.Ref{{Kind: "event", Ref: "evt://1"}}

// revision is a request of the world's principal.
func (w *world) revision(action schema.ReviseAction, record *schema.MemoryRecord,
	targets ...schema.Target) schema.ReviseRequest {
	return schema.ReviseRequest{Operation: schema.Operation{Principal: w.p, Reason: "heard otherwise"}, Action: action,
		Targets: targets, Record: record, Evidence: heard}
}

// reviseInput is a request with its own operation id.
func (w *world) reviseInput(req schema.ReviseRequest) edit.ReviseInput {
	return edit.ReviseInput{Operation: schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(), WorkflowID: "wf"},
		Request: req, Policy: w.policy, Now: w.now}
}

func (w *world) revise(req schema.ReviseRequest) schema.ReviseResult {
	w.t.Helper()
	require.NoError(w.t, req.Validate())
	w.now = w.now.Add(time.Minute)
	result, err := w.Revise(ctx, w.reviseInput(req))
	require.NoError(w.t, err)
	return result
}

// applied revises and requires that the revision was applied.
func (w *world) applied(req schema.ReviseRequest) schema.ReviseResult {
	w.t.Helper()
	result := w.revise(req)
	require.Equal(w.t, schema.ReviseApplied, result.Status, result.Why)
	testkit.CheckInvariants(w.t, w.owner)
	testkit.CheckOutbox(w.t, w.owner)
	return result
}

// refused revises and requires that nothing changed except the operation's result.
func (w *world) refused(status schema.ReviseStatus, req schema.ReviseRequest) schema.ReviseResult {
	w.t.Helper()
	before := w.snapshot()
	result := w.revise(req)
	require.Equal(w.t, status, result.Status, result.Why)
	require.Empty(w.t, result.Created)
	require.Empty(w.t, result.Changed())
	after := w.snapshot()
	delete(before, "operations")
	delete(after, "operations")
	require.Equal(w.t, before, after)
	return result
}

// edges lists the relations of a memory as predicate and target, with their reason.
func (w *world) edges(id uuid.UUID) []string {
	w.t.Helper()
	return testkit.Strings(w.t, w.owner,
		`SELECT predicate || ' ' || target_id || ': ' || reason FROM memory_links WHERE source_id = $1 ORDER BY 1`, id)
}

func TestReviseSupersede(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.keep(*with(claims("Ana", "Lisbon", ""), func(m *schema.MemoryRecord) {
		m.Sensitivity, m.Lifecycle.Pinned, m.Importance = schema.SensitivityHigh, true, 1
	}))
	source := w.memory("Ana told us that she has moved to Porto.")
	req := w.revision(schema.ReviseSupersede, same(claims("Ana", "Porto", "")), w.as(old)...)
	req.Evidence = append(slices.Clone(heard), schema.Ref{Kind: "observation", Ref: source.String()})
	result := w.applied(req)
	require.Len(t, result.Created, 1)
	id := uuid.MustParse(result.Created[0])
	require.Equal(t, []schema.RevisedMemory{{ID: old.String(), Version: 2, Status: schema.StatusSuperseded}},
		result.Targets)
	require.Equal(t, []string{id.String(), old.String()}, result.Changed())
	require.Equal(t, "applied", result.Summary())

	before, after := w.get(old), w.get(id)
	require.Equal(t, schema.StatusSuperseded, before.Status)
	require.Equal(t, id.String(), before.SupersededBy)
	require.NotNil(t, before.SupersededAt)
	require.Equal(t, schema.StatusActive, after.Status)
	require.Equal(t, old.String(), after.Supersedes)
	require.Equal(t, schema.SensitivityHigh, after.Sensitivity, "never less sensitive than what it replaces")
	require.True(t, after.Lifecycle.Pinned, "the pin is inherited")
	require.InDelta(t, 1, after.Importance, 0)
	require.Equal(t, req.Evidence, after.Provenance.Sources)
	require.Equal(t, []string{"supersedes " + old.String() + ": heard otherwise"}, w.edges(id))
	require.Equal(t, []string{"supports " + id.String() + ": heard otherwise"}, w.edges(source))

	history := w.history(old)
	last := history[len(history)-1]
	require.Equal(t, schema.AuditRevise, last.Action)
	require.Equal(t, 2, last.Version)
	require.Equal(t, "agent:a", last.ChangedBy)
	require.Equal(t, "heard otherwise", last.Reason)
	require.Equal(t, "Ana lives in Lisbon.", *last.OldContent)
	var metadata struct {
		Evidence   []schema.Ref
		Successor  string
		WorkflowID string `json:"workflowId"`
	}
	require.NoError(t, json.Unmarshal(last.Metadata, &metadata))
	require.Equal(t, req.Evidence, metadata.Evidence, "every revision is traceable to evidence")
	require.Equal(t, id.String(), metadata.Successor)
	require.Equal(t, "wf", metadata.WorkflowID)
	require.Equal(t, 1, w.count("memory_versions", "memory_id = $1 AND version = 1 AND record->>'status' = 'active'",
		old))
	require.Zero(t, w.count("staged_requests", "true"))
}

func TestReviseFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	prefers := func(language, validity string) schema.MemoryRecord {
		return semantic("The user prefers "+language+".", "user", "prefers_backend_language", language, validity)
	}
	backend := `{"mode":"conditional","conditions":{"project_kind":"backend_service"}}`
	science := `{"mode":"conditional","conditions":{"project_kind":"data_science"}}`
	t.Run("narrower", func(t *testing.T) {
		golang := w.keep(prefers("go", backend))
		result := w.applied(w.revision(schema.ReviseFork, same(prefers("python", science)), w.as(golang)...))
		python := uuid.MustParse(result.Created[0])
		require.Equal(t, schema.StatusActive, w.get(golang).Status)
		require.Equal(t, schema.StatusActive, w.get(python).Status)
		require.Equal(t, 2, w.get(golang).Version)
		require.Equal(t, []string{"derived_from " + golang.String() + ": heard otherwise"}, w.edges(python))
		require.Equal(t, schema.AuditFork, w.history(golang)[1].Action)
		require.Equal(t, schema.AuditFork, w.history(python)[0].Action)

		again := w.revision(schema.ReviseFork, same(prefers("rust", science)), w.as(golang)...)
		r := w.refused(schema.ReviseActiveFact, again)
		require.Equal(t, python.String(), r.Conflicts[0].ID)
	})
	t.Run("of a global fact", func(t *testing.T) {
		w := newWorld(t)
		golang := w.keep(*with(prefers("go", `{"mode":"global"}`), func(m *schema.MemoryRecord) {
			m.SourceTrust, m.Provenance.Sources = 0.5, []schema.Ref{{Kind: "human", Ref: "somebody"}}
		}))
		w.exec(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology,
			content_hash, created_at)
			SELECT tenant, gen_random_uuid(), id, 'm', 2, '[1,2]', tier, typology, content_hash, now() FROM memories
				WHERE id = $1`, golang)
		req := w.revision(schema.ReviseFork, same(prefers("python", science)), w.as(golang)...)
		w.refused(schema.ReviseOverlap, req)
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional,
			Conditions: json.RawMessage(`{"project_kind":["backend_service","data_science"]}`)}
		w.refused(schema.ReviseOverlap, req)
		req.TargetConditions.Conditions = json.RawMessage(`{"project_kind":"backend_service"}`)
		result := w.applied(req)
		require.Len(t, result.Created, 2)
		left := uuid.MustParse(result.Created[1])
		require.Equal(t, left.String(), w.get(golang).SupersededBy)
		m := w.get(left)
		require.Equal(t, "The user prefers go.", m.Content)
		require.Equal(t, golang.String(), m.Supersedes)
		require.InDelta(t, 0.5, m.SourceTrust, 0)
		require.InDelta(t, 0.5, w.get(uuid.MustParse(result.Created[0])).SourceTrust, 0)
		require.Equal(t, []schema.Ref{{Kind: "human", Ref: "somebody"}, heard[0]}, m.Provenance.Sources)
		var payload schema.SemanticPayload
		require.NoError(t, json.Unmarshal(m.Payload, &payload))
		require.JSONEq(t, `{"project_kind":"backend_service"}`, string(payload.Validity.Conditions))
		require.Equal(t, 1, w.count("memory_embeddings e JOIN memories m ON m.id = e.memory_id",
			"m.id = $1 AND e.content_hash = m.content_hash", left))
		require.Equal(t, []string{"derived_from " + golang.String() + ": heard otherwise",
			"supersedes " + golang.String() + ": heard otherwise"}, w.edges(left))
	})
	t.Run("in the graph", func(t *testing.T) {
		w := newWorld(t)
		golang := w.keep(prefers("go", `{"mode":"global"}`))
		w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
			SELECT 't', md5(n)::uuid, n, n, 1, now(), now() FROM unnest('{user,go}'::text[]) n`)
		w.exec(`INSERT INTO memory_entity_mentions SELECT 't', $1, id, now() FROM entities`, golang)
		w.exec(`INSERT INTO entity_relations
			VALUES ('t', md5('user')::uuid, 'prefers', md5('go')::uuid, 1, 1, now(), now())`)
		w.exec(`INSERT INTO entity_relation_sources SELECT 't', $1, source_id, relationship, target_id
			FROM entity_relations`, golang)
		req := w.revision(schema.ReviseFork, same(prefers("python", science)), w.as(golang)...)
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional,
			Conditions: json.RawMessage(`{"project_kind":"backend_service"}`)}
		left := w.applied(req).Created[1]
		require.Equal(t, 2, w.count("memory_entity_mentions", "memory_id = $1", left),
			"a search for the user's preference still finds it")
		require.Equal(t, 1, w.count("entity_relation_sources", "memory_id = $1", left))
		require.Equal(t, []int{2, 2}, []int{w.mentions("user"), w.mentions("go")})
		w.requireExactEdges()
		w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(golang)))
		require.Equal(t, 1, w.mentions("go"))
		require.Equal(t, 1, w.count("entity_relations", "mentions = 1"))
		w.requireExactEdges()
	})
	t.Run("of a procedure", func(t *testing.T) {
		fix := func(name string) schema.MemoryRecord {
			return schema.MemoryRecord{Type: schema.TypeCompetence, Confidence: 0.7, Importance: 0.5, Salience: 1,
				SourceTrust: 1, Payload: json.RawMessage(
					`{"kind":"competence","skill_name":"` + name +
						`","triggers":[{"signal":"ld: cache mismatch"}],"recipe":[{"step":"Clear the ` + name + `"}]}`)}
		}
		first := w.keep(fix("build cache"))
		result := w.applied(w.revision(schema.ReviseFork, same(fix("linker cache")), w.as(first)...))
		require.Equal(t, schema.StatusActive, w.get(first).Status)
		require.Equal(t, schema.StatusActive, w.get(uuid.MustParse(result.Created[0])).Status)
	})
}

func TestReviseRetract(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.keep(claims("Ana", "Lisbon", ""))
	require.NotEmpty(t, w.list())
	result := w.applied(w.revision(schema.ReviseRetract, nil, w.as(id)...))
	require.Empty(t, result.Created)
	m := w.get(id)
	require.Equal(t, schema.StatusRetracted, m.Status)
	require.Equal(t, "Ana lives in Lisbon.", m.Content, "the row and its content stay")
	require.Empty(t, w.list(), "no reader returns it")
	found, err := w.SearchText(ctx, pg.Filter{Principal: w.p}, "Lisbon", 10)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, schema.AuditRetract, w.history(id)[1].Action)
}

func (w *world) list() []schema.MemoryRecord {
	w.t.Helper()
	page, err := w.List(ctx, pg.Filter{Principal: w.p, MaxSensitivity: schema.SensitivityHyper}, pg.Page{})
	require.NoError(w.t, err)
	return page
}

func TestReviseMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.keep(*with(semantic("Ana likes tea.", "Ana", "states", "tea", `{"mode":"global"}`),
		func(m *schema.MemoryRecord) { m.SourceTrust = 0.4 }))
	b := w.keep(semantic("Ana likes green tea.", "Ana", "states", "green tea", `{"mode":"global"}`))
	result := w.applied(w.revision(schema.ReviseMerge,
		same(semantic("Ana likes tea, best of all green.", "Ana", "states", "tea and green tea", `{"mode":"global"}`)),
		w.as(a, b)...))
	id := uuid.MustParse(result.Created[0])
	require.InDelta(t, 0.4, w.get(id).SourceTrust, 0)
	require.Equal(t, id.String(), w.get(a).SupersededBy)
	require.Equal(t, id.String(), w.get(b).SupersededBy)
	require.Len(t, w.edges(id), 4)
	require.Equal(t, schema.AuditMerge, w.history(b)[1].Action)
}

func TestReviseContestAndResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"old", "new", "record"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			old := w.keep(claims("Ana", "Lisbon", ""))
			result := w.applied(w.revision(schema.ReviseContest, same(claims("Ana", "Porto", "")), w.as(old)...))
			other := uuid.MustParse(result.Created[0])
			require.Equal(t, schema.StatusContested, w.get(old).Status)
			require.Equal(t, schema.StatusContested, w.get(other).Status)
			require.Len(t, w.list(), 2, "both are still known")
			require.Equal(t, []string{"contradicts " + other.String() + ": heard otherwise"}, w.edges(old))
			require.Equal(t, []string{"contradicts " + old.String() + ": heard otherwise"}, w.edges(other))

			req := w.revision(schema.ReviseResolve, nil, w.as(old, other)...)
			req.Reason = "asked her"
			winner := old
			switch c {
			case "new":
				winner = other
			case "record":
				req.Record = same(claims("Ana", "Faro", ""))
			}
			if c != "record" {
				req.Winner = winner.String()
				req.Evidence = []schema.Ref{{Kind: "human", Ref: "Ana"}}
			}
			result = w.applied(req)
			if c == "record" {
				winner = uuid.MustParse(result.Created[0])
			} else {
				require.Contains(t, w.get(winner).Provenance.Sources, schema.Ref{Kind: "human", Ref: "Ana"})
			}
			for _, id := range []uuid.UUID{old, other} {
				want := schema.StatusSuperseded
				if id == winner {
					want = schema.StatusActive
				} else {
					require.Equal(t, winner.String(), w.get(id).SupersededBy)
				}
				require.Equal(t, want, w.get(id).Status)
				require.Equal(t, schema.AuditResolve, w.history(id)[len(w.history(id))-1].Action)
			}
			require.Contains(t, w.edges(old), "contradicts "+other.String()+": heard otherwise",
				"the contest stays in the history")
			require.Len(t, w.list(), 1)
			w.refused(schema.ReviseNotContested, func() schema.ReviseRequest {
				r := w.revision(schema.ReviseResolve, nil, w.as(winner)...)
				r.Winner = winner.String()
				return r
			}())
		})
	}
}

func TestReviseReconcile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(who, policy string, confidence float64) uuid.UUID {
		return w.keep(*with(claims(who, "Lisbon", ""), func(m *schema.MemoryRecord) {
			m.Confidence, m.Provenance.Sources = confidence, []schema.Ref{{Kind: "event", Ref: "evt://a"},
				{Kind: "event", Ref: "evt://b"}}
			m.Payload = json.RawMessage(string(m.Payload[:len(m.Payload)-1]) + `,"revision_policy":"` + policy + `"}`)
		}))
	}
	for name, c := range map[string]struct {
		policy     string
		confidence float64
		conditions string
		want       schema.ReviseAction
	}{
		"more evidence":     {"replace", 0.5, "", schema.ReviseSupersede},
		"less evidence":     {"replace", 1, "", schema.ReviseContest},
		"policy contest":    {"contest", 0.1, "", schema.ReviseContest},
		"fork not disjoint": {"fork", 0.1, `{"season":"summer"}`, schema.ReviseContest},
		"a special case":    {"replace", 0.1, `{"season":"summer"}`, schema.ReviseContest},
	} {
		id := put(name, c.policy, c.confidence)
		result := w.applied(w.revision(schema.ReviseReconcile, same(claims(name, "Porto", c.conditions)), w.as(id)...))
		require.Equal(t, c.want, result.Action, name)
		require.NotEmpty(t, result.Why)
	}
	id := put("Bob", "replace", 0.5)
	w.refused(schema.ReviseNoConflict,
		w.revision(schema.ReviseReconcile, same(claims("Cleo", "Porto", "")), w.as(id)...))
}
