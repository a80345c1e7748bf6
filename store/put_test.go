package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// record reads a record as a client would send it.
func record(t testing.TB, format string, args ...any) schema.MemoryRecord {
	t.Helper()
	var m schema.MemoryRecord
	require.NoError(t, json.Unmarshal(fmt.Appendf(nil, format, args...), &m))
	return m
}

// likes is a functional claim about the language that Ana prefers.
func likes(t testing.TB, id, object, validity string) schema.MemoryRecord {
	t.Helper()
	return record(t,
		`{"id": %q, "type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "Ana",
		"predicate": "prefers_language", "object": %q, "validity": %s}}`, id, object, validity)
}

const always = `{"mode": "global"}`

func task(t testing.TB, id, state, summary string) schema.MemoryRecord {
	t.Helper()
	return record(t,
		`{"id": %q, "type": "working", "confidence": 1, "payload": {"kind": "working", "thread_id": "t1", "state": %q,
		"context_summary": %q}}`, id, state, summary)
}

// episode has one event for each text.
func episode(t testing.TB, id string, events ...string) schema.MemoryRecord {
	t.Helper()
	timeline := []string{}
	for i, text := range events {
		timeline = append(timeline,
			fmt.Sprintf(`{"t": "2026-01-0%dT00:00:00Z", "event_kind": "observation", "ref": "evt://%d", "summary": %q}`,
				i+1, i, text))
	}
	return record(t,
		`{"id": %q, "type": "episodic", "confidence": 1, "payload": {"kind": "episodic", "timeline": [%s]}}`, id,
		strings.Join(timeline, ","))
}

// A fact needs evidence: the record names it, or its author is a person or an importer.
func TestPutOfAFactNeedsEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(actor string, m schema.MemoryRecord) schema.PutItem {
		in := w.putInput(m)
		in.Request.Actor = actor
		result, err := w.Put(ctx, in)
		require.NoError(t, err)
		return result.Items[0]
	}
	evidence := func(item schema.PutItem) []schema.Ref {
		t.Helper()
		require.Equal(t, schema.PutCreated, item.Status, item.Problem)
		m := w.get(uuid.MustParse(item.ID))
		return proposals.PayloadEvidence(m.Payload)
	}
	bare := func(town string) schema.MemoryRecord {
		return record(t,
			`{"id": %q, "type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": %q,
			"predicate": "is_a", "object": "town", "validity": {"mode": "global"}}}`, town, town)
	}
	refused := put("", bare("Faro"))
	require.Equal(t, schema.PutNoEvidence, refused.Status)
	require.Contains(t, refused.Problem, "payload.evidence")
	_, err := w.Get(ctx, w.p, uuid.MustParse(refused.ID))
	require.ErrorIs(t, err, pg.ErrNotFound)
	require.Equal(t, 1, w.count("memory_history", "memory_id = $1 AND event = 'none' AND reason = 'no_evidence'",
		refused.ID))

	ana := []schema.Ref{{Kind: "human", Ref: "operator:ana"}}
	first := put("operator:ana", bare("Faro"))
	require.Equal(t, ana, evidence(first))
	require.Equal(t, schema.PutUnchanged, put("operator:bob", bare("Faro")).Status, "another author states it again")
	require.Equal(t, schema.PutUnchanged, put("", bare("Faro")).Status)

	told := bare("Porto")
	told.Provenance.Sources = []schema.Ref{{Kind: "tool_call", Ref: "call-7"}}
	require.Equal(t, told.Provenance.Sources, evidence(put("", told)))
	imported := bare("Braga")
	imported.Provenance.CreatedBy = "mem0"
	require.Equal(t, schema.PutNoEvidence, put("importer:other", imported).Status)
	require.Equal(t, []schema.Ref{{Kind: "observation", Ref: "importer:mem0"}},
		evidence(put("importer:mem0", imported)))

	// Records that refer to a refused record are refused too, and no others.
	in := w.putInput(bare("Evora"),
		record(t,
			`{"type": "working", "confidence": 1, "payload": {"kind": "working", "thread_id": "t", "state": "planning"},
		"relations": [{"predicate": "supports", "target_id": "Evora", "weight": 1}]}`),
		task(t, "t2", "planning", "Pack."))
	result, err := w.Put(ctx, in)
	require.NoError(t, err)
	require.Equal(t, []schema.PutStatus{schema.PutNoEvidence, schema.PutBadRef, schema.PutCreated},
		[]schema.PutStatus{result.Items[0].Status, result.Items[1].Status, result.Items[2].Status})
}

// The id of the key that encrypted a payload is kept, also when the record is put again.
func TestPutKeepsTheKeyID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(m schema.MemoryRecord, key string) schema.MemoryRecord { m.KeyID = key; return m }
	id := w.created(at(task(t, "t1", "planning", "Pack the bags."), "kms/1"))
	require.Equal(t, "kms/1", w.get(id).KeyID)
	require.Equal(t, schema.PutUnchanged, w.putAll(at(task(t, "t1", "planning", "Pack the bags."), "kms/1"))[0].Status)
	require.Equal(t, schema.PutUpdated, w.putAll(at(task(t, "t1", "planning", "Pack the bags."), "kms/2"))[0].Status)
	require.Equal(t, "kms/2", w.get(id).KeyID)
	grown := w.created(episode(t, "e1", "It began."))
	require.Equal(t, schema.PutUpdated, w.putAll(at(episode(t, "e1", "It began.", "It went on."), "kms/3"))[0].Status)
	require.Equal(t, "kms/3", w.get(grown).KeyID)
	town := w.created(at(likes(t, "", "go", always), "kms/4"))
	next := with(likes(t, "", "rust", always), func(m *schema.MemoryRecord) { m.ID, m.KeyID = "", "kms/5" })
	r := w.applied(w.revision(schema.ReviseSupersede, next, schema.Target{ID: town.String(), IfVersion: 1}))
	require.Equal(t, "kms/5", w.get(uuid.MustParse(r.Created[0])).KeyID)
	w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(id)))
	require.Empty(t, w.get(id).KeyID, "it is removed with the payload")
}

