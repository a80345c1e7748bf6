package store_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// migrateContests applies the migration of contests without another side to the data that there is now.
func (w *world) migrateContests() {
	w.t.Helper()
	file, err := os.ReadFile("../schema/migrations/00134_contests_without_another_side.sql")
	require.NoError(w.t, err)
	up, _, found := strings.Cut(string(file), "-- +goose Down")
	require.True(w.t, found)
	w.exec(up)
}

// stuck marks memories as contested, as the end of a contest left them before it was carried out.
func (w *world) stuck(ids ...uuid.UUID) {
	w.t.Helper()
	w.exec(`UPDATE memories SET status = 'contested' WHERE id = ANY($1)`, ids)
}

// The migration frees what nothing contests any more, however the other side went.
func TestContestsThatNeverEndedAreHealed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, gone uuid.UUID){
		"forgotten": func(w *world, gone uuid.UUID) { w.forgetAll(w.forgets(schema.ForgetSoft, named(gone))) },
		"deleted":   func(w *world, gone uuid.UUID) { w.forgetAll(w.forgets(schema.ForgetForce, named(gone))) },
		"retracted": func(w *world, gone uuid.UUID) {
			w.applied(w.revision(schema.ReviseRetract, nil, w.as(gone)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			other := newWorldAt(w, "u")
			x, y := other.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
			end(w, b)
			end(other, x)
			w.stuck(a, y)
			w.migrateContests()
			for _, freed := range []struct {
				w        *world
				id, gone uuid.UUID
			}{{w, a, b}, {other, y, x}} {
				require.Equal(t, schema.StatusActive, freed.w.get(freed.id).Status)
				last := freed.w.last(freed.id)
				require.Equal(t, []any{"contest-policy", "the memory that contested it is gone",
					freed.w.get(freed.id).Version}, []any{last.ChangedBy, last.Reason, last.Version})
			}
			testkit.CheckInvariants(t, w.owner)
			testkit.CheckOutbox(t, w.owner)
			before := w.count("memory_history", "true")
			w.migrateContests()
			require.Equal(t, before, w.count("memory_history", "true"), "it changes nothing twice")
		})
	}
}

// A fact that was contested when it was written is freed too, although its relation went with the other row.
func TestAFactContestedAtOnceIsHealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("Ana likes green tea")
	source, r := w.source("a chat with Ana", idea{fact: fact("Ana does not like green tea"), action: schema.ActionUpdate,
		target: target, change: memory.ChangeContest})
	w.write(r)
	made := uuid.MustParse(w.facts(source)[0].ID)
	require.Equal(t, schema.StatusContested, w.get(made).Status)
	w.forgetAll(w.forgets(schema.ForgetForce, named(target)))
	w.stuck(made)
	w.migrateContests()
	require.Equal(t, schema.StatusActive, w.get(made).Status)
}

// The migration leaves alone what is contested: by a live memory, by a memory with the same claim, or because its
// record was put as contested.
func TestHealingKeepsContests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	c, d := w.contest(claims("Bea", "Lisbon", ""), claims("Bea", "Porto", ""))
	third := uuid.MustParse(w.applied(w.revision(schema.ReviseContest, same(claims("Bea", "Rome", "")),
		w.as(c)...)).Created[0])
	w.forgetAll(w.forgets(schema.ForgetSoft, named(c)))
	w.exec(`DELETE FROM memory_links WHERE $1 IN (source_id, target_id) AND $2 IN (source_id, target_id)`, d, third)
	put := w.created(semantic("Ana likes rain.", "Ana", "likes", "rain", `{"mode":"global"}`))
	w.stuck(put)
	w.migrateContests()
	w.contested(a, b)
	w.contested(d, third)
	require.Equal(t, schema.StatusContested, w.get(put).Status)
	open, err := w.Contradictions(ctx, w.p, pg.Page{})
	require.NoError(t, err)
	require.Len(t, open, 2)
	testkit.CheckInvariants(t, w.owner)
}
