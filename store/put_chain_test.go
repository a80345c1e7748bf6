package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// replaced is a claim that was superseded.
func replaced(t testing.TB, id, object, by string) schema.MemoryRecord {
	t.Helper()
	m := likes(t, id, object, always)
	m.Status, m.SupersededBy = schema.StatusSuperseded, by
	return m
}

// after is a claim that supersedes another.
func after(t testing.TB, id, object, of string) schema.MemoryRecord {
	t.Helper()
	m := likes(t, id, object, always)
	m.Supersedes = of
	return m
}

func TestPutRefusesCyclicSupersession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, c := uuid.NewString(), uuid.NewString(), uuid.NewString()
	mutual := w.putAll(replaced(t, a, "go", b), replaced(t, b, "rust", a))
	require.Equal(t, []schema.PutStatus{schema.PutCycle, schema.PutCycle}, statuses(mutual))
	require.Equal(t, "superseded_by: leads back to the record", mutual[0].Problem)
	ring := w.putAll(replaced(t, a, "go", b), replaced(t, b, "rust", c), replaced(t, c, "zig", a))
	require.Equal(t, []schema.PutStatus{schema.PutCycle, schema.PutCycle, schema.PutCycle}, statuses(ring))
	both := replaced(t, a, "go", b)
	both.Supersedes = b
	require.Equal(t, schema.PutCycle, w.putAll(both, likes(t, b, "rust", always))[0].Status)
	own := replaced(t, "", "go", memory.RecordID(w.p.Tenant, "notes/1").String())
	own.ExternalID = "notes/1"
	require.Equal(t, schema.PutCycle, w.putAll(own)[0].Status, "its own successor")
	require.Equal(t, 0, w.count("memory_links", "predicate = 'supersedes'"))
	require.Equal(t, 1, w.count("memories", "true"), "the record without a cycle is stored")

	// A new record would close a cycle between two stored ones: what it supersedes has superseded its successor.
	d, e, f := uuid.NewString(), uuid.NewString(), uuid.NewString()
	likesTea := func(m schema.MemoryRecord) schema.MemoryRecord {
		m.Payload = json.RawMessage(strings.Replace(string(m.Payload), "prefers_language", "prefers_drink", 1))
		return m
	}
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated, schema.PutCreated},
		statuses(w.putAll(likesTea(replaced(t, d, "tea", e)), likesTea(replaced(t, e, "milk", f)),
			likesTea(likes(t, f, "mate", always)))))
	between := likesTea(replaced(t, uuid.NewString(), "water", d))
	between.Supersedes = e
	require.Equal(t, schema.PutCycle, w.putAll(between)[0].Status)
	edge := likesTea(replaced(t, uuid.NewString(), "juice", d))
	edge.Relations = []schema.Relation{{Predicate: "supersedes", TargetID: e, Weight: 1}}
	require.Equal(t, schema.PutCycle, w.putAll(edge)[0].Status, "a relation means the same as the field")
	testkit.CheckInvariants(t, w.owner)
}

func TestPutSupersedesNothingThatIsLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	golang := w.created(likes(t, "", "go", always))
	rust := likes(t, uuid.NewString(), "rust", `{"mode": "conditional", "conditions": {"kind": "cli"}}`)
	rust.Supersedes = golang.String()
	require.Equal(t, schema.PutItem{ID: golang.String(), Status: schema.PutExists, Version: 1,
		Problem: "supersedes: names a live memory: revise it"}, w.putAll(rust)[0])
	rust.Supersedes = ""
	rust.Relations = []schema.Relation{{Predicate: "supersedes", TargetID: golang.String(), Weight: 1}}
	require.Equal(t, schema.PutItem{ID: golang.String(), Status: schema.PutExists, Version: 1,
		Problem: "relations[0].target_id: names a live memory: revise it"}, w.putAll(rust)[0])
	require.Equal(t, 0, w.count("memory_links", "true"))
	require.Equal(t, 1, w.count("memories", "true"))
	h := w.history(golang)
	require.Len(t, h, 3, "every refusal is in the history")
	require.Equal(t, schema.EventNone, h[2].Event)

	// The same within one put. A record that names a refused one is refused too.
	x, y := uuid.NewString(), uuid.NewString()
	zig := after(t, y, "zig", x)
	zig.Status = schema.StatusContested
	told := task(t, uuid.NewString(), "planning", "tell about zig")
	told.Relations = []schema.Relation{{Predicate: "supports", TargetID: y, Weight: 1}}
	lua := likes(t, x, "lua", `{"mode": "conditional", "conditions": {"kind": "game"}}`)
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutExists, schema.PutBadRef},
		statuses(w.putAll(lua, zig, told)))
	testkit.CheckInvariants(t, w.owner)

	// A complete chain is stored in any order of its records.
	p, q := uuid.NewString(), uuid.NewString()
	drink := func(m schema.MemoryRecord) schema.MemoryRecord {
		m.Payload = json.RawMessage(strings.Replace(string(m.Payload), "prefers_language", "prefers_drink", 1))
		return m
	}
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated},
		statuses(w.putAll(drink(after(t, q, "tea", p)), drink(replaced(t, p, "milk", q)))))
	require.Equal(t, 1, w.count("memory_links", "source_id = $1 AND predicate = 'supersedes' AND target_id = $2", q, p))

	// A stored active record is not superseded by being put again.
	plan := task(t, uuid.NewString(), "planning", "set the project up")
	w.created(plan)
	plan.Status, plan.SupersededBy = schema.StatusSuperseded, q
	require.Equal(t, schema.PutExists, w.putAll(plan)[0].Status)
	require.Equal(t, 0, w.count("memory_links", "target_id = $1", plan.ID))
	testkit.CheckInvariants(t, w.owner)
}

