package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// proposed takes an idea through a write that may not apply it, and returns its source and its review.
func (w *world) proposed(source string, d idea) (uuid.UUID, schema.ReviewItem) {
	w.t.Helper()
	parent, r := w.source(source, d)
	require.Equal(w.t, schema.WriteCounts{Blocked: 1}, w.write(r))
	for _, item := range w.reviews(pipeline.ReviewFilter{}) {
		if item.SourceID == parent.String() {
			return parent, item
		}
	}
	require.Fail(w.t, "the proposal does not wait for review")
	return parent, schema.ReviewItem{}
}

func (w *world) reviews(f pipeline.ReviewFilter) []schema.ReviewItem {
	w.t.Helper()
	items, err := w.ListReviews(ctx, w.p, f, pg.Page{})
	require.NoError(w.t, err)
	return items
}

func (w *world) review(id string) schema.ReviewItem {
	w.t.Helper()
	item, err := w.GetReview(ctx, w.p, uuid.MustParse(id))
	require.NoError(w.t, err)
	return item
}

func (w *world) decision(item schema.ReviewItem, d schema.Decision) pipeline.DecideInput {
	return pipeline.DecideInput{Principal: w.p, BatchID: uuid.MustParse(item.BatchID),
		ProposalID: uuid.MustParse(item.ProposalID), Decision: d,
		By: "operator:rita", Reason: "looked at both", Policy: w.policy, Now: w.now}
}

// expire ends proposals that were not decided by a time.
func (w *world) expire(r schema.Range, before time.Time) (int, error) {
	out, err := w.ExpireProposals(ctx, pipeline.ExpireInput{Tenant: r.Tenant, BatchID: r.BatchID, Before: before,
		Policy: w.policy, Now: w.now})
	return out.Ended, err
}

func (w *world) decisionKey() schema.OperationRef {
	return schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(), WorkflowID: "review"}
}

func (w *world) settle(item schema.ReviewItem, d schema.Decision) schema.ReviewResult {
	w.t.Helper()
	result, err := w.DecideProposal(ctx, w.decisionKey(), w.decision(item, d))
	require.NoError(w.t, err)
	return result
}

// reviewWorld does not let the pipeline update or delete.
func reviewWorld(t *testing.T) *world {
	w := newWorld(t)
	w.policy.AllowUpdateDelete, w.policy.Supersede = false, proposals.SupersedeReview
	return w
}

