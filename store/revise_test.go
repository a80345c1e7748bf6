package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
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

// TestReviseRefusals checks every status that changes nothing.
func TestReviseRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ana := w.keep(claims("Ana", "Lisbon", ""))
	bob := w.keep(claims("Bob", "Rome", ""))
	episode := w.memory("Something happened on the way.")
	porto := same(claims("Ana", "Porto", ""))
	supersede := func(record *schema.MemoryRecord, targets ...schema.Target) schema.ReviseRequest {
		return w.revision(schema.ReviseSupersede, record, targets...)
	}

	missing := schema.Target{ID: uuid.NewString(), IfVersion: 1}
	w.refused(schema.ReviseNotFound, supersede(porto, append(w.as(ana), missing)...))
	stale := w.as(ana)
	stale[0].IfVersion = 7
	r := w.refused(schema.ReviseVersionConflict, supersede(porto, append(w.as(bob), stale...)...))
	require.Equal(t, []schema.RevisedMemory{{ID: bob.String(), Version: 1, Status: schema.StatusActive},
		{ID: ana.String(), Version: 1, Status: schema.StatusActive}}, r.Targets)
	w.refused(schema.ReviseEpisodic, w.revision(schema.ReviseRetract, nil, w.as(episode)...))
	w.refused(schema.ReviseWrongType, supersede(with(*porto, func(m *schema.MemoryRecord) {
		m.Type, m.Payload = schema.TypeWorking, json.RawMessage(`{"kind":"working","task_id":"t","state":"planning"}`)
	}), w.as(ana)...))
	w.refused(schema.ReviseActiveFact, supersede(same(claims("Bob", "Porto", "")), w.as(ana)...))
	r = w.refused(schema.ReviseDuplicate,
		supersede(with(claims("Carl", "Rome", ""), func(m *schema.MemoryRecord) { m.Content = "Bob lives in Rome!" }),
			w.as(ana)...))
	require.Equal(t, bob.String(), r.Conflicts[0].ID)
	require.Contains(t, r.Why, bob.String())
	w.refused(schema.ReviseExists,
		supersede(with(*porto, func(m *schema.MemoryRecord) { m.ID = bob.String() }), w.as(ana)...))
	w.refused(schema.ReviseBadRef, supersede(with(*porto, func(m *schema.MemoryRecord) {
		m.Relations = []schema.Relation{{Predicate: "supports", TargetID: missing.ID, Weight: 1}}
	}), w.as(ana)...))
	for _, mode := range []schema.WriteMode{schema.ModeShadow, schema.ModeFrozen, ""} {
		w.policy.Mode = mode
		w.refused(schema.ReviseFrozen, supersede(porto, w.as(ana)...))
	}
	w.policy.Mode = schema.ModeControlled

	hidden := newPrincipal(w, "somebody else")
	req := supersede(porto, w.as(ana)...)
	req.Principal = hidden
	w.refused(schema.ReviseNotFound, req)

	w.applied(w.revision(schema.ReviseRetract, nil, w.as(bob)...))
	w.refused(schema.ReviseNotLive, supersede(same(claims("Bob", "Porto", "")), w.as(bob)...))
	w.applied(supersede(porto, w.as(ana)...))
	w.refused(schema.ReviseNotLive, w.revision(schema.ReviseRetract, nil, w.as(ana)...))
	gone := w.keep(claims("Dora", "Rome", ""))
	at := w.as(gone)
	w.exec(`UPDATE memories SET deleted_at = now() WHERE id = $1`, gone)
	w.refused(schema.ReviseNotLive, supersede(same(claims("Dora", "Porto", "")), at...))
}

func newPrincipal(w *world, agent string) schema.Principal {
	p := w.p
	p.Agent = agent
	return p
}

func TestReviseByAnExistingMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.keep(claims("Ana", "Lisbon", ""))
	b := w.keep(semantic("Ana has lived in Porto since May.", "Ana", "states", "Porto since May", `{"mode":"global"}`))
	named := func(id uuid.UUID, version int) *schema.MemoryRecord {
		return &schema.MemoryRecord{ID: id.String(), Version: version}
	}
	w.refused(schema.ReviseVersionConflict, w.revision(schema.ReviseSupersede, named(b, 9), w.as(a)...))
	w.refused(schema.ReviseNotFound, w.revision(schema.ReviseSupersede, named(uuid.New(), 0), w.as(a)...))
	first := w.as(a)
	result := w.applied(w.revision(schema.ReviseSupersede, named(b, 1), first...))
	require.Empty(t, result.Created)
	require.Equal(t, &schema.RevisedMemory{ID: b.String(), Version: 2, Status: schema.StatusActive}, result.Record)
	require.Equal(t, b.String(), w.get(a).SupersededBy)
	require.Equal(t, a.String(), w.get(b).Supersedes)

	// A memory that supersedes another cannot be superseded by it.
	w.refused(schema.ReviseCycle, w.revision(schema.ReviseSupersede, named(a, 0), w.as(b)...))
	c := w.keep(claims("Cleo", "Rome", ""))
	w.applied(w.revision(schema.ReviseSupersede, named(c, 0), w.as(b)...))
	w.refused(schema.ReviseCycle, w.revision(schema.ReviseSupersede, named(a, 0), w.as(c)...))
	// The search ends even if a cycle exists already.
	w.exec(`UPDATE memories SET superseded_by = $2 WHERE id = $1`, c, a)
	w.refused(schema.ReviseCycle, w.revision(schema.ReviseSupersede, named(a, 0), w.as(c)...))
	w.exec(`UPDATE memories SET superseded_by = NULL WHERE id = $1`, c)

	d := w.keep(claims("Dora", "Rome", ""))
	result = w.applied(w.revision(schema.ReviseContest, named(d, 0), w.as(c)...))
	require.Equal(t, schema.StatusContested, result.Record.Status)
	require.Equal(t, schema.StatusContested, w.get(d).Status)
}

// TestReviseOwnership checks that the successor has the target's owner, and no additional readers.
func TestReviseOwnership(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis, w.p.Project, w.p.Scope = schema.VisibilityShared, "x", "s"
	shared := w.keep(claims("Ana", "Lisbon", ""))
	other := w.p
	other.Agent, other.Scope = "b", ""
	req := w.revision(schema.ReviseSupersede, same(claims("Ana", "Porto", "")), w.as(shared)...)
	req.Principal, req.Actor = other, "user:ops"
	result := w.applied(req)
	m := w.get(uuid.MustParse(result.Created[0]))
	require.Equal(t, "a", m.Agent)
	require.Equal(t, "x", m.Project)
	require.Equal(t, "s", m.Scope)
	require.Equal(t, schema.VisibilityShared, m.Visibility)
	require.Equal(t, "user:ops", w.history(shared)[1].ChangedBy)

	w.vis = schema.VisibilityPrivate
	private := w.keep(claims("Bob", "Rome", ""))
	w.vis = schema.VisibilityShared
	public := w.keep(claims("Bob", "Oslo", `{"season":"summer"}`))
	result = w.applied(w.revision(schema.ReviseMerge, same(claims("Bob", "Rome and Oslo", "")),
		w.as(private, public)...))
	require.Equal(t, schema.VisibilityPrivate, w.get(uuid.MustParse(result.Created[0])).Visibility,
		"no more visible than the least visible")
	named := w.keep(*with(claims("Carl", "Rome", ""), func(m *schema.MemoryRecord) {
		m.Visibility = schema.VisibilityPrivate
	}))
	result = w.applied(w.revision(schema.ReviseSupersede,
		with(claims("Carl", "Oslo", ""), func(m *schema.MemoryRecord) { m.Visibility = schema.VisibilityShared }),
		w.as(named)...))
	require.Equal(t, schema.VisibilityShared, w.get(uuid.MustParse(result.Created[0])).Visibility,
		"unless the record sets it")
}