func (w *world) putInput(records ...schema.MemoryRecord) edit.PutInput {
	w.t.Helper()
	in := edit.PutInput{Operation: schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(), WorkflowID: "put/wf"},
		Policy: w.policy, Now: w.now,
		Request: schema.PutRequest{Operation: schema.Operation{Principal: w.p, Reason: "because"}, Visibility: w.vis,
			Records: records}}
	require.NoError(w.t, in.Request.Validate())
	return in
}

func (w *world) putAll(records ...schema.MemoryRecord) []schema.PutItem {
	w.t.Helper()
	result, err := w.Put(ctx, w.putInput(records...))
	require.NoError(w.t, err)
	require.Len(w.t, result.Items, len(records))
	return result.Items
}

// created puts one new record.
func (w *world) created(m schema.MemoryRecord) uuid.UUID {
	w.t.Helper()
	item := w.putAll(m)[0]
	require.Equal(w.t, schema.PutCreated, item.Status, item.Problem)
	require.Equal(w.t, 1, item.Version)
	return uuid.MustParse(item.ID)
}

func statuses(items []schema.PutItem) []schema.PutStatus {
	out := []schema.PutStatus{}
	for _, item := range items {
		out = append(out, item.Status)
	}
	return out
}

func TestPutFillsInWhatARecordLeavesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for kind, m := range map[schema.MemoryType]schema.MemoryRecord{
		schema.TypeSemantic: likes(t, "", "go", always),
		schema.TypeWorking:  task(t, "", "planning", "set the project up"),
		schema.TypeEpisodic: episode(t, "", "the build failed", "the build worked"),
		schema.TypeCompetence: record(t,
			`{"type": "competence", "confidence": 0.7, "payload": {"kind": "competence", "skill_name": "fix_linker",
			"triggers": [{"signal": "ld: cache mismatch"}], "recipe": [{"step": "Clear the cache"}]}}`),
		schema.TypePlanGraph: record(t,
			`{"type": "plan", "confidence": 0.7, "payload": {"kind": "plan_graph", "plan_id": "p", "version": "1",
			"intent": "setup_project", "nodes": [{"id": "a", "op": "git_init"}], "edges": []}}`),
	} {
		id := w.created(m)
		got := w.get(id)
		tier, typology := memory.Placement(kind)
		require.Equal(t, kind, got.Type)
		require.Equal(t, tier, got.Tier)
		require.Equal(t, typology, got.Typology)
		require.Equal(t, schema.SensitivityLow, got.Sensitivity)
		require.Equal(t, memory.DefaultDeletion(kind, false), got.Lifecycle.DeletionPolicy)
		require.Equal(t, int64(memory.DefaultDecay(kind).HalfLife/time.Second), got.Lifecycle.Decay.HalfLifeSeconds)
		require.InDelta(t, 1, got.Salience, 0)
		require.InDelta(t, 1, got.SourceTrust, 0)
		require.Equal(t, w.now, got.CreatedAt)
		require.NotNil(t, got.Lifecycle.DecayDueAt)
		require.Equal(t, schema.StatusActive, got.Status)
		require.Equal(t, "agent:a", got.Provenance.CreatedBy)
		require.Equal(t, memory.RecordText(m), got.Content)
		require.NotContains(t, got.Content, "_")
		h := w.history(id)
		require.Len(t, h, 1)
		require.Equal(t, []any{schema.EventCreated, schema.AuditCreate, "agent:a", "because", 1},
			[]any{h[0].Event, h[0].Action, h[0].ChangedBy, h[0].Reason, h[0].Version})
		require.Equal(t, "put/wf", metadata(t, h[0])["workflowId"])
		require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'upsert'", id))
	}
	require.Equal(t, 0, w.count("memories", "payload ? 'revision'"))
	require.Equal(t, 1, w.count("entity_claims", "subject = 'Ana' AND functional"))
	testkit.CheckInvariants(t, w.owner)
}

