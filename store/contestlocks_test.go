package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/sweeping"
)

// A change that removes a memory locks the parties of its contests in order of id. So two changes that remove two
// parties of one contest at the same time do not deadlock.
func TestWhatRemovesAPartyOfAContestLocksThePartiesInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world func(t testing.TB) *world
		// remove prepares the removal of a memory and returns what carries it out.
		remove func(w *world, id uuid.UUID) func() error
	}{
		"forget":  {newWorld, func(w *world, id uuid.UUID) func() error { return w.forgetting(schema.ForgetSoft, id) }},
		"erase":   {newWorld, func(w *world, id uuid.UUID) func() error { return w.forgetting(schema.ForgetErase, id) }},
		"retract": {newWorld, (*world).retracting},
		"decay":   {newWorld, (*world).decaying},
		"write":   {newWorld, (*world).superseding},
		"review":  {func(t testing.TB) *world { return reviewWorld(t.(*testing.T)) }, (*world).approving},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.world(t)
			a, b := w.doubted("Ana likes green tea.", "Ana hates green tea.")
			remove := c.remove(w, b)
			other, err := w.owner.Begin(ctx)
			require.NoError(t, err)
			_, err = other.Exec(ctx, `SELECT FROM memories WHERE id = $1 FOR UPDATE`, a)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- remove() }()
			watch := testkit.Owner(t, w.url)
			require.NoError(t, testkit.Eventually(ctx, func() error {
				var waiting int
				err := watch.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
				if err != nil || waiting > 0 {
					return err
				}
				return errors.New("it waits for the first party")
			}))
			tag, err := watch.Exec(ctx, `SELECT FROM memories WHERE id = $1 FOR UPDATE SKIP LOCKED`, b)
			require.NoError(t, err)
			require.EqualValues(t, 1, tag.RowsAffected(), "it waits for the first party and has locked the second one")
			require.NoError(t, other.Rollback(ctx))
			require.NoError(t, <-done)
			require.Equal(t, schema.StatusActive, w.get(a).Status)
			require.Zero(t, w.count("memories", "id = $1 AND live", b))
			testkit.CheckInvariants(t, w.owner)
		})
	}
}

// forgetting returns what forgets a memory.
func (w *world) forgetting(mode schema.ForgetMode, id uuid.UUID) func() error {
	w.t.Helper()
	preview := w.selects(w.forgets(mode, onlyNamed(id)))
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(w.t, err)
	return func() error {
		_, err := w.ForgetBatch(ctx, w.p.Tenant, uuid.MustParse(preview.RunID), 3, w.now)
		return err
	}
}

// retracting returns what retracts a memory.
func (w *world) retracting(id uuid.UUID) func() error {
	in := w.reviseInput(w.revision(schema.ReviseRetract, nil, w.as(id)...))
	return func() error {
		_, err := w.Revise(ctx, in)
		return err
	}
}

// decaying returns what removes a memory that is due.
func (w *world) decaying(id uuid.UUID) func() error {
	w.exec(`UPDATE memories SET deletion_policy = 'auto_prune', half_life = '1 hour', min_salience = 0.5,
		decay_due_at = $2 WHERE id = $1`, id, w.now)
	w.now = w.now.AddDate(1, 0, 0)
	return func() error {
		_, err := w.DecayBatch(ctx, sweeping.DecayInput{Tenant: w.p.Tenant, Run: "run", Until: w.now, Limit: 10,
			Now: w.now})
		return err
	}
}

// superseding returns what writes a fact that supersedes a memory.
func (w *world) superseding(id uuid.UUID) func() error {
	_, r := w.source("a chat with Ana", idea{fact: fact("Ana drinks green tea every day"),
		action: schema.ActionUpdate, target: id, change: memory.ChangeSupersede})
	in := pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now}
	return func() error {
		_, err := w.Write(ctx, in)
		return err
	}
}

// approving returns what approves a proposal to supersede a memory.
func (w *world) approving(id uuid.UUID) func() error {
	_, item := w.proposed("a chat with Ana", idea{fact: fact("Ana drinks green tea every day"),
		action: schema.ActionUpdate, target: id, change: memory.ChangeSupersede})
	key, in := w.decisionKey(), w.decision(item, schema.DecisionApprove)
	w.now = w.now.Add(time.Minute)
	return func() error {
		_, err := w.DecideProposal(ctx, key, in)
		return err
	}
}