// TestConcurrentRevisions has eight writers revise the same fact: one succeeds, the others are told the current
// version.
func TestConcurrentRevisions(t *testing.T) {
	t.Parallel()
	for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseContest, schema.ReviseRetract,
		schema.ReviseReconcile} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.keep(claims("Ana", "Lisbon", ""))
			targets := w.as(id)
			results := inParallel(t, 8, func(i int) (schema.ReviseResult, error) {
				var record *schema.MemoryRecord
				if action != schema.ReviseRetract {
					record = same(claims("Ana", fmt.Sprintf("Town %d", i), ""))
				}
				return w.Revise(ctx, w.reviseInput(w.revision(action, record, targets...)))
			})
			count := map[schema.ReviseStatus]int{}
			for _, r := range results {
				count[r.Status]++
			}
			require.Equal(t, map[schema.ReviseStatus]int{schema.ReviseApplied: 1, schema.ReviseVersionConflict: 7},
				count)
			testkit.CheckInvariants(t, w.owner)
			testkit.CheckOutbox(t, w.owner)
			require.Equal(t, 2, w.get(id).Version)
		})
	}
}

func inParallel[R any](t *testing.T, n int, fn func(int) (R, error)) []R {
	t.Helper()
	out, errs := make([]R, n), make([]error, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			out[i], errs[i] = fn(i)
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return out
}

// everyRevision returns a request of each kind, each for its own memories.
func everyRevision(w *world) map[string]schema.ReviseRequest {
	w.t.Helper()
	contested := func(who string) []uuid.UUID {
		id := w.keep(claims(who, "Lisbon", ""))
		r := w.applied(w.revision(schema.ReviseContest, same(claims(who, "Porto", "")), w.as(id)...))
		return []uuid.UUID{id, uuid.MustParse(r.Created[0])}
	}
	out := map[string]schema.ReviseRequest{
		"supersede": w.revision(schema.ReviseSupersede, same(claims("A", "Porto", "")),
			w.as(w.keep(claims("A", "Lisbon", "")))...),
		"retract": w.revision(schema.ReviseRetract, nil, w.as(w.keep(claims("B", "Lisbon", "")))...),
		"merge": w.revision(schema.ReviseMerge, same(claims("C", "Porto", "")),
			w.as(w.keep(claims("C", "Lisbon", "")), w.keep(claims("D", "Lisbon", "")))...),
		"contest": w.revision(schema.ReviseContest, same(claims("E", "Porto", "")),
			w.as(w.keep(claims("E", "Lisbon", "")))...),
		"reconcile": w.revision(schema.ReviseReconcile, same(claims("F", "Porto", "")),
			w.as(w.keep(claims("F", "Lisbon", "")))...),
		"fork": w.revision(schema.ReviseFork, same(claims("G", "Porto", `{"s":1}`)),
			w.as(w.keep(claims("G", "Lisbon", `{"s":2}`)))...),
		"narrow": w.revision(schema.ReviseFork, same(claims("H", "Porto", `{"s":1}`)),
			w.as(w.keep(claims("H", "Lisbon", "")))...),
		"by an existing memory": w.revision(schema.ReviseSupersede,
			&schema.MemoryRecord{ID: w.keep(claims("I", "Porto", "")).String()},
			w.as(w.keep(claims("J", "Lisbon", "")))...),
		"resolve": w.revision(schema.ReviseResolve, nil, w.as(contested("K")...)...),
		"resolve by record": w.revision(schema.ReviseResolve, same(claims("L", "Faro", "")),
			w.as(contested("L")...)...),
	}
	narrow := out["narrow"]
	narrow.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(`{"s":2}`)}
	out["narrow"] = narrow
	resolve := out["resolve"]
	resolve.Winner = resolve.Targets[0].ID
	out["resolve"] = resolve
	for name, req := range out {
		require.NoError(w.t, req.Validate(), name)
	}
	return out
}

