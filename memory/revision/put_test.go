package revision_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// The principals of a put: its writer, another agent, and the writer for a user.
var (
	writer = schema.Principal{Tenant: "t", Agent: "a"}
	other  = schema.Principal{Tenant: "t", Agent: "b"}
	user   = schema.Principal{Tenant: "t", Agent: "a", User: "maya"}
)

// asPut returns a record of type mt after change. Its Kept and Put fields agree.
func asPut(id string, mt schema.MemoryType, payload string, change func(*revision.PutRecord)) revision.PutRecord {
	m := schema.MemoryRecord{
		ID:          id,
		Type:        mt,
		Content:     "content of " + id,
		Payload:     json.RawMessage(payload),
		Agent:       writer.Agent,
		Visibility:  schema.VisibilityPrivate,
		Status:      schema.StatusActive,
		Language:    "en",
		Sensitivity: schema.SensitivityLow,
		SourceTrust: 1,
	}
	r := revision.PutRecord{ID: id, Put: m, Kept: m, Owner: writer, Hash: []byte(m.Content)}
	if change != nil {
		change(&r)
	}
	return r
}

// asStored returns the stored form of a record, in version 3.
func asStored(r revision.PutRecord, owner schema.Principal, change func(*revision.PutStored)) revision.PutStored {
	m := revision.PutStored{
		Record:  r.Kept,
		Holding: memory.Holding{Owner: owner, Visibility: r.Kept.Visibility},
		Payload: r.Kept.Payload,
		Live:    true,
	}
	m.Record.Version = 3
	if change != nil {
		change(&m)
	}
	return m
}

const (
	claimed = `{"kind":"semantic","subject":"Ana","predicate":"lives_in","object":"Lisbon","evidence":[{"kind":"event","ref":"e"}]}`
	working = `{"kind":"working","thread_id":"t","task_id":"1","state":"executing"}`
	done    = `{"kind":"working","thread_id":"t","task_id":"1","state":"done"}`
	episode = `{"kind":"episodic","timeline":[{"t":"2026-03-01T12:00:00Z","ref":"one"}]}`
	grown   = `{"kind":"episodic","timeline":[{"t":"2026-03-01T12:00:00Z","ref":"one"},{"t":"2026-03-01T13:00:00Z","ref":"two"}]}`
)

func TestPlanPutOfANewRecord(t *testing.T) {
	t.Parallel()
	fact := func(change func(*revision.PutRecord)) revision.PutRecord {
		return asPut("x", schema.TypeSemantic, claimed, change)
	}
	holder := func(content string, v schema.Validity) func(*revision.PutRecord) {
		return func(r *revision.PutRecord) {
			r.Claim = "ana"
			r.Holders = []revision.ClaimHolder{{ID: "h", Hash: []byte(content), Validity: v}}
		}
	}
	from := patchTime
	elsewhere := schema.Validity{Mode: schema.ValidTimeboxed, Start: &from}
	for name, c := range map[string]struct {
		record revision.PutRecord
		status schema.PutStatus
		id     string
		silent bool
	}{
		"no obstacle": {fact(nil), schema.PutCreated, "x", false},
		"an unknown reference": {fact(func(r *revision.PutRecord) { r.UnknownReference = "supersedes" }),
			schema.PutBadRef, "x", false},
		"a live memory has its content": {fact(func(r *revision.PutRecord) { r.Twin = "w" }), schema.PutDuplicate, "w",
			false},
		"retracted": {fact(func(r *revision.PutRecord) {
			r.Twin, r.Kept.Status = "w", schema.StatusRetracted
		}), schema.PutCreated, "x", false},
		"another fact makes its claim": {fact(holder("Porto", schema.Validity{})), schema.PutConflict, "h", false},
		"the same fact makes its claim": {fact(holder("content of x", schema.Validity{})), schema.PutDuplicate, "h",
			false},
		"another fact, on another ground": {fact(holder("Porto", elsewhere)), schema.PutCreated, "x", false},
		"a contested record claims nothing": {fact(func(r *revision.PutRecord) {
			holder("Porto", schema.Validity{})(r)
			r.Kept.Status = schema.StatusContested
		}), schema.PutCreated, "x", false},
		"its id was forgotten with force": {fact(func(r *revision.PutRecord) { r.Forgotten = true }),
			schema.PutExists, "x", true},
		"no evidence": {fact(func(r *revision.PutRecord) {
			r.Kept.Payload = json.RawMessage(`{"evidence":[]}`)
		}), schema.PutNoEvidence, "x", false},
		"a duplicate without evidence": {fact(func(r *revision.PutRecord) {
			r.Twin, r.Kept.Payload = "w", json.RawMessage(`{}`)
		}), schema.PutDuplicate, "w", false},
		"working memory": {asPut("x", schema.TypeWorking, working, nil), schema.PutCreated, "x",
			false},
		"working memory whose task is done": {asPut("x", schema.TypeWorking, done, nil), schema.PutDiscarded, "x",
			false},
	} {
		v := plan(revision.Put{}, c.record)[0]
		require.Equal(t, c.status, v.Status, name)
		require.Equal(t, c.id, v.ID, name)
		require.Equal(t, c.silent, v.Silent, name)
		require.Equal(t, v.Writes(), v.Version == 1, name)
	}
}