func TestAnApprovedUpdateIsAppliedByTheReviewer(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("Ana takes her tea with milk")
	source, item := w.proposed("about tea",
		idea{fact: fact("Ana takes her tea without milk"), action: schema.ActionUpdate, target: target})
	require.Equal(t, "Ana takes her tea without milk", item.Fact)
	require.Equal(t, "about tea", item.Source)
	require.Equal(t, "because", item.Reason)
	require.Equal(t, proposals.ReasonDestructiveDisabled, item.Outcome)
	require.True(t, item.ContradictionRisk)
	require.Equal(t, 1, item.TargetVersion)
	require.Equal(t, &schema.Side{ID: target.String(), Version: 1, Status: schema.StatusActive, Live: true,
		Content: "Ana takes her tea with milk", Confidence: 1}, item.TargetNow)
	require.Equal(t, []schema.Target{{ID: target.String(), IfVersion: 1}}, item.Offered)

	in := w.decision(item, schema.DecisionApprove)
	in.Embedding = &pg.Embedding{Model: hash, Vector: embed(t, item.Fact)}
	result, err := w.DecideProposal(ctx, w.decisionKey(), in)
	require.NoError(t, err)
	require.Equal(t, schema.ReviewApplied, result.Status)
	require.Equal(t, []string{target.String()}, result.Superseded)
	added := w.get(uuid.MustParse(result.MemoryID))
	require.Equal(t, "Ana takes her tea without milk", added.Content)
	require.Equal(t, "operator:rita", added.Provenance.CreatedBy)
	require.Equal(t, target.String(), added.Supersedes)
	require.Equal(t, 1, w.count("memory_embeddings", "memory_id = $1", result.MemoryID))
	old := w.get(target)
	require.Equal(t, schema.StatusSuperseded, old.Status)
	require.Equal(t, added.ID, old.SupersededBy)
	require.Equal(t, 2, old.Version)
	for id, event := range map[uuid.UUID]schema.HistoryEvent{target: schema.EventModified, source: schema.EventNone,
		uuid.MustParse(added.ID): schema.EventCreated} {
		h := w.history(id)
		last := h[len(h)-1]
		require.Equal(t, event, last.Event)
		require.Equal(t, "operator:rita", last.ChangedBy)
		require.Equal(t, "looked at both", last.Reason)
		require.Equal(t, true, metadata(t, last)["reviewed"])
		require.Equal(t, item.ProposalID, metadata(t, last)["proposalId"])
		require.NotContains(t, string(last.Metadata), "milk")
	}
	require.Empty(t, w.reviews(pipeline.ReviewFilter{}))
	decided := w.reviews(pipeline.ReviewFilter{State: schema.ReviewsDecided})
	require.Len(t, decided, 1)
	require.Equal(t, schema.ProposalApplied, decided[0].State)
	require.Equal(t, proposals.ReasonDestructiveDisabled, decided[0].Outcome, "the reason for the review stays known")
	require.Equal(t, "operator:rita", decided[0].ReviewedBy)
	require.Equal(t, "looked at both", decided[0].ReviewReason)
	w.requireExactStats()
}

func TestAnApprovedDelete(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("critical: the gate is open")
	_, item := w.proposed("the gate was shut",
		idea{fact: fact("there is no gate any more"), action: schema.ActionDelete, target: target})
	require.Equal(t, proposals.ReasonPinnedTarget, item.Outcome)
	result := w.settle(item, schema.DecisionApprove)
	require.Equal(t, schema.ReviewResult{ProposalID: item.ProposalID, Status: schema.ReviewApplied,
		State: schema.ProposalApplied, MemoryID: target.String()}, result)
	m := w.get(target)
	require.NotNil(t, m.DeletedAt)
	h := w.history(target)
	require.Equal(t, schema.EventDeleted, h[len(h)-1].Event)
	require.Equal(t, "operator:rita", h[len(h)-1].ChangedBy)
	w.requireExactStats()
}

func TestTheSuccessorOfAPinnedMemoryIsPinned(t *testing.T) {
	t.Parallel()
	t.Run("a new one", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		target := w.memory("critical: deploy on Mondays")
		_, item := w.proposed("new rules",
			idea{fact: fact("deploy on Tuesdays"), action: schema.ActionUpdate, target: target})
		m := w.get(uuid.MustParse(w.settle(item, schema.DecisionApprove).MemoryID))
		require.True(t, m.Lifecycle.Pinned)
		require.InDelta(t, 1, m.Importance, 1e-9)
		require.Equal(t, schema.DeleteManualOnly, m.Lifecycle.DeletionPolicy)
		require.Nil(t, m.Lifecycle.DecayDueAt)
	})
	t.Run("one that exists already", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		target := w.memory("critical: deploy on Mondays")
		_, item := w.proposed("new rules",
			idea{fact: fact("Deploy on Tuesdays."), action: schema.ActionUpdate, target: target})
		w.explicit("deploy on Tuesdays")
		result := w.settle(item, schema.DecisionApprove)
		require.Equal(t, schema.ReviewApplied, result.Status)
		m := w.get(uuid.MustParse(result.MemoryID))
		require.Equal(t, "deploy on Tuesdays", m.Content)
		require.True(t, m.Lifecycle.Pinned)
		require.Equal(t, 2, m.Version)
		require.Equal(t, m.ID, w.get(target).SupersededBy)
		w.requireExactStats()
	})
	t.Run("a record in the words of its source", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		target := w.memory("critical: deploy on Mondays")
		source, item := w.proposed("deploy on Tuesdays",
			idea{fact: fact("Deploy on Tuesdays."), action: schema.ActionUpdate, target: target})
		result := w.settle(item, schema.DecisionApprove)
		require.NotEqual(t, source.String(), result.MemoryID)
		m := w.get(uuid.MustParse(result.MemoryID))
		require.Equal(t, schema.TypeSemantic, m.Type)
		require.True(t, m.Lifecycle.Pinned)
		require.False(t, w.get(source).Lifecycle.Pinned)
		require.Equal(t, m.ID, w.get(target).SupersededBy)
		w.requireExactStats()
	})
}

