package learning_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// offline is a session in which the cache is restored under a constraint, with or without success.
func offline(n int, helps bool, constraint string) *testkit.Story {
	s := testkit.NewStory(ana, n).Says("Build the app please").In("linux", "/w/app", nil)
	update := ledger.WorkingUpdate{ActiveConstraints: []json.RawMessage{}}
	if constraint != "" {
		update.ActiveConstraints = append(update.ActiveConstraints, json.RawMessage(`"`+constraint+`"`))
	}
	s.Works(update).Does("make app", testkit.Mismatch(n)).Does("restore-cache --from backup", "")
	if helps {
		return s.Does("make app", "").Ends(schema.OutcomeSuccess)
	}
	return s.Does("make app", testkit.Mismatch(n))
}

// The working memory of sessions is learned from: the constraint under which a repair works becomes a condition of
// the procedure, and the question that was open when it failed becomes one of its failure modes.
func TestWorkingMemoryIsLearnedFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// Alternating: if all failures came last, a change over time would explain them as well.
	for n := range 4 {
		offline(2*n, true, "No network.").Record(t, w.store)
	}
	for n := range 3 {
		offline(2*n+1, false, "").Works(ledger.WorkingUpdate{State: schema.TaskBlocked,
			OpenQuestions: []string{"Which mirror has the cache?"}}).Record(t, w.store)
	}
	require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added)
	known := w.known(ana)
	require.Len(t, known, 1)
	p := procedureOf(t, known[0])
	require.JSONEq(t, `{"constraint_no_network":"yes"}`, string(p.Triggers[0].Conditions))
	require.Contains(t, p.FailureModes, "not known when it failed: Which mirror has the cache?")

	require.Zero(t, w.learn(ana, schema.TypeCompetence).Changes(), "the same evidence changes nothing")
}

// A session that ends without an outcome and reports a blocked task is a failed attempt.
func TestABlockedSessionIsAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blocked := func(n int, update ledger.WorkingUpdate) {
		testkit.NewStory(ana, n).Says("Build the app please").Does("make app", testkit.Mismatch(n)).
			Does("restore-cache --from backup", "").Works(update).Record(t, w.store)
	}
	blocked(1, ledger.WorkingUpdate{State: schema.TaskBlocked})
	blocked(2, ledger.WorkingUpdate{State: schema.TaskWaiting})
	w.learn(ana, schema.TypeCompetence)
	require.Equal(t, 1, w.count("learning_attempts", "NOT ok"))
	require.Zero(t, w.count("learning_attempts", "ok"))
}
