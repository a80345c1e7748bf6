package store_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

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