// plan calls PlanPut for the writer, in a mode that writes.
func plan(p revision.Put, records ...revision.PutRecord) []revision.PutVerdict {
	if p.Principal.Agent == "" {
		p.Principal = writer
	}
	if p.Mode == "" {
		p.Mode = schema.ModeControlled
	}
	p.Records = records
	return revision.PlanPut(p)
}

func TestPlanPutOfAStoredRecord(t *testing.T) {
	t.Parallel()
	plain := asPut("x", schema.TypeWorking, working, nil)
	log := asPut("x", schema.TypeEpisodic, episode, nil)
	fact := asPut("x", schema.TypeSemantic, claimed, nil)
	with := func(r revision.PutRecord, change func(*revision.PutRecord)) revision.PutRecord {
		change(&r)
		return r
	}
	text := func(content string) func(*revision.PutRecord) {
		return func(r *revision.PutRecord) { r.Put.Content, r.Kept.Content = content, content }
	}
	payload := func(json string) func(*revision.PutRecord) {
		return func(r *revision.PutRecord) { r.Put.Payload, r.Kept.Payload = []byte(json), []byte(json) }
	}
	for name, c := range map[string]struct {
		record  revision.PutRecord
		stored  revision.PutStored
		asker   schema.Principal
		status  schema.PutStatus
		version int
		id      string
	}{
		"the same": {plain, asStored(plain, writer, nil), writer, schema.PutUnchanged, 3, "x"},
		"the same except for the version": {with(plain, func(r *revision.PutRecord) { r.Put.Version = 1 }),
			asStored(plain, writer, nil), writer, schema.PutUnchanged, 3, "x"},
		"the same with another time": {with(plain, func(r *revision.PutRecord) { r.Put.CreatedAt = patchTime }),
			asStored(plain, writer, nil), writer, schema.PutUpdated, 3, "x"},
		"working memory, changed": {with(plain, text("more")), asStored(plain, writer, nil), writer,
			schema.PutUpdated, 3, "x"},
		"working memory, done": {with(plain, payload(done)), asStored(plain, writer, nil), writer,
			schema.PutDiscarded, 3, "x"},
		"working memory, another version": {with(with(plain, text("more")), func(r *revision.PutRecord) {
			r.Put.Version = 2
		}), asStored(plain, writer, nil), writer, schema.PutVersion, 3, "x"},
		"working memory with a known text": {with(with(plain, text("more")), func(r *revision.PutRecord) {
			r.Twin = "w"
		}), asStored(plain, writer, nil), writer, schema.PutDuplicate, 0, "w"},
		"working memory with its own text": {with(with(plain, payload(done)), func(r *revision.PutRecord) {
			r.Twin = "x"
		}), asStored(plain, writer, nil), writer, schema.PutDiscarded, 3, "x"},
		"an episode that grew": {with(log, payload(grown)), asStored(log, writer, nil), writer,
			schema.PutUpdated, 3, "x"},
		"an episode that shrank": {log, asStored(with(log, payload(grown)), writer, nil), writer,
			schema.PutAppendOnly, 3, "x"},
		"an episode with another text": {with(with(log, payload(grown)), text("more")), asStored(log, writer, nil),
			writer, schema.PutAppendOnly, 3, "x"},
		"an episode with other tags": {with(log, func(r *revision.PutRecord) { r.Kept.Tags = []string{"x"} }),
			asStored(log, writer, nil), writer, schema.PutAppendOnly, 3, "x"},
		"a fact, changed": {with(fact, text("more")), asStored(fact, writer, nil), writer,
			schema.PutExists, 3, "x"},
		"a fact without its evidence": {with(fact, func(r *revision.PutRecord) {
			r.Put.Payload = []byte(`{"kind":"semantic"}`)
		}),
			asStored(with(fact,
				payload(`{"kind":"semantic","subject":"Ana","predicate":"lives_in","object":"Lisbon","evidence":[{"kind":"human","ref":"operator:bo"}]}`)), writer, nil), writer, schema.PutUnchanged, 3, "x"},
		"deleted": {plain,
			asStored(plain, writer, func(m *revision.PutStored) { m.Record.DeletedAt, m.Live = &patchTime, false }),
			writer, schema.PutExists, 3, "x"},
		"superseded": {with(plain, text("more")),
			asStored(plain, writer, func(m *revision.PutStored) { m.Live = false }), writer, schema.PutExists, 3, "x"},
		"of another type": {plain, asStored(log, writer, nil), writer, schema.PutExists, 3, "x"},
		"under its external id": {with(plain, func(r *revision.PutRecord) { r.Stored = "y" }),
			asStored(with(plain, func(r *revision.PutRecord) { r.Kept.ID = "y" }), writer, nil), writer,
			schema.PutExists, 3, "y"},
		"the agent's, read by a user": {with(plain, text("more")), asStored(plain, writer, nil), user,
			schema.PutExists, 3, "x"},
		"another agent's": {plain, asStored(plain, other, nil), writer, schema.PutExists, 0, "x"},
	} {
		if c.record.Stored == "" {
			c.record.Stored = "x"
		}
		v := plan(revision.Put{Principal: c.asker, Stored: map[string]revision.PutStored{c.record.Stored: c.stored}},
			c.record)[0]
		require.Equal(t, c.status, v.Status, name)
		require.Equal(t, c.version, v.Version, name)
		require.Equal(t, c.id, v.ID, name)
		require.False(t, v.New, name)
		require.Equal(t, name == "another agent's", v.Silent, name)
	}
}

