package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/read"
)

// Go and SQL have the same rule for who may read a history: of memories, of shadow evaluations, and of memories
// forgotten by force.
func TestMayReadHistoryInSQL(t *testing.T) {
	t.Parallel()
	a := newWorld(t)
	b := a.another("b")
	maya, tom := a.forUser("maya"), a.forUser("tom")
	subjects := map[uuid.UUID]memory.HistorySubject{}
	add := func(kind memory.HistoryKind, w *world, id uuid.UUID, v schema.Visibility, s schema.Sensitivity) {
		subjects[id] = memory.HistorySubject{Kind: kind, Sensitivity: s,
			Holding: memory.Holding{Owner: w.p.Owner(), Visibility: v}}
	}
	for i, w := range []*world{a, b, maya, tom} {
		text := func(what string) schema.MemoryRecord {
			content := what + " of " + string(rune('A'+i))
			return semantic(content, content, "states", content, `{"mode":"global"}`)
		}
		for _, v := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityGlobal} {
			add(memory.HistoryOfMemory, w, w.keepAs(v, text(string(v))), v, schema.SensitivityLow)
		}
		secret := text("secret")
		secret.Sensitivity = schema.SensitivityHigh
		add(memory.HistoryOfMemory, w, w.keepAs(schema.VisibilityGlobal, secret), schema.VisibilityGlobal,
			schema.SensitivityHigh)

		gone, staged := w.keepAs(schema.VisibilityPrivate,
			text("lost")), w.explicit("Milk is sour, "+string(rune('A'+i))+" says.")
		w.forgetAll(w.forgets(schema.ForgetForce, named(gone, staged)))
		add(memory.HistoryOfForgotten, w, gone, "", schema.SensitivityLow)
		add(memory.HistoryOfCandidate, w, staged, "", schema.SensitivityLow)

		said := "Tea is served hot, " + string(rune('A'+i)) + " says."
		mode := w.policy.Mode
		w.policy.Mode = schema.ModeShadow
		ack, r := w.stage(say(said)...)
		shadow := uuid.MustParse(ack.MemoryIDs[0])
		w.decided(r, shadow, idea{fact: fact(said), action: schema.ActionAdd})
		w.write(r)
		w.policy.Mode = mode
		add(memory.HistoryOfCandidate, w, shadow, "", schema.SensitivityLow)
	}
	readable := 0
	for id, of := range subjects {
		for _, w := range []*world{a, b, maya, tom} {
			for _, limit := range []schema.Sensitivity{schema.SensitivityMedium, schema.SensitivityHyper} {
				steps, err := w.HistoryAt(ctx, w.p, id, read.HistoryPage{}, policy.UpTo(limit))
				require.NoError(t, err)
				want := memory.MayReadHistory(w.p, limit.AtMost(), of)
				require.Equal(t, want, len(steps) > 0, "%v up to %s reads %+v", w.p, limit, of)
				if want {
					readable++
				}
			}
		}
	}
	require.NotZero(t, readable)
}

// Go and SQL also agree on what a history shows about a revision that involves a hidden memory.
func TestShowHistoryInSQL(t *testing.T) {
	t.Parallel()
	a := newWorld(t)
	b := a.another("b")
	var shown []uuid.UUID
	for _, v := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityGlobal} {
		replaced := a.keepAs(schema.VisibilityGlobal, claims("Ana "+string(v), "Lisbon", ""))
		a.applied(a.revision(schema.ReviseSupersede, seenBy(v, claims("Ana "+string(v), "Porto", "")),
			a.as(replaced)...))
		contested := a.keepAs(schema.VisibilityGlobal, claims("Ben "+string(v), "Lisbon", ""))
		a.applied(a.revision(schema.ReviseContest, seenBy(v, claims("Ben "+string(v), "Porto", "")),
			a.as(contested)...))
		shown = append(shown, replaced, contested)
	}
	withheld := 0
	for _, id := range shown {
		whole, told := a.history(id), b.history(id)
		require.Len(t, told, len(whole))
		for i, e := range whole {
			want := memory.ShowHistory(e, func(other string) bool {
				_, err := b.Get(ctx, b.p, uuid.MustParse(other))
				return err == nil
			})
			require.JSONEq(t, string(want.Metadata), string(told[i].Metadata))
			want.Metadata, told[i].Metadata = nil, nil
			require.Equal(t, want, told[i])
			if want.Reason == memory.WithheldReason {
				withheld++
			}
		}
	}
	require.Equal(t, 2, withheld)
}