// If a successor is a duplicate, the stored memory becomes the successor.
func TestPutSupersededByADuplicate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	golang := w.created(likes(t, "", "go", always))
	old, again := uuid.NewString(), uuid.NewString()
	items := w.putAll(replaced(t, old, "c", again), likes(t, again, "go", always))
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutDuplicate}, statuses(items))
	require.Equal(t, golang.String(), w.get(uuid.MustParse(old)).SupersededBy)
	require.Equal(t, 1, w.count("memory_links", "source_id = $1 AND predicate = 'supersedes' AND target_id = $2",
		golang, old))

	fallen := uuid.NewString()
	items = w.putAll(replaced(t, uuid.NewString(), "f", fallen), likes(t, fallen, "rust", always))
	require.Equal(t, []schema.PutStatus{schema.PutBadRef, schema.PutConflict}, statuses(items),
		"its successor was refused")
	require.Equal(t, "superseded_by: does not exist", items[0].Problem)
	testkit.CheckInvariants(t, w.owner)
}

// The longest names that validation admits, with characters of four bytes that do not compress.
func TestPutKeepsTheLongestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := func(n, seed int) string {
		var b strings.Builder
		for i := range n {
			b.WriteRune(rune(0x20000 + (i*7919+seed*104729)%0xa000))
		}
		return b.String()
	}
	w.p = schema.Principal{Tenant: name(schema.MaxNameLength, 1), Agent: name(schema.MaxNameLength, 2),
		Project: name(schema.MaxNameLength, 3), Scope: name(schema.MaxNameLength, 4)}
	claim := func(object string) schema.MemoryRecord {
		return record(t,
			`{"external_id": %q, "type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": %q, "predicate": %q, "object": %q,
			"validity": {"mode": "conditional", "conditions": {"kind": %q}}}}`,
			name(schema.MaxRefLength, len(object)), name(schema.MaxSubjectLength, 5),
			name(schema.MaxPredicateLength, 6), object, name(300, 7))
	}
	items := w.putAll(claim("go"), claim("rust!"))
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutConflict}, statuses(items))
	require.Equal(t, schema.PutConflict, w.putAll(claim("zig"))[0].Status, "found by its digest")
}

func TestPutRevealsNoHiddenRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := likes(t, "", "go", always)
	m.ID, m.ExternalID = uuid.NewString(), "notes/7"
	hidden := w.created(m)
	w.p.Agent = "b"
	mine := likes(t, "", "rust", always)
	mine.ExternalID = "notes/7"
	require.Equal(t, schema.PutItem{ID: memory.RecordID(w.p.Tenant, "notes/7").String(), ExternalID: "notes/7",
		Status: schema.PutExists}, w.putAll(mine)[0])
	w.p.Agent = "a"
	require.Len(t, w.history(hidden), 1)
}

// If a source is distrusted by another's put, the owners of derived memories learn that their trust fell, but not
// whose put it was.
func TestPutDistrustsHiddenRecordsWithoutAName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.p.Project = "x"
	source := task(t, uuid.NewString(), "planning", "what the build needs")
	source.Visibility = schema.VisibilityShared
	w.p.Agent = "b"
	w.created(source)
	own := likes(t, "", "lua", always)
	own.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: source.ID, Weight: 1}}
	ofB := w.created(own)
	w.p.Agent = "a"
	private := likes(t, "", "go", always)
	private.Relations = own.Relations
	derived := w.created(private)
	w.p.Agent = "b"
	source.SourceTrust = 0.3
	require.Equal(t, schema.PutUpdated, w.putAll(source)[0].Status)
	h := w.history(ofB)
	require.Equal(t, "put/wf", metadata(t, h[len(h)-1])["workflowId"], "the workflow id is shown for visible memories")
	w.p.Agent = "a"
	require.InDelta(t, 0.3, w.get(derived).SourceTrust, 1e-9)
	h = w.history(derived)
	require.Len(t, h, 2)
	require.Equal(t, []any{schema.AuditModify, "trust-policy", "a source is trusted less"},
		[]any{h[1].Action, h[1].ChangedBy, h[1].Reason})
	require.Empty(t, metadata(t, h[1]))
}