func TestPlanPutOfDependentRecords(t *testing.T) {
	t.Parallel()
	fact := func(id, content string) revision.PutRecord {
		return asPut(id, schema.TypeSemantic, claimed, func(r *revision.PutRecord) {
			r.Kept.Content, r.Hash, r.Claim = content, []byte(content), "ana"
		})
	}
	got := func(p revision.Put, records ...revision.PutRecord) []string {
		var out []string
		for _, v := range plan(p, records...) {
			out = append(out, fmt.Sprintf("%s %s", v.Status, v.ID))
		}
		return out
	}
	x, y := fact("x", "Lisbon"), fact("y", "Lisbon")
	require.Equal(t, []string{"created x", "duplicate x"}, got(revision.Put{}, x, y))
	y.Kept.Visibility = schema.VisibilityGlobal
	require.Equal(t, []string{"created x", "created y"}, got(revision.Put{}, x, withClaim(y, "shared")))
	require.Equal(t, []string{"created x", "active_fact_exists x"}, got(revision.Put{}, x, fact("y", "Porto")))
	require.Equal(t, []string{"created x", "exists x"}, got(revision.Put{}, x, fact("x", "Porto")), "the same id")

	// A record that refers to a refused one is refused too. A reference to a duplicate is resolved to its twin.
	derived := func(id, from string) revision.PutRecord {
		return asPut(id, schema.TypeWorking, working, func(r *revision.PutRecord) {
			r.Kept.Relations = []schema.Relation{{Predicate: revision.RelationDerivedFrom, TargetID: from, Weight: 1}}
		})
	}
	bad := fact("x", "Lisbon")
	bad.UnknownReference = "relations[0].target_id"
	require.Equal(t, []string{"unknown_reference z", "unknown_reference y", "unknown_reference x"},
		got(revision.Put{}, derived("z", "y"), derived("y", "x"), bad))
	twin := fact("x", "Lisbon")
	twin.Twin = "w"
	v := plan(revision.Put{}, derived("y", "x"), twin)
	require.Equal(t, "w", v[0].Relations[0].TargetID)
	require.Equal(t, schema.PutCreated, v[0].Status)
}

