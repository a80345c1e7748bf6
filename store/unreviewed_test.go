package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// unreviewed prepares a proposal whose review has expired.
func unreviewed(t *testing.T, w *world, source string, d idea) (uuid.UUID, schema.Range) {
	t.Helper()
	parent, r := w.source(source, d)
	require.Equal(t, 1, w.write(r).Blocked)
	_, err := w.OpenReview(ctx, "t", r.BatchID, time.Hour, w.now)
	require.NoError(t, err)
	w.now = w.now.Add(time.Hour)
	return parent, r
}

func (w *world) expireAll(r schema.Range) {
	w.t.Helper()
	n, err := w.expire(r, w.now)
	require.NoError(w.t, err)
	require.Equal(w.t, 1, n)
	before := w.snapshot()
	n, err = w.expire(r, w.now)
	require.NoError(w.t, err)
	require.Zero(w.t, n)
	require.Equal(w.t, before, w.snapshot(), "a second call does nothing")
	testkit.CheckInvariants(w.t, w.owner)
	testkit.CheckOutbox(w.t, w.owner)
}

// contested requires that two memories are marked as contradicting each other.
func (w *world) contested(a, b uuid.UUID) {
	w.t.Helper()
	for _, id := range []uuid.UUID{a, b} {
		require.Equal(w.t, schema.StatusContested, w.get(id).Status)
	}
	require.Equal(w.t, 2, w.count("memory_links",
		"predicate = 'contradicts' AND ARRAY[source_id, target_id] <@ ARRAY[$1, $2]::uuid[]", a, b))
}

// A contradiction that is not reviewed becomes a contest (document 004 §7).
func TestAnUnreviewedContradictionIsContested(t *testing.T) {
	t.Parallel()
	said := fact("Ana does not like green tea")
	for name, c := range map[string]struct {
		idea   idea
		before func(w *world, target uuid.UUID)
		pinned bool
	}{
		"contradicting words": {idea: idea{fact: said, action: schema.ActionUpdate}},
		"a deletion":          {idea: idea{fact: said, action: schema.ActionDelete}},
		"a changed target": {idea: idea{fact: said, action: schema.ActionUpdate},
			before: func(w *world, target uuid.UUID) {
				w.modifyOne(schema.Patch{ID: target.String(), Tags: &[]string{"drinks"}, Reason: "sorted"})
			}},
		"a pinned target": {idea: idea{fact: said, action: schema.ActionUpdate}, pinned: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := reviewWorld(t)
			target := w.memory("Ana likes green tea")
			if c.pinned {
				w.modifyOne(schema.Patch{ID: target.String(), Pinned: ptr(true), Reason: "to keep"})
			}
			c.idea.target = target
			source, r := unreviewed(t, w, "What Ana said of tea", c.idea)
			if c.before != nil {
				c.before(w, target)
			}
			content := w.get(target).Content
			w.expireAll(r)
			drawn := w.facts(source)
			require.Len(t, drawn, 1)
			require.Equal(t, said.Content, drawn[0].Content)
			w.contested(target, uuid.MustParse(drawn[0].ID))
			require.Equal(t, content, w.get(target).Content)
			require.Equal(t, c.pinned, w.get(target).Lifecycle.Pinned)

			item := w.reviews(pipeline.ReviewFilter{State: schema.ReviewsDecided})[0]
			require.Equal(t, []any{schema.ProposalExpired, drawn[0].ID, "review-policy"},
				[]any{item.State, item.MemoryID, item.ReviewedBy})
			result := w.settle(item, schema.DecisionApprove)
			require.Equal(t, []any{schema.ReviewExpired, drawn[0].ID}, []any{result.Status, result.MemoryID})
			require.Contains(t, result.Why, "contested")
			outcome := w.outcomes(r)[0]
			require.Equal(t, []any{true, drawn[0].ID, content},
				[]any{outcome.Contested, outcome.MemoryID, outcome.Target})
			h := w.history(target)
			require.Equal(t, []any{schema.AuditContest, "review-policy"},
				[]any{h[len(h)-1].Action, h[len(h)-1].ChangedBy})

			// A person may still resolve it, as any contest.
			found, err := w.Contradictions(ctx, w.p, pg.Page{})
			require.NoError(t, err)
			require.Len(t, found, 1)
		})
	}
}

// A claim with another value, which the pipeline may not replace, becomes a contest.
func TestAnUnreviewedClaimIsContested(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, r := w.source("Ana said where she lives",
		idea{fact: lives("Ana lives in Lisbon", "Ana", "Lisbon"), action: schema.ActionAdd})
	require.Equal(t, 1, w.write(r).Added)
	held := uuid.MustParse(w.facts(first)[0].ID)
	second, r := unreviewed(t, w, "Ana said it again",
		idea{fact: lives("Ana lives in Porto", "Ana", "Porto"), action: schema.ActionAdd})
	w.expireAll(r)
	w.contested(held, uuid.MustParse(w.facts(second)[0].ID))
	require.Equal(t, 1, w.count("memory_history",
		"memory_id = $1 AND changed_by = 'review-policy' AND metadata->>'expired' = 'true'", second))
}