// TestReviseIsDeliveredOnce delivers each kind of revision twice, and eight times concurrently: it has one effect and
// one result.
func TestReviseIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	revisions := everyRevision(w)
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		in := w.reviseInput(revisions[name])
		require.NoError(t, w.Accept(ctx, in.Operation, "revise", in.Request, w.now))
		results := inParallel(t, 8, func(int) (schema.ReviseResult, error) { return w.Revise(ctx, in) })
		require.Equal(t, schema.ReviseApplied, results[0].Status, "%s: %s", name, results[0].Why)
		for _, r := range results {
			require.Equal(t, results[0], r, name)
		}
		before := w.snapshot()
		// the body was removed by now
		again, err := w.Revise(ctx, edit.ReviseInput{Operation: in.Operation, Policy: w.policy,
			Now: w.now.Add(time.Hour)})
		require.NoError(t, err)
		require.Equal(t, results[0], again, name)
		require.Equal(t, before, w.snapshot(), name)
	}
	testkit.CheckInvariants(t, w.owner)
	testkit.CheckOutbox(t, w.owner)
	_, err := w.Revise(ctx, edit.ReviseInput{Operation: schema.OperationRef{Tenant: w.p.Tenant, ID: "never accepted"},
		Policy: w.policy, Now: w.now})
	require.ErrorIs(t, err, pg.ErrNotFound)
}

// cutter makes the statement or the batch at a position of the transaction fail.
type cutter struct{ at, seen int }

var errCut = errors.New("cut")

func (c *cutter) next(ctx context.Context) context.Context {
	c.seen++
	if c.seen != c.at {
		return ctx
	}
	cut, cancel := context.WithCancelCause(ctx)
	cancel(errCut)
	return cut
}

func (c *cutter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return c.next(ctx)
}
func (c *cutter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *cutter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return c.next(ctx)
}
func (c *cutter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *cutter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestReviseCutShort cancels each kind of revision before each of its statements, including the commit, and makes
// each table that it writes fail: nothing changes, and the revision can be carried out afterwards.
func TestReviseCutShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	revisions := everyRevision(w)
	cut := &cutter{}
	cutStore, err := store.OpenTraced(ctx, w.url, cut)
	require.NoError(t, err)
	t.Cleanup(cutStore.Close)
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		in := w.reviseInput(revisions[name])
		require.NoError(t, w.Accept(ctx, in.Operation, "revise", in.Request, w.now))
		before := w.snapshot()
		for at := 1; ; at++ {
			cut.at, cut.seen = at, 0
			result, err := cutStore.Revise(ctx, in)
			if err == nil {
				require.Less(t, cut.seen, at, "the error was ignored")
				require.Greater(t, at, 8, name)
				require.Equal(t, schema.ReviseApplied, result.Status, "%s: %s", name, result.Why)
				break
			}
			require.Equal(t, before, w.snapshot(), "%s, cut before statement %d", name, at)
		}
		testkit.CheckInvariants(t, w.owner)
	}
	testkit.CheckOutbox(t, w.owner)
}

func TestReviseIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	revisions := everyRevision(w)
	tables := []string{"memories", "memory_history", "memory_versions", "memory_links", "memory_provenance",
		"index_outbox", "operations", "lexeme_stats", "corpus_stats"}
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		in := w.reviseInput(revisions[name])
		failed := 0
		for _, table := range tables {
			if name == "fork" && table == "memory_provenance" { // one of each is enough for the others
				continue
			}
			before := w.snapshot()
			w.breaking(table, func() {
				_, err := w.Revise(ctx, in)
				if err == nil {
					return // it does not write this table
				}
				failed++
				require.Equal(t, before, w.snapshot(), "%s without %s", name, table)
			})
		}
		require.GreaterOrEqual(t, failed, 3, name)
	}
	testkit.CheckInvariants(t, w.owner)
}

