package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

// retraction is a proposal to retract a statement and the memories that say the same.
func retraction(text string, target uuid.UUID, also ...uuid.UUID) idea {
	f := fact(text)
	f.Retracts = true
	return idea{fact: f, action: schema.ActionDelete, target: target, change: memory.ChangeRetract, also: also}
}

// A reviewer approves what the proposal says: the statement and its restatements are no longer true. Deleting the
// target would lose it after the window, and the restatements would stay current.
func TestAnApprovedRetractionRetractsWhatSaysTheSame(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	w.policy.Supersede = proposals.SupersedeReview
	target, also := w.memory("Ana likes tabs"), w.memory("Ana really likes tabs")
	_, item := w.proposed("Forget that Ana likes tabs", retraction("Ana likes tabs", target, also))
	require.Equal(t, proposals.ReasonDestructiveDisabled, item.Outcome)
	result := w.settle(item, schema.DecisionApprove)
	require.Equal(t, schema.ReviewApplied, result.Status, result.Why)
	for _, id := range []uuid.UUID{target, also} {
		m := w.get(id)
		require.Equal(t, schema.StatusRetracted, m.Status, m.Content)
		require.Nil(t, m.DeletedAt, "a retracted memory stays for lineage and for times past")
		h := w.history(id)
		require.Equal(t, "operator:rita", h[len(h)-1].ChangedBy)
	}
	w.requireExactStats()
}

// "Forget that" has no other side: what a person took back must not become a new memory because no one decided.
func TestAnUnreviewedRetractionIsDiscarded(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"Ana likes tabs", "Ana really does like tabs"} {
		w := reviewWorld(t)
		w.policy.Supersede = proposals.SupersedeReview
		target := w.memory("Ana likes tabs")
		source, r := unreviewed(t, w, "Forget what I said of tabs", retraction(said, target))
		w.expireAll(r)
		require.Equal(t, schema.StatusActive, w.get(target).Status)
		require.Empty(t, w.facts(source), "a retracted statement is not a memory")
		require.Equal(t, schema.ProposalExpired, w.outcomes(r)[0].State)
		require.Zero(t, w.count("memory_links", "predicate = 'contradicts'"))
		w.requireExactStats()
	}
}
