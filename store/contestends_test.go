package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// doubted contests a statement without a claim with another one, and returns both.
func (w *world) doubted(a, b string) (uuid.UUID, uuid.UUID) {
	w.t.Helper()
	state := func(text string) schema.MemoryRecord {
		return semantic(text, "Ana", "states", text, `{"mode":"global"}`)
	}
	return w.contest(state(a), state(b))
}

// freed requires that a memory is active again, because the other one is gone.
func (w *world) freed(id, gone uuid.UUID) {
	w.t.Helper()
	m := w.get(id)
	require.Equal(w.t, schema.StatusActive, m.Status)
	var other, reason string
	var version int
	require.NoError(w.t, w.owner.QueryRow(ctx, `
		SELECT metadata->>'beside', reason, version FROM memory_history WHERE memory_id = $1 ORDER BY seq DESC LIMIT 1`,
		id).Scan(&other, &reason, &version))
	require.Equal(w.t, []any{gone.String(), "the memory that contested it is gone", m.Version},
		[]any{other, reason, version})
	open, err := w.Contradictions(ctx, w.p, pg.Page{})
	require.NoError(w.t, err)
	require.Empty(w.t, open)
	testkit.CheckInvariants(w.t, w.owner)
	testkit.CheckOutbox(w.t, w.owner)
}

// The other side of a contest is active again when the memory that contested it is gone, however it went.
func TestAContestEndsWithItsOtherSide(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run("forget "+string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			require.EqualValues(t, 1, w.forgetAll(w.forgets(mode, named(b))).Forgotten)
			w.freed(a, b)
		})
	}
	t.Run("retract", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
		w.applied(w.revision(schema.ReviseRetract, nil, w.as(a)...))
		w.freed(b, a)
	})
	t.Run("supersede", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a, b := w.doubted("Ana likes rain.", "Ana hates rain.")
		snow := semantic("Ana likes snow.", "Ana", "states", "Ana likes snow.", `{"mode":"global"}`)
		w.applied(w.revision(schema.ReviseSupersede, &snow, w.as(b)...))
		w.freed(a, b)
	})
	t.Run("review", func(t *testing.T) {
		t.Parallel()
		w := reviewWorld(t)
		a, b := w.doubted("Ana likes green tea.", "Ana hates green tea.")
		_, item := w.proposed("a chat with Ana", idea{fact: fact("Ana drinks green tea every day"),
			action: schema.ActionUpdate, target: b, change: memory.ChangeSupersede})
		require.Equal(t, schema.ReviewApplied, w.settle(item, schema.DecisionApprove).Status)
		w.freed(a, b)
	})
	t.Run("decay", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
		w.exec(`UPDATE memories SET deletion_policy = 'auto_prune', half_life = '1 hour', min_salience = 0.5,
			decay_due_at = $2 WHERE id = $1`, b, w.now)
		w.now = w.now.AddDate(1, 0, 0)
		require.Equal(t, 1, w.sweepDecay("run", 10).Pruned)
		w.freed(a, b)
	})
}

// A memory stays contested as long as a live memory contests it.
func TestAContestWithSeveralSides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.doubted("Ana likes rain.", "Ana hates rain.")
	third := uuid.MustParse(w.applied(w.revision(schema.ReviseContest,
		same(semantic("Ana has never seen rain.", "Ana", "states", "Ana has never seen rain.", `{"mode":"global"}`)),
		w.as(a)...)).Created[0])
	w.forgetAll(w.forgets(schema.ForgetSoft, named(b)))
	require.Equal(t, schema.StatusContested, w.get(a).Status)
	require.Equal(t, schema.StatusContested, w.get(third).Status)
	w.forgetAll(w.forgets(schema.ForgetSoft, named(third)))
	w.freed(a, third)
}

