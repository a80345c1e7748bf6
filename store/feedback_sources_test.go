package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// agent returns the world of another agent, or of one of its users.
func (w *world) agent(agent, user string) *world {
	other := *w
	other.p.Agent, other.p.User = agent, user
	return &other
}

// judges gives the agent's verdict on another retrieval of a memory, a day after the last.
func (w *world) judges(id uuid.UUID, v schema.Verdict) schema.FeedbackResultItem {
	w.t.Helper()
	w.now = w.now.Add(24 * time.Hour)
	return w.feedbackOn(w.retrieved(id), id, v)
}

// The verdicts of one agent on a memory that others read count once, for facts and procedures.
func TestVerdictsOfOneAgentOnASharedMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityShared
	w.p.Agent = "owner"
	procedure, fact := w.procedure("rebuild"), w.explicit("Tea is served hot.")
	w.exec(`UPDATE memories SET reinforcement_gain = 0.01`)
	a, b := w.agent("a", ""), w.agent("b", "")

	for n := range 6 {
		a.now = a.now.Add(24 * time.Hour)
		retrieval := a.retrieved(procedure, fact)
		out := a.feedback(retrieval, says(procedure, schema.VerdictFailed), says(fact, schema.VerdictFailed))
		again := a.feedback(retrieval, says(procedure, schema.VerdictFailed), says(fact, schema.VerdictFailed))
		for i, item := range out.Items {
			require.Equal(t, schema.FeedbackPenalised, item.Status)
			require.Equal(t, schema.FeedbackUnchanged, again.Items[i].Status)
			require.Empty(t, again.Items[i].CountsFor)
			if n == 0 {
				require.Equal(t, schema.ReachAll, item.CountsFor)
				require.Empty(t, item.Held)
				continue
			}
			require.Equal(t, []any{schema.ReachOwn, schema.HeldOneSource, *item.SalienceBefore},
				[]any{item.CountsFor, item.Held, *item.SalienceAfter})
		}
	}
	require.Equal(t, int64(1), w.performance(procedure).FailureCount)
	require.InDelta(t, 3*0.7/4, w.get(procedure).Confidence, 1e-9)
	require.Equal(t, 12, w.count("retrieval_feedback", "verdict = 'failed' AND by_source"), "every verdict is kept")
	require.Equal(t, 2, w.count("retrieval_feedback", "moved <> 0"))
	require.Equal(t, 10, w.count("memory_history", "action = 'penalise' AND metadata->>'held' = 'one_source'"))

	// Another agent counts in full, and then the first one as often.
	b.now = a.now
	require.Equal(t, schema.ReachAll, b.judges(procedure, schema.VerdictFailed).CountsFor)
	require.Equal(t, schema.ReachAll, b.judges(procedure, schema.VerdictFailed).CountsFor)
	require.Equal(t, int64(3), w.performance(procedure).FailureCount)
	a.now = b.now
	require.Equal(t, schema.ReachAll, a.judges(procedure, schema.VerdictFailed).CountsFor)
	require.Equal(t, int64(4), w.performance(procedure).FailureCount)

	// A source that changes its mind takes back what it said.
	require.Equal(t, schema.ReachAll, a.judges(procedure, schema.VerdictSucceeded).CountsFor)
	p := w.performance(procedure)
	require.Equal(t, []int64{1, 2}, []int64{p.SuccessCount, p.FailureCount})
	require.InDelta(t, (3*0.7+1)/6, w.get(procedure).Confidence, 1e-9)
	testkit.CheckInvariants(t, w.owner)
}

// Where one agent reads a memory, all of its verdicts count. Those of its users count once for each.
func TestVerdictsOfUsersOnTheAgentsMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.procedure("rebuild")
	w.exec(`UPDATE memories SET reinforcement_gain = 0.01`)
	for range 3 {
		item := w.judges(id, schema.VerdictFailed)
		require.Equal(t, schema.FeedbackPenalised, item.Status)
		require.Empty(t, item.CountsFor)
	}
	maya, tom := w.agent("a", "maya"), w.agent("a", "tom")
	require.Equal(t, schema.ReachAll, maya.judges(id, schema.VerdictFailed).CountsFor)
	require.Equal(t, schema.HeldRepeated, maya.feedbackOn(maya.retrieved(id), id, schema.VerdictFailed).Held)
	require.Equal(t, schema.HeldOneSource, maya.judges(id, schema.VerdictFailed).Held)
	require.Equal(t, int64(4), w.performance(id).FailureCount)
	require.Equal(t, schema.ReachAll, tom.judges(id, schema.VerdictFailed).CountsFor)
	require.Equal(t, int64(5), w.performance(id).FailureCount)
	require.Equal(t, 2, w.count("verdict_sources", "user_key <> ''"))
	require.Zero(t, w.count("verdict_sources", "verdict_sources::text LIKE '%maya%'"), "names of users are not kept")

	own := maya.procedure("reinstall")
	w.exec(`UPDATE memories SET reinforcement_gain = 0.01`)
	for range 3 {
		require.Empty(t, maya.judges(own, schema.VerdictFailed).CountsFor, "only she reads it")
	}
	require.Equal(t, int64(3), maya.performance(own).FailureCount)

	// What the users said does not count again when other agents read the memory, and what the agent said stays.
	w.exec(`UPDATE memories SET visibility = 'shared' WHERE id = $1`, id)
	w.now = tom.now
	require.Equal(t, schema.ReachAll, w.judges(id, schema.VerdictFailed).CountsFor)
	maya.now = w.now
	require.Equal(t, schema.HeldRepeated, maya.feedbackOn(maya.retrieved(id), id, schema.VerdictFailed).Held,
		"the agent and its users are one source")
	require.Equal(t, int64(6), w.performance(id).FailureCount)
	testkit.CheckInvariants(t, w.owner)
}

