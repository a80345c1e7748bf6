package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

// curved gives a record a custom curve. Without points, it is read as exponential.
func curved(m schema.MemoryRecord, points ...schema.DecayPoint) schema.MemoryRecord {
	m.Lifecycle.Decay = schema.DecayProfile{Curve: schema.CurveCustom, HalfLifeSeconds: 86400, MinSalience: 0.25,
		ReinforcementGain: 0.1, Points: points}
	return m
}

// A custom curve is stored with the other decay settings: it determines the due time, can be replaced, is read as of
// any time, and is exported and restored.
func TestCustomCurve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.created(curved(task(t, "curve", "planning", "set the project up")))
	due := func(id uuid.UUID) time.Duration { return w.get(id).Lifecycle.DecayDueAt.Sub(w.now) }
	require.Equal(t, 48*time.Hour, due(id), "two half-lives")
	plain := w.now

	w.now = w.now.Add(time.Hour)
	slope := []schema.DecayPoint{{AfterSeconds: 3600, Share: 1}, {AfterSeconds: 7200, Share: 0.5},
		{AfterSeconds: 10800, Share: 0}}
	require.Equal(t, schema.PutUpdated,
		w.putAll(curved(task(t, "curve", "planning", "set the project up"), slope...))[0].Status)
	require.Equal(t, slope, w.get(id).Lifecycle.Decay.Points)
	require.Equal(t, 150*time.Minute, due(id))
	sloped := w.now

	w.now = w.now.Add(time.Hour)
	require.Equal(t, schema.PutUnchanged,
		w.putAll(curved(task(t, "curve", "planning", "set the project up"), slope...))[0].Status)
	cliff := []schema.DecayPoint{{AfterSeconds: 60, Share: 1}, {AfterSeconds: 61, Share: 0.3}}
	require.Equal(t, schema.PutUpdated,
		w.putAll(curved(task(t, "curve", "planning", "set the project up"), cliff...))[0].Status)
	require.Equal(t, cliff, w.get(id).Lifecycle.Decay.Points)
	require.Nil(t, w.get(id).Lifecycle.DecayDueAt, "it never fades below the minimum")

	for at, want := range map[time.Time][]schema.DecayPoint{plain: nil, sloped: slope, w.now: cliff} {
		m, err := w.GetAsOf(ctx, w.p, id, at, policy.UpTo(schema.SensitivityHyper))
		require.NoError(t, err)
		require.Equal(t, want, m.Lifecycle.Decay.Points)
	}
	// A version from before custom curves existed has none, whatever the current row has.
	w.exec(`ALTER TABLE memory_versions DISABLE TRIGGER USER`)
	w.exec(`UPDATE memory_versions SET record = record - 'decay_points'`)
	w.exec(`ALTER TABLE memory_versions ENABLE TRIGGER USER`)
	m, err := w.GetAsOf(ctx, w.p, id, sloped, policy.UpTo(schema.SensitivityHyper))
	require.NoError(t, err)
	require.Empty(t, m.Lifecycle.Decay.Points)

	// A change that recomputes the due time uses the curve too.
	tea := w.created(curved(likes(t, "", "tea", always), slope...))
	w.now = w.now.Add(90 * time.Minute)
	pinned, loose := true, false
	w.modify(schema.Patch{ID: tea.String(), Pinned: &pinned})
	w.modify(schema.Patch{ID: tea.String(), Pinned: &loose})
	want, ok := memory.DecayOf(w.get(tea).Lifecycle.Decay).DueAt(w.get(tea).Salience, w.get(tea).SalienceAt,
		w.get(tea).CreatedAt, false)
	require.True(t, ok)
	require.Equal(t, want, w.get(tea).Lifecycle.DecayDueAt.UTC())
	require.Less(t, due(tea), 3*time.Hour, "not in days, as for an exponential curve")

	// A fork copies its target for narrower conditions. The copy has the target's curve.
	fork := w.revision(schema.ReviseFork,
		same(likes(t, "", "water", `{"mode":"conditional","conditions":{"at":"night"}}`)), w.as(tea)...)
	fork.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: []byte(`{"at":"day"}`)}
	narrowed := uuid.MustParse(w.applied(fork).Created[1])
	require.Equal(t, slope, w.get(narrowed).Lifecycle.Decay.Points)

	to := newWorld(t)
	require.Equal(t, 4, to.restore("t", w.export(w.whole()), 2).Restored)
	require.Equal(t, w.dump("t"), to.dump("t"))
	require.Equal(t, 3, to.count("memories", "decay_points IS NOT NULL"))
	require.Equal(t, cliff, to.get(id).Lifecycle.Decay.Points)
}

func TestARuleGivesACurve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := policyOf(t,
		`rules: [{name: fade, when: "true", set: {decay: {curve: custom, min_salience: 0.5, points: [{after: 1d, share: 1}, {after: 3d, share: 0}]}}}]`)
	ack, _ := w.stageUnder(p, schema.Candidate{Content: "The kettle is on."})
	m := w.get(uuid.MustParse(ack.MemoryIDs[0]))
	require.Equal(t, []schema.DecayPoint{{AfterSeconds: 86400, Share: 1}, {AfterSeconds: 3 * 86400}},
		m.Lifecycle.Decay.Points)
	require.Equal(t, w.now.AddDate(0, 0, 2), m.Lifecycle.DecayDueAt.UTC())
}