// The same content is the same memory. Records that differ in their conditions, their steps or the time of the event
// are different memories.
func TestPutFindsDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.created(likes(t, "", "go", always))
	again := w.putAll(likes(t, uuid.NewString(), "go", always))[0]
	require.Equal(t, schema.PutItem{ID: first.String(), Status: schema.PutDuplicate}, again)
	forks := w.putAll(likes(t, "", "go", `{"mode": "conditional", "conditions": {"kind": "backend"}}`),
		likes(t, "", "go", `{"mode": "conditional", "conditions": {"kind": "cli"}}`),
		likes(t, "", "go", `{"mode": "conditional", "conditions": {"kind": "cli"}}`))
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated, schema.PutDuplicate}, statuses(forks))
	require.Equal(t, forks[1].ID, forks[2].ID)
	worded := []schema.MemoryRecord{likes(t, "", "go", `{"mode": "conditional", "conditions": {"os": "linux"}}`),
		likes(t, "", "go", `{"mode": "conditional", "conditions": {"os": "macos"}}`)}
	worded[0].Content, worded[1].Content = "Ana takes Go there.", "Ana takes Go there."
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated}, statuses(w.putAll(worded...)),
		"forks may have the same words")

	twice := w.putAll(episode(t, "", "deployed"), episode(t, "", "deployed"))
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutDuplicate}, statuses(twice))
	later := episode(t, "", "deployed")
	later.Payload = json.RawMessage(strings.ReplaceAll(string(later.Payload), "2026-01-01", "2026-01-05"))
	w.created(later)

	said, lasting := w.memory("Ana prefers tea."), w.explicit("Ana prefers tea.")
	require.NotEqual(t, said, lasting, "the statement and the fact are different")
	told := record(t,
		`{"type": "semantic", "confidence": 1, "content": "Ana prefers  tea", "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "Ana",
		"predicate": "prefers", "object": "tea", "validity": {"mode": "global"}, "cardinality": "many"}}`)
	require.Equal(t, schema.PutItem{ID: lasting.String(), Status: schema.PutDuplicate}, w.putAll(told)[0],
		"candidates of the pipeline count too")
	w.forget(lasting)
	w.created(told)
	h := w.history(first)
	require.Equal(t, schema.EventNone, h[len(h)-1].Event)
}

func TestPutLeavesActiveFactsToRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	go1 := w.created(likes(t, "", "go", always))
	rust := w.putAll(likes(t, "", "rust", always))[0]
	require.Equal(t, schema.PutItem{ID: go1.String(), Status: schema.PutConflict}, rust)
	backend := `{"mode": "conditional", "conditions": {"kind": ["a", "b"], "os": "linux"}}`
	within := w.putAll(likes(t, "", "c", backend),
		likes(t, "", "zig", `{"mode": "conditional", "conditions": {"os": "linux", "kind": ["a", "b"]}}`))
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutConflict}, statuses(within))
	require.Equal(t, within[0].ID, within[1].ID)
	windows := w.putAll(likes(t, "", "c",
		`{"mode": "timeboxed", "start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"}`),
		likes(t, "", "d", `{"mode": "timeboxed", "start": "2026-02-01T00:00:00Z", "end": "2026-03-01T00:00:00Z"}`),
		likes(t, "", "e", `{"mode": "timeboxed", "start": "2026-01-20T00:00:00Z", "end": "2026-02-10T00:00:00Z"}`))
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated, schema.PutConflict}, statuses(windows),
		"claims with overlapping windows exclude each other")

	many := likes(t, "", "lua", always)
	many.Payload = json.RawMessage(strings.Replace(string(many.Payload), "{", `{"cardinality": "many",`, 1))
	contested := likes(t, "", "java", always)
	contested.Status = schema.StatusContested
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated}, statuses(w.putAll(many, contested)))
	w.p.Agent = "b"
	w.created(likes(t, "", "rust", always)) // private to another agent
	w.p.Agent = "a"
	require.Len(t, w.history(go1), 2)
	testkit.CheckInvariants(t, w.owner)
}

func TestPutUnderATakenID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := uuid.New()
	m := likes(t, id.String(), "go", always)
	m.Tags, m.CreatedAt = []string{"x"}, time.Date(2026, 1, 28, 0, 0, 0, 123456789, time.UTC)
	w.created(m)
	require.Equal(t, schema.PutItem{ID: id.String(), Status: schema.PutUnchanged, Version: 1}, w.putAll(m)[0])
	require.Equal(t, schema.PutUnchanged, w.putAll(w.get(id))[0].Status, "a record that was read can be put again")
	other := m
	other.Confidence = 0.8
	require.Equal(t, schema.PutItem{ID: id.String(), Status: schema.PutExists, Version: 1}, w.putAll(other)[0])
	other.Type = schema.TypeWorking
	other.Payload = task(t, "", "planning", "x").Payload
	require.Equal(t, schema.PutExists, w.putAll(other)[0].Status)
	w.forget(id)
	require.Equal(t, schema.PutExists, w.putAll(m)[0].Status)

	secret := uuid.New()
	w.p.Agent = "b"
	w.created(likes(t, secret.String(), "secret", always))
	w.p.Agent = "a"
	before := w.count("memory_history", "memory_id = $1", secret)
	require.Equal(t, schema.PutItem{ID: secret.String(), Status: schema.PutExists},
		w.putAll(likes(t, secret.String(), "secret", always))[0], "nothing is said of it")
	require.Equal(t, before, w.count("memory_history", "memory_id = $1", secret))
	require.Equal(t, 2, w.count("memories", "true"))
}

func TestPutMapsForeignIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := likes(t, "mem-1", "go", always), task(t, "mem-2", "planning", "use go")
	b.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: "mem-1", Weight: 1}}
	items := w.putAll(b, a) // the target comes second
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated}, statuses(items))
	require.Equal(t, "mem-2", items[0].ExternalID)
	got := w.get(uuid.MustParse(items[0].ID))
	require.Equal(t, "mem-2", got.ExternalID)
	require.Equal(t, items[1].ID, got.Relations[0].TargetID)
	require.Equal(t, schema.PutUnchanged, w.putAll(a)[0].Status)

	given := likes(t, uuid.NewString(), "tea", `{"mode": "conditional", "conditions": {"at": "home"}}`)
	given.ExternalID = "mem-3"
	at := w.created(given)
	c := episode(t, "", "drank")
	c.Relations = []schema.Relation{{Predicate: "supports", TargetID: "mem-3", Weight: 0.5, Reason: "seen"}}
	require.Equal(t, []schema.Relation{{Predicate: "supports", TargetID: at.String(), Weight: 0.5, Reason: "seen"}},
		w.get(w.created(c)).Relations)
	clash := likes(t, uuid.NewString(), "coffee", `{"mode": "conditional", "conditions": {"at": "work"}}`)
	clash.ExternalID = "mem-3"
	require.Equal(t, schema.PutItem{ID: at.String(), ExternalID: "mem-3", Status: schema.PutExists, Version: 1},
		w.putAll(clash)[0])
	require.NotEqual(t, memory.RecordID("t", "mem-1"), memory.RecordID("u", "mem-1"))
}

func TestPutRefusesUnknownReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.p.Agent = "b"
	hidden := w.created(likes(t, "", "secret", always))
	w.p.Agent = "a"
	bad := func(change func(*schema.MemoryRecord)) schema.PutItem {
		m := episode(t, "", uuid.NewString())
		change(&m)
		return w.putAll(m)[0]
	}
	relation := func(target string) func(*schema.MemoryRecord) {
		return func(m *schema.MemoryRecord) {
			m.Relations = []schema.Relation{{Predicate: "supports", TargetID: target, Weight: 1}}
		}
	}
	sum := "sha256:" + strings.Repeat("ab", 32)
	for field, item := range map[string]schema.PutItem{
		"relations[0].target_id": bad(relation(uuid.NewString())),
		"relations[0]":           bad(relation(hidden.String())),
		"superseded_by": bad(func(m *schema.MemoryRecord) {
			m.SupersededBy, m.Status = uuid.NewString(), schema.StatusSuperseded
		}),
		"payload.artifacts[1]": bad(func(m *schema.MemoryRecord) {
			m.Payload = json.RawMessage(strings.Replace(string(m.Payload), "{",
				`{"artifacts": ["file:///x", "`+sum+`"],`, 1))
		}),
		"provenance.sources[0].ref": bad(func(m *schema.MemoryRecord) {
			m.Provenance.Sources = []schema.Ref{{Kind: "artifact", Ref: sum}}
		}),
	} {
		require.Equal(t, schema.PutBadRef, item.Status)
		require.True(t, strings.HasPrefix(item.Problem, field), item.Problem)
		require.NotContains(t, item.Problem, sum)
	}
	// A record that refers to a refused one of the same request is refused too, and the others are stored.
	lost, chained, fine := episode(t, "one", "1"), episode(t, "two", "2"), episode(t, "three", "3")
	relation(uuid.NewString())(&lost)
	relation("one")(&chained)
	require.Equal(t, []schema.PutStatus{schema.PutBadRef, schema.PutBadRef, schema.PutCreated},
		statuses(w.putAll(lost, chained, fine)))
	require.Equal(t, 2, w.count("memories", "true"))
	// A duplicate is represented by the stored memory.
	twin, child := episode(t, "four", "3"), episode(t, "five", "5")
	relation("four")(&child)
	items := w.putAll(child, twin)
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutDuplicate}, statuses(items))
	require.Equal(t, memory.RecordID("t", "three").String(), w.get(uuid.MustParse(items[0].ID)).Relations[0].TargetID)
}

func TestDerivedRecordsAreTrustedAtMostAsTheirSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doubtful, secret := episode(t, "doubtful", "heard it"), episode(t, "secret", "read it")
	doubtful.SourceTrust = 0.3
	secret.Sensitivity = schema.SensitivityHigh
	from := func(m schema.MemoryRecord, targets ...string) schema.MemoryRecord {
		for _, id := range targets {
			m.Relations = append(m.Relations, schema.Relation{Predicate: "derived_from", TargetID: id, Weight: 1})
		}
		return m
	}
	w.putAll(from(episode(t, "third", "3"), "second"), from(episode(t, "second", "2"), "doubtful", "secret"), doubtful,
		secret)
	w.putAll(from(episode(t, "fourth", "4"), "third"))
	for _, id := range []string{"second", "third", "fourth"} {
		got := w.get(memory.RecordID("t", id))
		require.InDelta(t, 0.3, got.SourceTrust, 0, id)
		require.Equal(t, schema.SensitivityHigh, got.Sensitivity, id)
	}
	require.InDelta(t, 1, w.get(memory.RecordID("t", "secret")).SourceTrust, 0)

	// A source that loses trust lowers the trust of everything derived from it.
	state, known := task(t, "state", "planning", "a plan"), from(episode(t, "known", "5"), "state")
	w.putAll(state, known, from(episode(t, "further", "6"), "known"))
	state.SourceTrust = 0.5
	state.Confidence = 0.9
	require.Equal(t, schema.PutUpdated, w.putAll(state)[0].Status)
	longer := from(episode(t, "known", "5", "more"), "state", "doubtful")
	require.Equal(t, schema.PutUpdated, w.putAll(longer)[0].Status)
	require.InDelta(t, 0.3, w.get(memory.RecordID("t", "known")).SourceTrust, 0)
	require.InDelta(t, 0.3, w.get(memory.RecordID("t", "further")).SourceTrust, 0)
	h := w.history(memory.RecordID("t", "further"))
	require.Equal(t, []any{"a source is trusted less", 3}, []any{h[2].Reason, h[2].Version})
	testkit.CheckInvariants(t, w.owner)
}

