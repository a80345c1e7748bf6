package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

// requirePinnedAsItWas requires that a memory is pinned with a salience as of a time, from which it fades once it is
// unpinned, and that its deletion policy is unchanged.
func (w *world) requirePinnedAsItWas(id uuid.UUID, salience float64, at time.Time, deletion schema.DeletionPolicy) {
	w.t.Helper()
	var got float64
	var since time.Time
	require.NoError(w.t,
		w.owner.QueryRow(ctx,
			`SELECT salience, salience_at FROM memories WHERE id = $1 AND pinned AND importance = 1
				AND decay_due_at IS NULL`, id).Scan(&got, &since))
	require.InDelta(w.t, salience, got, 1e-9)
	require.True(w.t, since.Equal(at), "%s, not %s", since, at)
	require.Equal(w.t, deletion, w.get(id).Lifecycle.DeletionPolicy)
}

// A successor that inherits a pin also keeps the salience at the time of the pin.
func TestARevisionsPinKeepsTheSalience(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pinned := w.keep(*with(claims("Ana", "Lisbon", ""), func(m *schema.MemoryRecord) {
		m.Lifecycle.Pinned, m.Importance = true, 1
	}))
	faded := w.keep(claims("Bob", "Porto", ""))
	w.exec(`UPDATE memories SET salience = 1, salience_at = $2, decay_curve = 'exponential', half_life = '1 hour',
		min_salience = 0.01, deletion_policy = 'auto_prune' WHERE id = $1`, faded, w.now)
	w.now = w.now.Add(3*time.Hour - time.Minute) // a revision takes a minute
	w.applied(w.revision(schema.ReviseSupersede, &schema.MemoryRecord{ID: faded.String(), Version: 1}, w.as(pinned)...))
	w.requirePinnedAsItWas(faded, 0.125, w.now, schema.DeleteAutoPrune)

	no := false
	w.now = w.now.Add(24 * time.Hour)
	w.modifyOne(schema.Patch{ID: faded.String(), Pinned: &no})
	m := w.get(faded)
	require.InDelta(t, 0.125, m.Salience, 1e-9,
		"the time under the pin does not count, and the curve does not start again")
	w.requireExactDue()
}

func TestAnUpdatesPinKeepsTheSalience(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("critical: deploy on Mondays")
	_, item := w.proposed("new rules",
		idea{fact: fact("Deploy on Tuesdays."), action: schema.ActionUpdate, target: target})
	stood := w.explicit("deploy on Tuesdays")
	w.exec(`UPDATE memories SET salience = 1, salience_at = $2, decay_curve = 'exponential', half_life = '1 hour',
		min_salience = 0.01, deletion_policy = 'auto_prune' WHERE id = $1`, stood, w.now)
	w.now = w.now.Add(3 * time.Hour)
	require.Equal(t, stood.String(), w.settle(item, schema.DecisionApprove).MemoryID)
	w.requirePinnedAsItWas(stood, 0.225, w.now, schema.DeleteAutoPrune) // restated by the update
}

// A narrowed copy is created now, and its maximum age counts from now.
func TestANarrowedCopyIsDueByItsOwnAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.keep(*with(claims("Ana", "Lisbon", ""), func(m *schema.MemoryRecord) {
		m.Lifecycle.Decay = schema.DecayProfile{Curve: schema.CurveExponential, HalfLifeSeconds: 1e9, MinSalience: 0.5,
			MaxAgeSeconds: 7200}
	}))
	w.now = w.now.Add(time.Hour)
	req := w.revision(schema.ReviseFork, same(claims("Ana", "Porto", `{"s":1}`)), w.as(id)...)
	req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: []byte(`{"s":2}`)}
	require.Len(t, w.applied(req).Created, 2)
	w.requireExactDue()
}
