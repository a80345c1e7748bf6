package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

// contest contests an active claim with another one, and returns both.
func (w *world) contest(held, against schema.MemoryRecord) (uuid.UUID, uuid.UUID) {
	w.t.Helper()
	a := w.keep(held)
	result := w.applied(w.revision(schema.ReviseContest, &against, w.as(a)...))
	return a, uuid.MustParse(result.Created[0])
}

// TestARevisionDoesNotDecideAContest checks that, while a contest is open, no revision adds an active fact with the
// claim of its parties, unless they are its targets.
func TestARevisionDoesNotDecideAContest(t *testing.T) {
	t.Parallel()
	rome := same(claims("Ana", "Rome", ""))
	note := func(w *world) uuid.UUID {
		return w.keep(semantic("Ana likes rain.", "Ana", "likes", "rain", `{"mode":"global"}`))
	}
	for name, c := range map[string]struct {
		action  schema.ReviseAction
		targets func(w *world, a, b uuid.UUID) []schema.Target
		free    bool // both parties are targets: the revision decides the contest
	}{
		"supersede a stranger": {schema.ReviseSupersede, func(w *world, _, _ uuid.UUID) []schema.Target {
			return w.as(note(w))
		}, false},
		"supersede one party": {schema.ReviseSupersede, func(w *world, a, _ uuid.UUID) []schema.Target {
			return w.as(a)
		}, false},
		"supersede both": {schema.ReviseSupersede, func(w *world, a, b uuid.UUID) []schema.Target {
			return w.as(a, b)
		}, true},
		"merge a stranger": {schema.ReviseMerge, func(w *world, _, _ uuid.UUID) []schema.Target {
			return w.as(note(w), note2(w))
		}, false},
		"merge both": {schema.ReviseMerge, func(w *world, a, b uuid.UUID) []schema.Target {
			return w.as(a, b)
		}, true},
		"fork a stranger": {schema.ReviseFork, func(w *world, _, _ uuid.UUID) []schema.Target {
			return w.as(other(w))
		}, false},
		"resolve for one party": {schema.ReviseResolve, func(w *world, a, _ uuid.UUID) []schema.Target {
			return w.as(a)
		}, false},
		"resolve for both": {schema.ReviseResolve, func(w *world, a, b uuid.UUID) []schema.Target {
			return w.as(a, b)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			conditions := ""
			if c.action == schema.ReviseFork { // its record has the conditions of the parties, and its target does not
				conditions = `{"season":"summer"}`
			}
			a, b := w.contest(claims("Ana", "Lisbon", conditions), claims("Ana", "Porto", conditions))
			req := w.revision(c.action, same(claims("Ana", "Rome", conditions)), c.targets(w, a, b)...)
			if c.free {
				result := w.applied(req)
				require.Equal(t, schema.StatusActive, result.Record.Status)
				return
			}
			result := w.refused(schema.ReviseActiveFact, req)
			require.NotEmpty(t, result.Conflicts)
			for _, m := range result.Conflicts {
				require.Contains(t, []string{a.String(), b.String()}, m.ID)
			}
			require.Equal(t, schema.StatusContested, w.get(b).Status)
		})
	}
	t.Run("resolve between two of three", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
		third := w.applied(w.revision(schema.ReviseContest, rome, w.as(a)...)).Record.ID
		req := w.revision(schema.ReviseResolve, nil, w.as(a, b)...)
		req.Winner = a.String()
		require.Equal(t, []schema.RevisedMemory{{ID: third}}, w.refused(schema.ReviseActiveFact, req).Conflicts)
		req.Targets = w.as(a, b, uuid.MustParse(third))
		w.applied(req)
		require.Equal(t, schema.StatusActive, w.get(a).Status)
	})
}

func note2(w *world) uuid.UUID {
	return w.keep(semantic("Ana fears snow.", "Ana", "fears", "snow", `{"mode":"global"}`))
}

// other is a fact that is valid in winter.
func other(w *world) uuid.UUID { return w.keep(claims("Ana", "Oslo", `{"season":"winter"}`)) }

// TestAContestedSuccessorIsActive checks that a revision whose successor is a contested memory, and whose target is
// the other party, decides the contest.
func TestAContestedSuccessorIsActive(t *testing.T) {
	t.Parallel()
	named := func(id uuid.UUID) *schema.MemoryRecord { return &schema.MemoryRecord{ID: id.String()} }
	for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseMerge} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			targets := []uuid.UUID{a}
			if action == schema.ReviseMerge { // needs at least two
				targets = append(targets, note2(w))
			}
			result := w.applied(w.revision(action, named(b), w.as(targets...)...))
			require.Equal(t, &schema.RevisedMemory{ID: b.String(), Version: 2, Status: schema.StatusActive},
				result.Record)
			require.Equal(t, schema.StatusActive, w.get(b).Status)
			require.Equal(t, schema.StatusSuperseded, w.get(a).Status)
		})
	}
	t.Run("not while there is a third party", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
		third := w.applied(w.revision(schema.ReviseContest, same(claims("Ana", "Rome", "")), w.as(a)...)).Record.ID
		result := w.refused(schema.ReviseActiveFact, w.revision(schema.ReviseSupersede, named(b), w.as(a)...))
		require.Equal(t, []schema.RevisedMemory{{ID: third}}, result.Conflicts)
	})
}