func withClaim(r revision.PutRecord, claim string) revision.PutRecord {
	r.Claim = claim
	return r
}

func TestPlanPutOfChains(t *testing.T) {
	t.Parallel()
	past := func(id, supersedes, supersededBy string) revision.PutRecord {
		return asPut(id, schema.TypeSemantic, claimed, func(r *revision.PutRecord) {
			r.Kept.Supersedes, r.Kept.SupersededBy = supersedes, supersededBy
			if supersededBy != "" {
				r.Kept.Status = schema.StatusSuperseded
			}
		})
	}
	for name, c := range map[string]struct {
		put     revision.Put
		records []revision.PutRecord
		want    []schema.PutStatus
	}{
		"a chain": {revision.Put{}, []revision.PutRecord{past("x", "", "y"), past("y", "x", "")},
			[]schema.PutStatus{schema.PutCreated, schema.PutCreated}},
		"a cycle in the request": {revision.Put{}, []revision.PutRecord{past("x", "y", "y"), past("y", "", "")},
			[]schema.PutStatus{schema.PutCycle, schema.PutCreated}},
		"a cycle through stored records": {revision.Put{Older: map[string][]string{"s": {"r"}, "r": {"x"}}},
			[]revision.PutRecord{past("x", "s", "")}, []schema.PutStatus{schema.PutCycle}},
		"a live record": {revision.Put{Links: map[string]revision.PutLink{"s": {Version: 4,
			Live: true}}}, []revision.PutRecord{past("x", "s", "")}, []schema.PutStatus{schema.PutExists}},
		"a record that is no longer live": {revision.Put{Links: map[string]revision.PutLink{"s": {Version: 4}}},
			[]revision.PutRecord{past("x", "s", "")}, []schema.PutStatus{schema.PutCreated}},
		"a live record of the request": {revision.Put{}, []revision.PutRecord{past("x", "y", ""), past("y", "", "")},
			[]schema.PutStatus{schema.PutExists, schema.PutCreated}},
	} {
		for i, v := range plan(c.put, c.records...) {
			require.Equal(t, c.want[i], v.Status, "%s: %d", name, i)
			if v.Status == schema.PutExists && v.ID == "s" {
				require.Equal(t, 4, v.Version, name)
			}
		}
	}
}

func TestPlanPutBoundsTrustByDerivation(t *testing.T) {
	t.Parallel()
	from := func(id string, trust float64, s schema.Sensitivity, sources ...string) revision.PutRecord {
		return asPut(id, schema.TypeWorking, working, func(r *revision.PutRecord) {
			r.Kept.SourceTrust, r.Kept.Sensitivity = trust, s
			for _, source := range sources {
				r.Kept.Relations = append(r.Kept.Relations,
					schema.Relation{Predicate: revision.RelationDerivedFrom, TargetID: source})
			}
		})
	}
	v := plan(revision.Put{},
		from("x", 0.9, schema.SensitivityLow, "y"),
		from("y", 0.8, schema.SensitivityLow, "z", "x"), // a cycle
		from("z", 0.3, schema.SensitivityHigh),
		from("u", 0.5, schema.SensitivityLow))
	for i, want := range []float64{0.3, 0.3, 0.3, 0.5} {
		require.Equal(t, want, v[i].SourceTrust)
	}
	for i, want := range []schema.Sensitivity{schema.SensitivityHigh, schema.SensitivityHigh, schema.SensitivityHigh,
		schema.SensitivityLow} {
		require.Equal(t, want, v[i].Sensitivity)
	}
}