// If the other side is stored already, that memory is contested, and nothing is written twice.
func TestAnUnreviewedContradictionOfAStoredMemory(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("Ana likes green tea")
	known, r := w.source("Ana spoke of tea", idea{fact: fact("Ana does not like green tea"), action: schema.ActionAdd})
	require.Equal(t, 1, w.write(r).Added)
	other := uuid.MustParse(w.facts(known)[0].ID)
	_, r = unreviewed(t, w, "Ana spoke of tea again",
		idea{fact: fact("Ana does not like green tea"), action: schema.ActionUpdate, target: target})
	w.expireAll(r)
	w.contested(target, other)
	require.Equal(t, 1, w.count("memories", "content = 'Ana does not like green tea'"))
}

// A contest by the pipeline itself also finds the stored memory.
func TestAContestWithAStoredMemoryMarksBoth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Supersede = proposals.SupersedeAuto
	target := w.memory("Ana likes green tea")
	known, r := w.source("Ana spoke of tea", idea{fact: fact("Ana does not like green tea"), action: schema.ActionAdd})
	require.Equal(t, 1, w.write(r).Added)
	_, r = w.source("Ana spoke of tea again",
		idea{fact: fact("Ana does not like green tea"), action: schema.ActionUpdate, target: target,
			change: memory.ChangeContest})
	w.write(r)
	w.contested(target, uuid.MustParse(w.facts(known)[0].ID))
}

// A proposal that no longer contradicts anything is discarded.
func TestAProposalWithoutAContradictionIsDiscarded(t *testing.T) {
	t.Parallel()
	said := idea{fact: fact("Ana does not like green tea"), action: schema.ActionUpdate}
	for name, c := range map[string]struct {
		idea   idea
		before func(w *world, source, target uuid.UUID)
	}{
		"a further detail": {idea: idea{fact: fact("Ana likes strong green tea"), action: schema.ActionUpdate}},
		"the target is forgotten": {said, func(w *world, _, target uuid.UUID) {
			w.forgetAll(w.forgets("", named(target)))
		}},
		"the source is forgotten": {said, func(w *world, source, _ uuid.UUID) {
			w.forgetAll(w.forgets("", named(source)))
		}},
		"writes are frozen": {said, func(w *world, _, _ uuid.UUID) { w.policy.Mode = schema.ModeFrozen }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := reviewWorld(t)
			target := w.memory("Ana likes green tea")
			c.idea.target = target
			source, r := unreviewed(t, w, "What Ana said of tea", c.idea)
			if c.before != nil {
				c.before(w, source, target)
			}
			before := w.count("memories", "status = 'active'")
			w.expireAll(r)
			require.Equal(t, before, w.count("memories", "status = 'active'"))
			require.Zero(t, w.count("memories", "status = 'contested'"))
			require.Equal(t, 1, w.count("proposals",
				"state = 'expired' AND memory_id IS NULL AND review_reason = 'no one decided in time'"))
		})
	}
}

// A transaction that fails changes nothing, and the proposal still waits.
func TestAContestIsAtomic(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("Ana likes green tea")
	_, r := unreviewed(t, w, "What Ana said of tea",
		idea{fact: fact("Ana does not like green tea"), action: schema.ActionUpdate, target: target})
	for _, table := range []string{"memories", "memory_history", "memory_links", "index_outbox", "proposals"} {
		before := w.snapshot()
		w.breaking(table, func() {
			_, err := w.expire(r, w.now)
			require.Error(t, err, table)
			require.NotContains(t, err.Error(), "green")
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	w.expireAll(r)
}

// A fact may contradict the memory that it would change and another one that makes its claim. Both name the fact.
func TestAnUnreviewedFactContradictsSeveralMemories(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	w.policy.Supersede = proposals.SupersedeReview
	target, holder := w.explicit("Ana is from Rome."), w.claimed("Ana lives in Rome", "Ana", "Rome")
	source, r := unreviewed(t, w, "What Ana said of towns", idea{fact: lives("Ana lives in Oslo", "Ana", "Oslo"),
		action: schema.ActionUpdate, change: memory.ChangeSupersede, target: target})
	w.expireAll(r)
	drawn := w.facts(source)
	require.Len(t, drawn, 1)
	for _, id := range []uuid.UUID{target, holder} {
		w.contested(id, uuid.MustParse(drawn[0].ID))
	}
}