// A chain of revisions made elsewhere is stored as it is, with contradictions at both ends.
func TestPutOfAChainOfRevisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, other := likes(t, "old", "go", always), likes(t, "other", "rust", always)
	next := likes(t, uuid.NewString(), "zig", always)
	old.Status, old.SupersededBy = schema.StatusSuperseded, next.ID
	other.Status = schema.StatusContested
	other.Relations = []schema.Relation{{Predicate: "contradicts", TargetID: "old", Weight: 0.7, Reason: "so said Bob"}}
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated, schema.PutCreated},
		statuses(w.putAll(old, other, next)))
	got := w.get(memory.RecordID("t", "old"))
	require.Equal(t, []any{schema.StatusSuperseded, next.ID}, []any{got.Status, got.SupersededBy})
	require.NotNil(t, got.SupersededAt)
	require.Equal(t, []schema.Relation{{Predicate: "contradicts", TargetID: memory.RecordID("t", "other").String(),
		Weight: 0.7, Reason: "so said Bob"}}, got.Relations)
	require.Equal(t, 0, w.count("index_outbox", "memory_id = $1", memory.RecordID("t", "old")))
	testkit.CheckInvariants(t, w.owner)
	for _, m := range []schema.MemoryRecord{old, other, next} {
		require.Equal(t, schema.PutUnchanged, w.putAll(m)[0].Status)
	}
	old.SupersededBy = ""
	r := schema.PutRequest{Operation: schema.Operation{Principal: w.p}, Records: []schema.MemoryRecord{old}}
	require.ErrorContains(t, r.Validate(), "records[0].superseded_by: is required")
	r.Records[0].Status, r.Records[0].SupersededBy = schema.StatusActive, next.ID
	require.ErrorContains(t, r.Validate(), "records[0].superseded_by: must not be given")
}

// Records are subject to the same policy as candidates.
func TestPutIsClassifiedByThePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := episode(t, "", "Use the key AKIAIOSFODNN7EXAMPLE for the bucket, password: hunter2-Xy9!kk")
	secret.Sensitivity = schema.SensitivityPublic
	secret.Content = "A harmless title."
	id := w.created(secret)
	require.Equal(t, schema.SensitivityHyper, w.get(id).Sensitivity, "the payload is classified too")
	require.NotEmpty(t, metadata(t, w.history(id)[0])["detected"])

	rules, err := policy.Parse([]byte(`
rules:
  - name: team-skills
    when: kind == "record" && type == "competence"
    set: {visibility: shared, scope: team, importance: 0.3, source_trust: 0.4}
`))
	require.NoError(t, err)
	in := w.putInput(record(t,
		`{"type": "competence", "confidence": 0.7, "payload": {"kind": "competence", "skill_name": "fix_linker",
		"triggers": [{"signal": "ld: cache mismatch"}], "recipe": [{"step": "Clear the cache"}]}}`))
	in.Rules = rules
	result, err := w.Put(ctx, in)
	require.NoError(t, err)
	got := w.get(uuid.MustParse(result.Items[0].ID))
	require.Equal(t, []any{schema.VisibilityShared, "team", 0.3, 0.4},
		[]any{got.Visibility, got.Scope, got.Importance, got.SourceTrust})
	require.Equal(t, []any{"team-skills"}, metadata(t, w.history(uuid.MustParse(got.ID))[0])["rules"])
	in.Operation.ID = "again"
	in.Request.Records[0].ID = got.ID
	result, err = w.Put(ctx, in)
	require.NoError(t, err)
	require.Equal(t, schema.PutUnchanged, result.Items[0].Status)
}

func TestWorkingMemoryIsReplacedAndDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := uuid.New()
	first := task(t, id.String(), "planning", "choose a frontend")
	first.Relations = []schema.Relation{{Predicate: "supports", TargetID: w.memory("a project").String(), Weight: 1}}
	w.created(first)
	w.now = w.now.Add(time.Minute)
	next := task(t, id.String(), "executing", "write the frontend")
	next.Tags = []string{"web"}
	require.Equal(t, schema.PutItem{ID: id.String(), Status: schema.PutUpdated, Version: 2}, w.putAll(next)[0])
	got := w.get(id)
	require.Equal(t, []any{2, w.now, "write the frontend. thread: t1", []string{"web"}},
		[]any{got.Version, got.UpdatedAt, got.Content, got.Tags})
	require.Empty(t, got.Relations)
	h := w.history(id)
	require.Equal(t, "choose a frontend. thread: t1", *h[1].OldContent)
	require.Equal(t, "write the frontend. thread: t1", *h[1].NewContent)
	require.Equal(t, []any{schema.EventModified, schema.AuditModify, 2}, []any{h[1].Event, h[1].Action, h[1].Version})
	require.Equal(t, 1, w.count("memory_versions", "memory_id = $1", id))
	testkit.CheckInvariants(t, w.owner)

	stale := task(t, id.String(), "blocked", "write the backend")
	stale.Version = 1
	require.Equal(t, schema.PutItem{ID: id.String(), Status: schema.PutVersion, Version: 2}, w.putAll(stale)[0])
	stale.Version = 2
	require.Equal(t, schema.PutUpdated, w.putAll(stale)[0].Status)
	other := w.created(task(t, "", "planning", "another matter"))
	same := task(t, id.String(), "planning", "another matter")
	require.Equal(t, schema.PutItem{ID: other.String(), Status: schema.PutDuplicate}, w.putAll(same)[0])

	done := task(t, id.String(), "done", "all written")
	require.Equal(t, schema.PutItem{ID: id.String(), Status: schema.PutDiscarded, Version: 5}, w.putAll(done)[0])
	got = w.get(id)
	require.NotNil(t, got.DeletedAt)
	h = w.history(id)
	last := h[len(h)-1]
	require.Equal(t, []any{schema.EventDeleted, schema.AuditDelete, "task ended", 5},
		[]any{last.Event, last.Action, last.Reason, last.Version})
	require.Equal(t, "all written. thread: t1", *last.OldContent)
	require.Equal(t, schema.PutDiscarded, w.putAll(task(t, "", "done", "over before it began"))[0].Status)
	require.Equal(t, schema.PutExists, w.putAll(task(t, id.String(), "planning", "once more"))[0].Status)
	testkit.CheckInvariants(t, w.owner)
}

func TestEpisodesGrowAndDoNotChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := uuid.NewString()
	first := episode(t, id, "ran make", "it failed")
	first.Provenance.Sources = []schema.Ref{{Kind: "event", Ref: "evt://0"}}
	w.created(first)
	longer := episode(t, id, "ran make", "it failed", "fixed it")
	longer.Payload = json.RawMessage(strings.Replace(string(longer.Payload), "{",
		`{"outcome": "success", "artifacts": ["file:///log"],`, 1))
	longer.Provenance.Sources = []schema.Ref{{Kind: "event", Ref: "evt://0"}, {Kind: "outcome", Ref: "evt://2"}}
	require.Equal(t, schema.PutItem{ID: id, Status: schema.PutUpdated, Version: 2}, w.putAll(longer)[0])
	got := w.get(uuid.MustParse(id))
	require.Equal(t, "ran make; it failed", got.Content)
	require.Equal(t, longer.Provenance.Sources, got.Provenance.Sources)
	require.True(t, memory.SameJSON(longer.Payload, got.Payload))
	require.Equal(t, schema.PutUnchanged, w.putAll(longer)[0].Status)
	require.Equal(t, schema.PutUnchanged, w.putAll(got)[0].Status)

	for problem, change := range map[string]func(*schema.MemoryRecord){
		"payload.timeline[1]": func(m *schema.MemoryRecord) {
			m.Payload = json.RawMessage(strings.Replace(string(m.Payload), "it failed", "it worked", 1))
		},
		"payload.artifacts": func(m *schema.MemoryRecord) { *m = episode(t, id, "ran make", "it failed", "fixed it") },
		"payload.timeline[2]": func(m *schema.MemoryRecord) {
			m.Payload = first.Payload
			m.Payload = json.RawMessage(strings.Replace(string(m.Payload), "{",
				`{"outcome": "success", "artifacts": ["file:///log"],`, 1))
		},
		"content": func(m *schema.MemoryRecord) { m.Content = "It never failed." },
		"payload.outcome": func(m *schema.MemoryRecord) {
			m.Payload = json.RawMessage(strings.Replace(string(m.Payload), `"success"`, `"failure"`, 1))
		},
		"payload: has not": func(m *schema.MemoryRecord) { m.Confidence = 0.1 },
		"payload.artifacts[0]": func(m *schema.MemoryRecord) {
			m.Payload = json.RawMessage(strings.Replace(string(m.Payload), "///log", "///LOG", 1))
		},
	} {
		m := longer
		change(&m)
		item := w.putAll(m)[0]
		require.Equal(t, schema.PutAppendOnly, item.Status, problem)
		require.True(t, strings.HasPrefix(item.Problem, problem), "%s: %s", problem, item.Problem)
	}
	stale := episode(t, id, "ran make", "it failed", "fixed it", "told Ana")
	stale.Payload = json.RawMessage(strings.Replace(string(stale.Payload), "{",
		`{"outcome": "success", "artifacts": ["file:///log"],`, 1))
	stale.Version = 1
	require.Equal(t, schema.PutVersion, w.putAll(stale)[0].Status)
	require.Equal(t, 2, w.get(uuid.MustParse(id)).Version)
	// The database enforces this too.
	_, err := w.owner.Exec(ctx,
		`UPDATE memories SET payload = jsonb_set(payload, '{timeline,0,summary}', '"else"') WHERE id = $1`, id)
	require.ErrorContains(t, err, "append-only")
}

func TestPutInModesThatDoNotWrite(t *testing.T) {
	t.Parallel()
	for mode, status := range map[schema.WriteMode]schema.PutStatus{schema.ModeShadow: schema.PutShadow,
		schema.ModeFrozen: schema.PutFrozen} {
		w := newWorld(t)
		known := w.created(likes(t, "", "go", always))
		working := w.created(task(t, "", "planning", "x"))
		w.policy.Mode = mode
		before := w.snapshot()
		id := uuid.NewString()
		items := w.putAll(task(t, id, "planning", "something new"), likes(t, "", "go", always),
			task(t, working.String(), "blocked", "y"))
		require.Equal(t, []schema.PutItem{{ID: id, Status: status}, {ID: known.String(), Status: schema.PutDuplicate},
			{ID: working.String(), Status: status}}, items)
		after := w.snapshot()
		for table := range before {
			if table != "memory_history" && table != "operations" {
				require.Equal(t, before[table], after[table], table)
			}
		}
		var h schema.HistoryEntry
		require.NoError(t, w.owner.QueryRow(ctx,
			`SELECT event, reason, metadata, new_content FROM memory_history WHERE memory_id = $1`, id).
			Scan(&h.Event, &h.Reason, &h.Metadata, &h.NewContent))
		require.Equal(t, schema.EventNone, h.Event)
		require.Equal(t, string(status), h.Reason)
		require.Nil(t, h.NewContent)
		require.Equal(t, "put", metadata(t, h)["proposed"])
		require.Equal(t, "created", metadata(t, h)["wouldBe"])
	}
}