func TestPlanPutInModesThatDoNotWrite(t *testing.T) {
	t.Parallel()
	twin := asPut("y", schema.TypeSemantic, claimed, func(r *revision.PutRecord) { r.Twin = "w" })
	for mode, status := range map[schema.WriteMode]schema.PutStatus{
		schema.ModeFrozen: schema.PutFrozen, schema.ModeShadow: schema.PutShadow, "unknown": schema.PutShadow,
	} {
		v := plan(revision.Put{Mode: mode}, asPut("x", schema.TypeWorking, working, nil), twin)
		require.Equal(t, status, v[0].Status)
		require.Equal(t, schema.PutCreated, v[0].WouldBe)
		require.Zero(t, v[0].Version)
		require.Empty(t, v[0].Note(), "WouldBe reports the result")
		require.Equal(t, schema.PutDuplicate, v[1].Status)
		require.Empty(t, v[1].WouldBe)
	}
}

// Every record that is not written has a note, unless the writer may not see the reason.
func TestPutNotes(t *testing.T) {
	t.Parallel()
	for _, status := range []schema.PutStatus{schema.PutUnchanged, schema.PutDuplicate, schema.PutConflict,
		schema.PutExists,
		schema.PutAppendOnly, schema.PutVersion, schema.PutBadRef, schema.PutNoEvidence, schema.PutCycle} {
		require.NotEmpty(t, (&revision.PutVerdict{Status: status}).Note(), status)
	}
	require.Empty(t, (&revision.PutVerdict{Status: schema.PutExists, Silent: true}).Note())
	for _, status := range []schema.PutStatus{schema.PutCreated, schema.PutUpdated, schema.PutDiscarded} {
		require.Empty(t, (&revision.PutVerdict{Status: status}).Note(), status)
	}
}

// For any references between records, planning ends, leaves its input unchanged, and writes no record that refers to
// a record that is not written.
func TestPlanPutProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := []string{"a", "b", "c", "d", "e"}
		var records []revision.PutRecord
		for _, id := range ids {
			records = append(records, asPut(id, schema.TypeWorking, working, func(r *revision.PutRecord) {
				for _, target := range rapid.SliceOfN(rapid.SampledFrom(ids), 0, 3).Draw(t, "targets") {
					if target != id {
						r.Kept.Relations = append(r.Kept.Relations, schema.Relation{TargetID: target,
							Predicate: rapid.SampledFrom([]string{revision.RelationSupersedes,
								revision.RelationDerivedFrom, "other"}).Draw(t, "predicate")})
					}
				}
				r.Kept.SourceTrust = rapid.Float64Range(0, 1).Draw(t, "trust")
				r.Twin = rapid.SampledFrom([]string{"", "", "w"}).Draw(t, "twin")
				if rapid.Bool().Draw(t, "refused") {
					r.UnknownReference = "relations[0].target_id"
				}
			}))
		}
		before, err := json.Marshal(records)
		require.NoError(t, err)
		verdicts := plan(revision.Put{}, records...)
		after, err := json.Marshal(records)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
		for _, v := range verdicts {
			if !v.Writes() {
				continue
			}
			for _, edge := range v.Relations {
				k := slices.Index(ids, edge.TargetID)
				require.True(t, k < 0 || verdicts[k].Status.Stands(), "%s refers to %s", v.ID, edge.TargetID)
				if k >= 0 && edge.Predicate == revision.RelationDerivedFrom && verdicts[k].Writes() {
					require.LessOrEqual(t, v.SourceTrust, verdicts[k].SourceTrust)
				}
			}
		}
	})
}

func TestSameRef(t *testing.T) {
	t.Parallel()
	at := patchTime.Add(123 * time.Nanosecond)
	stored := patchTime
	ref := schema.Ref{Kind: "event", Ref: "e", Timestamp: &at}
	require.True(t, revision.SameRef(ref, schema.Ref{Kind: "event", Ref: "e", Timestamp: &stored}),
		"as precise as stored")
	require.False(t, revision.SameRef(ref, schema.Ref{Kind: "event", Ref: "e"}))
	require.False(t, revision.SameRef(ref, schema.Ref{Kind: "event", Ref: "f", Timestamp: &at}))
}