// TestReviseAnyOrder draws random concurrent revisions and checks the invariants.
func TestReviseAnyOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.AllowUpdateDelete = true
	rapid.Check(t, func(rt *rapid.T) {
		conn := w.owner
		writers := rapid.IntRange(1, 6).Draw(rt, "writers")
		plans := make([][]draw, writers)
		for i := range plans {
			plans[i] = rapid.SliceOfN(drawn(), 1, 6).Draw(rt, "steps")
		}
		w.p.Tenant = uuid.NewString() // each case has its own tenant
		principal := w.p
		var wg sync.WaitGroup
		errs := make(chan error, 64)
		for _, plan := range plans {
			wg.Go(func() {
				for _, d := range plan {
					if err := d.run(w, principal); err != nil {
						errs <- err
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			require.NoError(rt, err)
		}
		testkit.CheckInvariants(rt, conn)
		testkit.CheckOutbox(rt, conn)
	})
}

// draw is one step of a writer.
type draw struct {
	action     schema.ReviseAction // empty: insert
	who, where string
	ground     string // validity
	picks      [2]int
	stale      bool
	winner     bool
	left       bool
}

func drawn() *rapid.Generator[draw] {
	grounds := []string{`{"mode":"global"}`, `{"mode":"conditional","conditions":{"k":1}}`,
		`{"mode":"conditional","conditions":{"k":2}}`,
		`{"mode":"conditional","conditions":{"k":[1,2]}}`,
		`{"mode":"timeboxed","start":"2026-01-01T00:00:00Z","end":"2026-03-01T00:00:00Z"}`,
		`{"mode":"timeboxed","start":"2026-02-01T00:00:00Z"}`,
		`{"mode":"timeboxed","end":"2026-02-01T00:00:00Z","conditions":{"k":1}}`}
	return rapid.Custom(func(t *rapid.T) draw {
		return draw{action: rapid.SampledFrom([]schema.ReviseAction{"", "", schema.ReviseSupersede, schema.ReviseFork,
			schema.ReviseRetract, schema.ReviseMerge,
			schema.ReviseContest, schema.ReviseContest, schema.ReviseResolve,
			schema.ReviseReconcile}).Draw(t, "action"),
			who:    rapid.SampledFrom([]string{"Ana", "ana", "Bob"}).Draw(t, "who"),
			where:  rapid.SampledFrom([]string{"Rome", "Oslo", "Faro", "Bonn"}).Draw(t, "where"),
			ground: rapid.SampledFrom(grounds).Draw(t, "ground"),
			picks:  [2]int{rapid.IntRange(0, 99).Draw(t, "pick"), rapid.IntRange(0, 99).Draw(t, "pick")},
			stale:  rapid.IntRange(0, 9).Draw(t, "stale") == 0, winner: rapid.Bool().Draw(t, "winner"),
			left: rapid.Bool().Draw(t, "left")}
	})
}

// run takes the step. It returns only errors that no writer should see.
func (d draw) run(w *world, p schema.Principal) error {
	record := semantic(d.who+" lives in "+d.where+".", d.who, "lives_in", d.where, d.ground)
	if d.action == "" {
		_, err := w.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(),
			WorkflowID: "wf"},
			Request: schema.PutRequest{Operation: schema.Operation{Principal: p},
				Records: []schema.MemoryRecord{record}}, Policy: w.policy, Now: time.Now()})
		return err // a refusal is a status
	}
	known, err := w.List(ctx, pg.Filter{Principal: p}, pg.Page{})
	if err != nil || len(known) == 0 {
		return err
	}
	req := schema.ReviseRequest{Operation: schema.Operation{Principal: p, Reason: "drawn"}, Action: d.action,
		Record: &record, Evidence: heard}
	n := 1
	if d.action == schema.ReviseMerge || d.action == schema.ReviseResolve {
		n = 2
	}
	for _, pick := range d.picks[:n] {
		m := known[pick%len(known)]
		target := schema.Target{ID: m.ID, IfVersion: m.Version}
		if d.stale {
			target.IfVersion++
		}
		if !slices.ContainsFunc(req.Targets, func(t schema.Target) bool { return t.ID == m.ID }) {
			req.Targets = append(req.Targets, target)
		}
	}
	switch {
	case d.action == schema.ReviseRetract:
		req.Record = nil
	case d.action == schema.ReviseResolve && d.winner:
		req.Record, req.Winner = nil, req.Targets[0].ID
	case d.action == schema.ReviseFork && d.left:
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(`{"k":3}`)}
	case d.action == schema.ReviseSupersede && d.left && len(known) > 1:
		if other := known[d.picks[1]%len(known)]; other.ID != req.Targets[0].ID {
			req.Record = &schema.MemoryRecord{ID: other.ID}
		}
	}
	if req.Validate() != nil {
		return nil
	}
	_, err = w.Revise(ctx, edit.ReviseInput{Operation: schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(),
		WorkflowID: "wf"}, Request: req,
		Policy: proposals.WritePolicy{Mode: schema.ModeControlled}, Now: time.Now()})
	return err
}