// Two memories that make one claim contest each other, even if each was contested only with a third one.
func TestWhatAThirdMemoryContestedStaysContestedByItsClaim(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			third := uuid.MustParse(w.applied(w.revision(schema.ReviseContest, same(claims("Ana", "Rome", "")),
				w.as(a)...)).Created[0])
			w.forgetAll(w.forgets(mode, named(a)))
			w.contested(b, third)
			open, err := w.Contradictions(ctx, w.p, pg.Page{})
			require.NoError(t, err)
			require.Len(t, open, 1)
			testkit.CheckInvariants(t, w.owner)
			w.forgetAll(w.forgets(mode, named(third)))
			w.freed(b, third)
		})
	}
}

// A run that forgets both sides of contests forgets them all, in whatever batches.
func TestBothSidesOfContestsAreForgotten(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var first, second []uuid.UUID
			for i := range 4 {
				a, b := w.contest(claims(fmt.Sprint("Ana", i), "Lisbon", ""), claims(fmt.Sprint("Ana", i), "Porto", ""))
				first, second = append(first, a), append(second, b)
			}
			receipt := w.forgetAll(w.forgets(mode, named(append(first, second...)...))) // in batches of three
			require.Equal(t, 8, receipt.Forgotten, receipt.Skipped)
			require.Zero(t, w.count("memories", "live"))
			testkit.CheckInvariants(t, w.owner)
		})
	}
}

// A recovered memory contests again what it contested.
func TestARecoveredMemoryContestsAgain(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int{"in order": 0, "in the other order": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			w.forgetAll(w.forgets(schema.ForgetSoft, named(b)))
			require.Equal(t, schema.RecoverRecovered, w.recoverOne(b).Status)
			w.contested(a, b)
			require.Equal(t, schema.AuditContest, w.last(a).Action)
			testkit.CheckInvariants(t, w.owner)

			w.forgetAll(w.forgets(schema.ForgetSoft, named(a, b)))
			require.Equal(t, schema.RecoverRecovered, w.recoverOne(a).Status)
			require.Equal(t, schema.StatusActive, w.get(a).Status, "what contested it is still deleted")
			w.forgetAll(w.forgets(schema.ForgetSoft, named(a)))
			both := []schema.Target{{ID: a.String()}, {ID: b.String()}}
			items := w.recover(both[first], both[1-first]).Items
			w.contested(a, b)
			for _, item := range items {
				require.Equal(t, w.get(uuid.MustParse(item.ID)).Version, item.NewVersion)
			}
			testkit.CheckInvariants(t, w.owner)
			testkit.CheckOutbox(t, w.owner)
		})
	}
}

// A run that has selected a memory forgets it, although another run has ended its contest in between.
func TestARunForgetsWhatAnotherRunFreed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	preview := w.selects(w.forgets(schema.ForgetErase, onlyNamed(b)))
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(a)))
	w.freed(b, a)
	out, err := w.ForgetBatch(ctx, w.p.Tenant, uuid.MustParse(preview.RunID), 3, w.now.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, 1, out.Receipt.Forgotten, out.Receipt.Skipped)
	require.Zero(t, w.count("memories", "live"))
}