// A verdict on the same retrieval that replaces an earlier one replaces it for its source.
func TestCorrectedVerdictOnASharedMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.procedure("rebuild")
	private := w.retrieved(id)
	w.feedbackOn(private, id, schema.VerdictFailed)
	w.exec(`UPDATE memories SET visibility = 'shared'`)
	counts := func() []int64 {
		p := w.performance(id)
		return []int64{p.SuccessCount, p.FailureCount}
	}
	require.Equal(t, schema.FeedbackCorrected, w.feedbackOn(private, id, schema.VerdictSucceeded).Status)
	require.Equal(t, []int64{1, 0}, counts(), "an effect from before it was shared is undone")
	item := w.feedbackOn(private, id, schema.VerdictFailed)
	require.Equal(t, []any{schema.FeedbackCorrected, schema.VerdictSucceeded, schema.ReachAll},
		[]any{item.Status, item.Corrects, item.CountsFor})
	require.Equal(t, []int64{0, 1}, counts())
	for range 4 { // corrections are no way to count more often
		w.feedbackOn(private, id, schema.VerdictSucceeded)
		w.feedbackOn(private, id, schema.VerdictFailed)
	}
	require.Equal(t, []int64{0, 1}, counts())
	second := w.retrieved(id)
	w.feedbackOn(second, id, schema.VerdictFailed)
	w.feedbackOn(second, id, schema.VerdictSucceeded)
	require.Equal(t, []int64{1, 0}, counts(), "the latest")
	require.Equal(t, schema.HeldRepeated, w.feedbackOn(private, id, schema.VerdictSucceeded).Held)
	require.Equal(t, []int64{1, 0}, counts())

	// A result that was not used after all, and then it was.
	for range 2 {
		for _, retrieval := range []uuid.UUID{private, second} {
			require.Equal(t, schema.FeedbackCorrected, w.feedbackOn(retrieval, id, schema.VerdictUnused).Status)
		}
		require.Equal(t, []int64{0, 0}, counts())
		require.Equal(t, 1, w.count("verdict_sources", "NOT used AND times = 2 AND counted = 1"))
		require.Zero(t, w.count("verdict_sources", "used"))
		for _, retrieval := range []uuid.UUID{private, second} {
			w.feedbackOn(retrieval, id, schema.VerdictFailed)
		}
		require.Equal(t, []int64{0, 1}, counts())
		require.Zero(t, w.count("verdict_sources", "NOT used"))
	}
	testkit.CheckInvariants(t, w.owner)
}

// Verdicts that several agents give at the same time all count, and those that one agent gives count once.
func TestConcurrentVerdictsOfSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityShared
	id := w.procedure("rebuild")
	var wg sync.WaitGroup
	for n := range 4 {
		agent := w.agent(fmt.Sprint("agent", n), "")
		for range 3 {
			in := agent.feedbackInput(agent.retrieved(id), says(id, schema.VerdictFailed))
			for range 2 { // each is delivered twice
				wg.Go(func() {
					if _, err := agent.Feedback(ctx, in); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	wg.Wait()
	require.Equal(t, int64(4), w.performance(id).FailureCount)
	require.Equal(t, 4, w.count("verdict_sources", "times = 3 AND days = 1 AND counted = 1"))
	testkit.CheckInvariants(t, w.owner)
}

// The sources of a memory are limited in number, and are removed when it is erased or deleted.
func TestSourcesOfVerdictsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityShared
	id, erased := w.explicit("Tea is served hot."), w.explicit("Coffee is served black.")
	w.exec(`INSERT INTO verdict_sources (tenant, memory_id, agent_id, used, verdict, times, days, counted, moved, at)
		SELECT 't', $1, 'agent' || n, true, 'succeeded', 1, 1, 1, 0, $2::timestamptz - n * interval '1 hour'
		FROM generate_series(1, 1100) n`, id, w.now)
	w.judges(id, schema.VerdictSucceeded)
	require.Equal(t, 1000, w.count("verdict_sources", "memory_id = $1", id))
	require.Equal(t, 1, w.count("verdict_sources", "agent_id = 'agent999'"))
	require.Zero(t, w.count("verdict_sources", "agent_id = 'agent1000'"), "the oldest")

	w.judges(erased, schema.VerdictSucceeded)
	w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(erased)))
	require.Zero(t, w.count("verdict_sources", "memory_id = $1", erased))
	w.exec(`DELETE FROM memories WHERE id = $1`, id)
	require.Zero(t, w.count("verdict_sources", "true"))
}

// An unused result says nothing of the uses of a memory, and counts once for each source.
func TestUnusedResultsOfSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityShared
	id := w.procedure("rebuild")
	w.judges(id, schema.VerdictSucceeded)
	for n := range 3 {
		require.Equal(t, n > 0, w.judges(id, schema.VerdictUnused).Held == schema.HeldOneSource, n)
	}
	require.Equal(t, int64(1), w.performance(id).SuccessCount)
	require.True(t, slices.Equal([]string{"succeeded", "unused"}, testkit.Strings(t, w.owner,
		`SELECT verdict FROM verdict_sources ORDER BY verdict`)))
}