func TestARejectedProposalChangesNothingElse(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	source, item := w.proposed("about the sky",
		idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
	before := w.snapshot()
	result := w.settle(item, schema.DecisionReject)
	require.Equal(t, schema.ReviewRejected, result.Status)
	after := w.snapshot()
	for table := range before {
		if table != "proposals" && table != "memory_history" && table != "operations" {
			require.Equal(t, before[table], after[table], table)
		}
	}
	h := w.history(source)
	require.Equal(t, "operator:rita", h[len(h)-1].ChangedBy)
	require.Equal(t, "rejected", metadata(t, h[len(h)-1])["decision"])
	require.Equal(t, schema.ProposalRejected, w.review(item.ProposalID).State)

	// A later reviewer is told the first decision.
	second := w.settle(item, schema.DecisionApprove)
	require.Equal(t, schema.ReviewDecided, second.Status)
	require.Equal(t, schema.ProposalRejected, second.State)
	require.Equal(t, "rejected by operator:rita", second.Why)
}

func TestApprovalOfAStaleProposalIsNotApplied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world, source, target uuid.UUID)
		why    string
	}{
		"another version":  {func(w *world, _, target uuid.UUID) { w.touch(target) }, "has version 2, not 1"},
		"target forgotten": {func(w *world, _, target uuid.UUID) { w.forget(target) }, "no longer live"},
		"source forgotten": {func(w *world, source, _ uuid.UUID) { w.forget(source) }, "the source"},
		"target removed": {func(w *world, _, target uuid.UUID) {
			w.exec(`DELETE FROM memory_provenance WHERE memory_id = $1`, target)
			w.exec(`UPDATE memories SET id = gen_random_uuid() WHERE id = $1`, target)
		}, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := reviewWorld(t)
			target := w.memory("the sky is blue")
			source, item := w.proposed("about the sky",
				idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
			c.change(w, source, target)
			before := w.snapshot()
			result := w.settle(item, schema.DecisionApprove)
			require.Equal(t, schema.ReviewVersionConflict, result.Status)
			require.Equal(t, schema.ProposalBlocked, result.State)
			require.Contains(t, result.Why, c.why)
			after := w.snapshot()
			delete(before, "operations")
			delete(after, "operations")
			require.Equal(t, before, after)
			require.Equal(t, schema.ReviewRejected, w.settle(item, schema.DecisionReject).Status)
		})
	}
	t.Run("reviewed again", func(t *testing.T) {
		t.Parallel()
		w := reviewWorld(t)
		target := w.memory("the sky is blue")
		_, item := w.proposed("about the sky",
			idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
		w.touch(target)
		in := w.decision(item, schema.DecisionApprove)
		in.TargetVersion = w.review(item.ProposalID).TargetNow.Version
		result, err := w.DecideProposal(ctx, w.decisionKey(), in)
		require.NoError(t, err)
		require.Equal(t, schema.ReviewApplied, result.Status)
	})
}