// A recovery contests no memory that was in no contest, even if one contradicts the other.
func TestARecoveryContestsNoOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	other := w.created(semantic("Ana has no home.", "Ana", "has", "no home", `{"mode":"global"}`))
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ($1, $2, 'contradicts', $3, now())`, w.p.Tenant, b, other)
	w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(b)))
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(b).Status)
	w.contested(a, b)
	require.Equal(t, schema.StatusActive, w.get(other).Status)
}

// If two changes each remove a rival of a contested memory at the same time, the later one sees that none is left.
func TestRivalsThatGoAtTheSameTimeEndAContest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	third := uuid.MustParse(w.applied(w.revision(schema.ReviseContest, same(claims("Ana", "Rome", "")),
		w.as(a)...)).Created[0])
	// a contradicts only b; the third one makes its claim.
	w.exec(`DELETE FROM memory_links WHERE $1 IN (source_id, target_id)`, third)
	other, err := w.owner.Begin(ctx)
	require.NoError(t, err)
	_, err = other.Exec(ctx, `SELECT FROM memories WHERE id = $1 FOR UPDATE`, third)
	require.NoError(t, err)
	_, err = other.Exec(ctx, `UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1`, third)
	require.NoError(t, err)
	selected := w.selects(w.forgets(schema.ForgetSoft, onlyNamed(b)))
	_, err = w.confirm(selected, w.token(selected))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := w.ForgetBatch(ctx, w.p.Tenant, uuid.MustParse(selected.RunID), 3, w.now)
		done <- err
	}()
	watch := testkit.Owner(t, w.url)
	require.NoError(t, testkit.Eventually(ctx, func() error {
		var waiting int
		if err := watch.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting); err != nil || waiting > 0 {
			return err
		}
		return errors.New("it waits for the other change")
	}))
	require.NoError(t, other.Commit(ctx))
	require.NoError(t, <-done)
	require.Equal(t, schema.StatusActive, w.get(a).Status)
	require.Zero(t, w.count("memory_links", "predicate = 'contradicts' AND $1 IN (source_id, target_id)", third))
}

// The parties of a contest come back to it, in whatever order they are recovered.
func TestThreePartiesAreRecoveredInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			third := uuid.MustParse(w.applied(w.revision(schema.ReviseContest, same(claims("Ana", "Rome", "")),
				w.as(a)...)).Created[0])
			sides := []uuid.UUID{a, b, third}
			w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(sides...)))
			for _, i := range order {
				require.Equal(t, schema.RecoverRecovered, w.recoverOne(sides[i]).Status)
			}
			for _, side := range sides {
				require.Equal(t, schema.StatusContested, w.get(side).Status)
			}
			testkit.CheckInvariants(t, w.owner)
			testkit.CheckOutbox(t, w.owner)
			w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(sides[order[0]], sides[order[1]])))
			require.Equal(t, schema.StatusActive, w.get(sides[order[2]]).Status)
		})
	}
}

// A recovered memory does not contest a fact that it was in no contest with, although each was in some contest.
func TestARecoveryDoesNotContestAFactOfAnotherContest(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, won, lost uuid.UUID){
		"decided by a person": (*world).wins,
		"its opponent was deleted": func(w *world, _, lost uuid.UUID) {
			w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(lost)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(a, b)))
			won, lost := w.contest(claims("Ana", "Rome", ""), claims("Ana", "Oslo", ""))
			end(w, won, lost)
			require.Equal(t, schema.StatusActive, w.get(won).Status)
			item := w.recoverOne(a)
			require.Equal(t, schema.RecoverActiveFact, item.Status)
			require.Equal(t, won.String(), item.ConflictID)
			require.Equal(t, schema.StatusActive, w.get(won).Status)
			testkit.CheckInvariants(t, w.owner)
		})
	}
}

// wins resolves a contest.
func (w *world) wins(won, lost uuid.UUID) {
	w.t.Helper()
	req := w.revision(schema.ReviseResolve, nil, w.as(won, lost)...)
	req.Winner = won.String()
	w.applied(req)
}

// The same holds if the fact is another agent's.
func TestARecoveryDoesNotContestAnotherAgentsFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.p.Project = "p"
	other := w.another("b")
	a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(a, b)))
	won, lost := other.contest(claims("Ana", "Rome", ""), claims("Ana", "Oslo", ""))
	other.wins(won, lost)
	w.exec(`UPDATE memories SET visibility = 'shared'`)
	require.Equal(t, schema.RecoverActiveFact, w.recoverOne(a).Status)
	require.Equal(t, schema.StatusActive, other.get(won).Status)
}

// Two parties of a contest with a third one contest each other, whichever way their relations to it lead.
func TestPartiesWithACommonOpponentContestEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	third := uuid.MustParse(w.applied(w.revision(schema.ReviseContest, same(claims("Ana", "Rome", "")),
		w.as(a)...)).Created[0])
	w.forgetAll(w.forgets(schema.ForgetSoft, onlyNamed(a, b, third)))
	w.exec(`DELETE FROM memory_links WHERE source_id IN ($1, $2)`, b, third)
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(b).Status)
	require.Equal(t, schema.StatusActive, w.get(b).Status)
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(third).Status)
	w.contested(b, third)
}