func TestPutKeepsTheAuditLogItBrings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := likes(t, "", "go", always)
	m.AuditLog = []schema.AuditEntry{
		{Action: schema.AuditCreate, Actor: "agent:x", Timestamp: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
			Rationale: "said so"},
		{Action: schema.AuditRevise, Actor: "human:y", Timestamp: time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC),
			Rationale: "was wrong"},
	}
	m.Provenance.CreatedBy = "consolidator/2"
	id := w.created(m)
	h := w.history(id)
	require.Len(t, h, 3)
	for i, e := range m.AuditLog {
		require.Equal(t, e, schema.AuditEntry{Action: h[i].Action, Actor: h[i].ChangedBy, Timestamp: h[i].CreatedAt,
			Rationale: h[i].Reason})
		require.Zero(t, h[i].Version)
	}
	require.Equal(t, []any{schema.EventCreated, "agent:a", 1}, []any{h[2].Event, h[2].ChangedBy, h[2].Version})
	require.Equal(t, "consolidator/2", w.get(id).Provenance.CreatedBy)
	m.AuditLog[0].Actor = " "
	require.ErrorContains(t, (&schema.PutRequest{Operation: schema.Operation{Principal: w.p},
		Records: []schema.MemoryRecord{m}}).Validate(), "records[0].audit_log[0].actor")
}

func TestPutRequestsAreValidated(t *testing.T) {
	t.Parallel()
	p := schema.Principal{Tenant: "t", Agent: "a", Project: "p"}
	ok := likes(t, "", "go", always)
	with := func(change func(*schema.MemoryRecord)) schema.PutRequest {
		m := ok
		change(&m)
		return schema.PutRequest{Operation: schema.Operation{Principal: p}, Records: []schema.MemoryRecord{ok, m}}
	}
	now := time.Now()
	for field, r := range map[string]schema.PutRequest{
		"records: must hold at least one": {Operation: schema.Operation{Principal: p}},
		"records: must hold at most": {Operation: schema.Operation{Principal: p},
			Records: slices.Repeat([]schema.MemoryRecord{ok}, schema.MaxPutRecords+1)},
		"visibility": {Operation: schema.Operation{Principal: p},
			Records: []schema.MemoryRecord{ok}, Visibility: "all"},
		"mode": {Operation: schema.Operation{Principal: p},
			Records: []schema.MemoryRecord{ok}, Mode: "fast"},
		"principal.policy_group": {Operation: schema.Operation{Principal: p},
			Records: []schema.MemoryRecord{ok}, Visibility: schema.VisibilityGroup},
		"records[1].agent":      with(func(m *schema.MemoryRecord) { m.Agent = "b" }),
		"records[1].tenant":     with(func(m *schema.MemoryRecord) { m.Tenant = "u" }),
		"records[1].project":    with(func(m *schema.MemoryRecord) { m.Project = "q" }),
		"records[1].deleted_at": with(func(m *schema.MemoryRecord) { m.DeletedAt = &now }),
		"records[1].payload.kind": with(func(m *schema.MemoryRecord) {
			m.Payload = task(t, "", "planning", "x").Payload
		}),
		"records[1].tier": with(func(m *schema.MemoryRecord) {
			m.Tier, m.Typology = schema.TierPersistent, schema.TypologyEpisodic
		}),
		"must be at most 1048576 bytes": {Operation: schema.Operation{Principal: p},
			Records: slices.Repeat([]schema.MemoryRecord{
				{Type: schema.TypeSemantic, Content: strings.Repeat("x", 250<<10), Payload: ok.Payload}}, 5)},
	} {
		err := r.Validate()
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid, field)
		require.ErrorContains(t, err, field)
	}
	twice := with(func(m *schema.MemoryRecord) { m.ExternalID = "x" })
	twice.Records[0].ExternalID = "x"
	require.ErrorContains(t, twice.Validate(), "records[1].external_id: is that of records[0] as well")
	good := with(func(m *schema.MemoryRecord) { m.Scope, m.Agent = "team", "a" })
	require.NoError(t, good.Validate())
	good.Principal.Scope = "other"
	require.ErrorContains(t, good.Validate(), "records[1].scope")
}

func TestPutWritesIntoTheScopesOfItsRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := likes(t, "", "go", always)
	n := m
	m.Scope = "team"
	items := w.putAll(m, n)
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated}, statuses(items))
	require.Equal(t, "team", w.get(uuid.MustParse(items[0].ID)).Scope)
}

