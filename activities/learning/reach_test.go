package learning_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/activities/learning"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// failed records a session in which a repair did not help.
func (w *world) failed(p schema.Principal, n int, command string) uuid.UUID {
	w.t.Helper()
	s := testkit.NewStory(p, n).Says("Build the app please").In("linux", fmt.Sprintf("/w/app%d", n), nil)
	s.Does("make app", testkit.Mismatch(n)).Does(command, "").Does("make app", testkit.Mismatch(n))
	return s.Ends(schema.OutcomeFailure).Record(w.t, w.store)
}

// A record repeats what did not help. An episode in which only that happened is not among its successes, but a draft
// goes with it as well.
func TestAFailureErasedBeforeTheWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 3 {
		testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
	}
	failed := w.failed(ana, 9, "reset xyzzycanary")
	call[learning.IndexResult](w, w.a.IndexEvidence, learning.IndexRequest{LearnScope: scopeOf(ana)})
	decided := w.decide(ana, schema.TypeCompetence, false)
	require.Len(t, decided.Drafted, 1)
	_, err := testkit.Owner(t, w.url).Exec(ctx, `UPDATE memories SET deleted_at = now(), erased_at = now() WHERE id = $1`,
		failed)
	require.NoError(t, err)
	require.Zero(t, w.count("learning_drafts", "deltas::text LIKE '%xyzzycanary%'"))
	w.write(ana, schema.TypeCompetence, decided.Drafted)
	require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added, "the group is decided again without the episode")
	require.NotContains(t, string(w.known(ana)[0].Payload), "xyzzycanary")
}

// A record is at least as sensitive as each episode whose words it may repeat: one that failed, or one that a later run
// read.
func TestALearnedRecordIsAsSensitiveAsItsEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sensitive := func(id uuid.UUID) {
		_, err := testkit.Owner(t, w.url).Exec(ctx, `UPDATE memories SET sensitivity = 'high' WHERE id = $1`, id)
		require.NoError(t, err)
	}
	bob := schema.Principal{Tenant: "t", Agent: "bob"}
	for n := range 3 {
		testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
		testkit.Build(bob, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
	}
	learned := func(agent, what string) int {
		return w.count("memories", fmt.Sprintf("type = 'competence' AND agent_id = '%s' AND %s", agent, what))
	}
	sensitive(w.failed(ana, 9, "reset one"))
	require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added)
	require.Equal(t, 1, learned("ana", "sensitivity = 'high' AND payload::text LIKE '%reset one%'"))

	require.Equal(t, 1, w.learn(bob, schema.TypeCompetence).Added)
	require.Equal(t, 1, learned("bob", "sensitivity <> 'high'"))
	sensitive(w.failed(bob, 9, "reset two"))
	testkit.Build(bob, 10, "linux", testkit.ClearCache(10)).Record(t, w.store)
	require.Equal(t, 1, w.learn(bob, schema.TypeCompetence).Updated)
	require.Equal(t, 1, learned("bob", "sensitivity = 'high' AND payload::text LIKE '%reset two%'"))
}

// A shared solution of one agent is for that agent alone. When it has helped another agent too, both have it.
func TestASolutionThatASecondAgentConfirms(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"ana", "zoe"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			shared := schema.Principal{Tenant: "t"}
			share := func(p schema.Principal, n int) {
				id := testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
				_, err := testkit.Owner(t, w.url).Exec(ctx, `UPDATE memories SET visibility = 'shared' WHERE id = $1`, id)
				require.NoError(t, err)
			}
			one, other := schema.Principal{Tenant: "t", Agent: first}, schema.Principal{Tenant: "t", Agent: "mia"}
			for n := range 3 {
				share(one, n)
			}
			require.Equal(t, 1, w.learn(shared, schema.TypeCompetence).Added)
			require.Len(t, w.known(one), 1)
			_, err := testkit.Owner(t, w.url).Exec(ctx, `
				INSERT INTO outcome_reports (tenant, memory_id, advice_id, agent_id, ok, at)
				VALUES ('t', $1, gen_random_uuid(), $2, true, now())`, w.known(one)[0].ID, first)
			require.NoError(t, err)
			for n := range 2 {
				share(other, 20+n)
			}
			got := w.learn(shared, schema.TypeCompetence)
			require.Zero(t, got.Dropped)
			known, err := w.store.Learning.List(ctx, pg.Filter{Principal: other, ReadPolicy: schema.ReadShared}, uuid.Nil, 9)
			require.NoError(t, err)
			require.Len(t, known, 1)
			require.EqualValues(t, 6, known[0].Stats.All.Successes, "with the one that was reported")
			require.Equal(t, 1, w.count("memories", "type = 'competence' AND live"))
			require.Equal(t, 1, w.count("memories", "type = 'competence' AND live AND visibility = 'shared'"))
			require.Zero(t, w.count("learning_groups", "attempts > procedures AND attempts >= 3"))
		})
	}
}

// What is decided while changes are frozen is written when they are allowed again, without new evidence.
func TestWhatAFreezeRefusesIsLearnedAfterIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 3 {
		testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
	}
	w.a.Policy.Mode = schema.ModeShadow
	got := w.learn(ana, schema.TypeCompetence)
	require.Zero(t, got.Changes())
	require.Equal(t, 1, got.Refused["mutations_frozen"])
	w.a.Policy.Mode = schema.ModeControlled
	require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added)
}

// A record that more agents read than the evidence is not changed in words that come from that evidence.
func TestPrivateEvidenceDoesNotReachARecordOfAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob := schema.Principal{Tenant: "t", Agent: "bob"}
	for n := range 3 {
		testkit.Build(bob, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
		testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
	}
	require.Equal(t, 1, w.learn(bob, schema.TypeCompetence).Added)
	id, team := uuid.NewString(), schema.Principal{Tenant: "t", Agent: "ana", PolicyGroup: "team"}
	put, err := w.store.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: "t", ID: id, WorkflowID: "put"},
		Request: schema.PutRequest{Operation: schema.Operation{Principal: team}, Visibility: schema.VisibilityGroup,
			Records: []schema.MemoryRecord{{ID: id, Type: schema.TypeCompetence, Payload: w.known(bob)[0].Payload,
				Confidence: 1, Salience: 1, Importance: 1, SourceTrust: 1}}},
		Policy: proposals.DefaultWritePolicy(), Now: time.Now()})
	require.NoError(t, err)
	require.Equal(t, schema.PutCreated, put.Items[0].Status)
	w.failed(ana, 9, "reset xyzzycanary")
	testkit.Build(ana, 10, "linux", testkit.ClearCache(10)).Record(t, w.store)
	w.learn(ana, schema.TypeCompetence)
	require.Zero(t, w.count("memories", "visibility = 'group' AND payload::text LIKE '%xyzzycanary%'"))

	for n := 20; n < 26; n++ {
		testkit.Build(ana, n, "macos", testkit.ClearCache(n), "brew reinstall xyzzycanary").Record(t, w.store)
	}
	w.learn(ana, schema.TypeCompetence)
	require.Zero(t, w.count("memories", "visibility = 'group' AND payload::text LIKE '%xyzzycanary%'"))
	require.Equal(t, 1, w.count("memories", "visibility = 'group' AND live"))
}