func TestNoApprovalInAModeWithoutWrites(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	_, item := w.proposed("about the sky",
		idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
	for _, mode := range []schema.WriteMode{schema.ModeShadow, schema.ModeFrozen, ""} {
		in := w.decision(item, schema.DecisionApprove)
		in.Policy.Mode = mode
		result, err := w.DecideProposal(ctx, w.decisionKey(), in)
		require.NoError(t, err)
		require.Equal(t, schema.ReviewFrozen, result.Status, mode)
	}
	require.Equal(t, schema.StatusActive, w.get(target).Status)

	// The same for a proposal made in such a mode.
	w.policy.Mode = schema.ModeFrozen
	_, frozen := w.proposed("about the sea",
		idea{fact: fact("the sea is rather green"), action: schema.ActionUpdate, target: target})
	w.policy.Mode = schema.ModeControlled
	require.Equal(t, schema.ReviewFrozen, w.settle(frozen, schema.DecisionApprove).Status)
	require.Equal(t, schema.ReviewRejected, w.settle(frozen, schema.DecisionReject).Status)
	require.Equal(t, schema.ReviewApplied, w.settle(item, schema.DecisionApprove).Status)
}

func TestAnApprovedFactReplacesTheActiveOne(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (*world, uuid.UUID) {
		w := newWorld(t)
		_, r := w.source("first talk",
			idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
		w.write(r)
		return w, uuid.MustParse(w.outcomes(r)[0].MemoryID)
	}
	t.Run("an add", func(t *testing.T) {
		t.Parallel()
		w, holder := setup(t)
		_, item := w.proposed("second talk",
			idea{fact: lives("Alice lives in Rome", "Alice", "Rome"), action: schema.ActionAdd})
		require.Equal(t, "active_fact_exists", item.Outcome)
		require.Equal(t, holder.String(), item.MemoryID)
		w.touch(holder) // it was not the target: the current version is replaced
		result := w.settle(item, schema.DecisionApprove)
		require.Equal(t, schema.ReviewApplied, result.Status)
		require.Equal(t, []string{holder.String()}, result.Superseded)
		require.Contains(t, result.Why, holder.String())
		require.Equal(t, result.MemoryID, w.get(holder).SupersededBy)
		require.Equal(t, holder.String(), w.get(uuid.MustParse(result.MemoryID)).Supersedes)
		require.Equal(t, 1, w.count("memories", "functional AND live AND status = 'active'"))
		w.requireExactStats()
	})
	t.Run("an update of another", func(t *testing.T) {
		t.Parallel()
		w, holder := setup(t)
		other := w.memory("Alice was seen in Rome")
		_, item := w.proposed("second talk",
			idea{fact: lives("Alice dwells in Rome", "Alice", "Rome"), action: schema.ActionUpdate, target: other})
		result := w.settle(item, schema.DecisionApprove)
		require.ElementsMatch(t, []string{holder.String(), other.String()}, result.Superseded)
		for _, id := range []uuid.UUID{holder, other} {
			require.Equal(t, result.MemoryID, w.get(id).SupersededBy)
			require.Equal(t, 1, w.count("memory_links",
				"source_id = $1 AND target_id = $2 AND predicate = 'supersedes'", result.MemoryID, id))
		}
		w.requireExactStats()
	})
	t.Run("another memory has the content", func(t *testing.T) {
		t.Parallel()
		w, holder := setup(t)
		_, item := w.proposed("second talk",
			idea{fact: lives("Alice lives in Rome", "Alice", "Rome"), action: schema.ActionAdd})
		there := w.explicit("Alice lives in Rome")
		result := w.settle(item, schema.DecisionApprove)
		require.Equal(t, there.String(), result.MemoryID)
		require.Equal(t, there.String(), w.get(holder).SupersededBy)
	})
	t.Run("the claim is no longer active", func(t *testing.T) {
		t.Parallel()
		w, holder := setup(t)
		_, item := w.proposed("second talk",
			idea{fact: lives("Alice lives in Rome", "Alice", "Rome"), action: schema.ActionAdd})
		w.forget(holder)
		result := w.settle(item, schema.DecisionApprove)
		require.Equal(t, schema.ReviewApplied, result.Status)
		require.Empty(t, result.Superseded)
	})
}