// The example records of document 004 §15A.12 are stored and returned unchanged.
func TestExampleRecordsOfTheRFC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, example := range []string{`{
		"id": "9a2b0000-0000-4000-8000-000000000001", "type": "semantic", "sensitivity": "low", "confidence": 0.9, "salience": 0.8,
		"created_at": "2026-01-28T00:00:00Z", "updated_at": "2026-01-28T00:00:00Z",
		"lifecycle": {"decay": {"curve": "exponential", "half_life_seconds": 7776000}, "last_reinforced_at": "2026-01-28T00:00:00Z"},
		"provenance": {"sources": [{"kind": "event", "ref": "evt://..."}]},
		"payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "user", "predicate": "prefers_backend_language", "object": "go",
			"validity": {"mode": "conditional", "conditions": {"project_kind": "backend_service"}}, "revision": {"status": "active"}}}`, `{
		"id": "c01d0000-0000-4000-8000-000000000001", "type": "competence", "sensitivity": "medium", "confidence": 0.7, "salience": 0.6,
		"created_at": "2026-01-28T00:00:00Z", "updated_at": "2026-01-28T00:00:00Z",
		"lifecycle": {"decay": {"curve": "exponential", "half_life_seconds": 2592000}, "last_reinforced_at": "2026-01-28T00:00:00Z"},
		"provenance": {"sources": [{"kind": "tool_call", "ref": "tool://build#123"}]},
		"payload": {"kind": "competence", "skill_name": "fix_linker_cache_error",
			"triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": "macos"}}],
			"recipe": [{"step": "Clear build cache", "tool": "shell", "validation": "cache directory removed"},
				{"step": "Rebuild with clean flags", "tool": "build", "validation": "build succeeds"}],
			"failure_modes": ["If cache directory is locked, retry with elevated permissions"], "fallbacks": ["Reinstall toolchain"], "version": "1.0"}}`} {
		m := record(t, "%s", example)
		id := w.created(m)
		encoded, err := json.Marshal(w.get(id))
		require.NoError(t, err)
		requireContains(t, example, string(encoded))
		require.Equal(t, schema.PutUnchanged, w.putAll(m)[0].Status)
	}
	require.Equal(t, "user prefers backend language go when project kind is backend service",
		strings.ReplaceAll(w.get(uuid.MustParse("9a2b0000-0000-4000-8000-000000000001")).Content, "_", " "))
}

// requireContains requires that everything in the first JSON object is in the second.
func requireContains(t testing.TB, want, got string) {
	t.Helper()
	var w, g map[string]any
	require.NoError(t, json.Unmarshal([]byte(want), &w))
	require.NoError(t, json.Unmarshal([]byte(got), &g))
	contains(t, "", w, g)
}

func contains(t testing.TB, path string, want, got any) {
	t.Helper()
	object, ok := want.(map[string]any)
	if !ok {
		require.Equal(t, want, got, path)
		return
	}
	in, ok := got.(map[string]any)
	require.True(t, ok, path)
	for key, value := range object {
		if list, ok := value.([]any); ok {
			other, ok := in[key].([]any)
			require.True(t, ok && len(list) == len(other), path+"."+key)
			for i := range list {
				contains(t, fmt.Sprintf("%s.%s[%d]", path, key, i), list[i], other[i])
			}
			continue
		}
		contains(t, path+"."+key, value, in[key])
	}
}

// A memory that is derived directly or through others loses trust once, even if derivations form a cycle. The history
// of a memory that the principal may not see does not name the principal.
func TestTrustFallsAlongLongDerivations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	state := task(t, "state", "planning", "a plan")
	w.putAll(state)
	const n = 600
	w.exec(`INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content,
		content_hash, payload, confidence, importance, salience,
			salience_at, decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy,
			occurred_at, created_at, updated_at, created_by)
		SELECT 't', md5('n' || g)::uuid, CASE g WHEN 7 THEN 'other' ELSE 'a' END, 'episodic', 'fact', 'session',
		'episodic', 'n' || g, 'n' || g, sha256(('n' || g)::bytea),
			'{"kind": "episodic", "timeline": []}', 1, 0.5, 1, $2, 'exponential', '1 day', 0, 0, $2, 'auto_prune', $2,
				$2, $2, 'x' FROM generate_series(1, $1::integer) g`, n, w.now)
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		SELECT 't', md5('n' || g)::uuid, 'derived_from', CASE g WHEN 1 THEN $2 ELSE md5('n' || g - 1)::uuid END, now()
		FROM generate_series(1, $1::integer) g
		UNION ALL SELECT 't', md5('n1')::uuid, 'derived_from', md5('n' || $1::integer)::uuid, now()`, n,
		memory.RecordID("t", "state"))
	w.exec(`UPDATE memories SET source_trust = 0.2 WHERE content = 'n5'`)
	w.exec(`DELETE FROM index_outbox`)

	state.SourceTrust = 0.5
	state.Confidence = 0.9
	require.Equal(t, schema.PutUpdated, w.putAll(state)[0].Status)
	require.Equal(t, n-1, w.count("memories", "content ~ '^n[0-9]+$' AND source_trust = 0.5 AND version = 2"))
	require.Equal(t, 1, w.count("memories", "content = 'n5' AND source_trust = 0.2 AND version = 1"),
		"trust is never raised")
	const told = "reason = 'a source is trusted less' AND changed_by = 'trust-policy' AND action = 'modify' " +
		"AND version = 2"
	require.Equal(t, n-2, w.count("memory_history", told+" AND metadata ? 'operationId'"))
	require.Equal(t, 1, w.count("memory_history", told+" AND metadata = '{}' AND memory_id = md5('n7')::uuid"))
	require.Equal(t, n-1, w.count("index_outbox o",
		"op = 'upsert' AND version = 2 AND EXISTS (SELECT FROM memories m WHERE m.id = o.memory_id AND m.content ~ "+
			"'^n[0-9]+$')"))
	require.Equal(t, n-1, w.count("memory_versions v", "version = 1 AND record->>'content' ~ '^n[0-9]+$'"))
}
