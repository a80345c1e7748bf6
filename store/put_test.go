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