func TestPutRefusesAnIDThatAnExternalIDMakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := likes(t, memory.RecordID(w.p.Tenant, "notes/7").String(), "go", always), task(t, "", "planning",
		"set the project up")
	b.ExternalID = "notes/7"
	items := w.putAll(a, b)
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutExists}, statuses(items))
	require.Equal(t, "id: is that of another record of the request", items[1].Problem)
	require.Equal(t, 1, w.count("memories", "true"))
	testkit.CheckInvariants(t, w.owner)
}

// A stored result answers only the request that it was given for.
func TestOperationAnswersItsOwnRequestOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.putInput(likes(t, "", "go", always))
	require.NoError(t, w.Accept(ctx, in.Operation, "put", in.Request, w.now))
	first, err := w.Put(ctx, in)
	require.NoError(t, err)
	before := w.snapshot()

	patch := w.modifyInput(schema.Patch{ID: first.Items[0].ID, Tags: &[]string{"x"}})
	patch.Operation = in.Operation
	other := in.Request
	other.Records = []schema.MemoryRecord{likes(t, "", "rust", always)}
	_, modified := w.Modify(ctx, patch)
	for name, err := range map[string]error{
		"carried out as another kind": modified,
		"accepted as another kind":    w.Accept(ctx, in.Operation, "modify", patch.Request, w.now),
		"accepted with another body":  w.Accept(ctx, in.Operation, "put", other, w.now),
	} {
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid, name)
		require.Equal(t, []schema.FieldError{{Field: "operation_id", Problem: "is that of another request"}},
			invalid.Fields, name)
	}
	require.NoError(t, w.Accept(ctx, in.Operation, "put", in.Request, w.now), "delivered again")
	again, err := w.Put(ctx, in)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, before, w.snapshot())

	// The same before the request is carried out.
	waiting := schema.OperationRef{Tenant: w.p.Tenant, ID: "waiting", WorkflowID: "wf"}
	require.NoError(t, w.Accept(ctx, waiting, "put", in.Request, w.now))
	require.NoError(t, w.Accept(ctx, waiting, "put", in.Request, w.now))
	require.ErrorContains(t, w.Accept(ctx, waiting, "put", other, w.now), "operation_id")
	require.ErrorContains(t, w.Accept(ctx, waiting, "modify", patch.Request, w.now), "operation_id")

	// A result stored before results had kinds answers any request.
	w.exec(`UPDATE operations SET kind = NULL, digest = NULL`)
	_, err = w.Modify(ctx, patch)
	require.NoError(t, err)
	require.NoError(t, w.Accept(ctx, in.Operation, "put", other, w.now))
}

// If a record cannot be built, only the reason for that is reported.
func TestPutReportsOnlyTheCause(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ record, want string }{
		"twice": {`{"type": "semantic", "type": "semantic", "confidence": 1}`, "records[0].type: is given twice"},
		"deep": {fmt.Sprintf(`{"type": "semantic", "confidence": 1, "payload": %s1%s}`, strings.Repeat(`{"a":`, 40),
			strings.Repeat(`}`, 40)), "is nested deeper than 32 levels"},
		"large": {`{"type": "semantic", "confidence": 1e999, "payload": {}}`,
			"records[0].confidence: is a number too large to keep"},
	} {
		var m schema.MemoryRecord
		require.NoError(t, json.Unmarshal([]byte(c.record), &m), name)
		req := schema.PutRequest{Operation: schema.Operation{Principal: schema.Principal{Tenant: "t", Agent: "a"}},
			Records: []schema.MemoryRecord{m}}
		var invalid *schema.ValidationError
		require.ErrorAs(t, req.Validate(), &invalid, name)
		require.Len(t, invalid.Fields, 1, name)
		require.ErrorContains(t, invalid, c.want, name)
	}
}

// The store decides from when a record is believed: a record that was created long ago is believed from the time of
// its put.
func TestPutIsBelievedFromTheTimeOfThePut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := task(t, uuid.NewString(), "planning", "set the project up")
	m.CreatedAt, m.UpdatedAt = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	id, put := w.created(m), w.now
	require.Equal(t, m.CreatedAt, w.get(id).CreatedAt, "the creation time is the record's own")
	believed := func(at time.Time) bool {
		t.Helper()
		_, err := w.GetAsOf(ctx, w.p, id, at)
		if err != nil {
			require.ErrorIs(t, err, pg.ErrNotFound)
		}
		listed, lerr := w.List(ctx, pg.Filter{Principal: w.p, AsOf: &at}, pg.Page{})
		require.NoError(t, lerr)
		require.Len(t, listed, map[bool]int{true: 1}[err == nil])
		return err == nil
	}
	require.False(t, believed(put.AddDate(-5, 0, 0)))
	require.False(t, believed(put.Add(-time.Second)))
	require.True(t, believed(put))
	w.now = put.Add(time.Hour)
	m.Confidence = 0.5
	require.Equal(t, schema.PutUpdated, w.putAll(m)[0].Status)
	require.False(t, believed(put.Add(-time.Second)), "nor is the previous version")
	require.True(t, believed(put))
	require.Equal(t, 1, w.count("memory_versions", "memory_id = $1 AND since = $2 AND until = $3", id, put, w.now))
	testkit.CheckInvariants(t, w.owner)
}
