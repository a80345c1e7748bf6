package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

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
