package store_test

import (
	"fmt"
	"sync"
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

func TestConcurrentReviewersDecideOnce(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	_, item := w.proposed("about the sky",
		idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
	results := make([]schema.ReviewResult, 8)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range results {
		in := w.decision(item, []schema.Decision{schema.DecisionApprove, schema.DecisionReject}[i%2])
		in.By = fmt.Sprintf("operator:%d", i)
		wg.Go(func() { results[i], errs[i] = w.DecideProposal(ctx, w.decisionKey(), in) })
	}
	wg.Wait()
	first, decided := -1, 0
	for i, r := range results {
		require.NoError(t, errs[i])
		switch r.Status {
		case schema.ReviewApplied, schema.ReviewRejected:
			require.Equal(t, -1, first, "two decided")
			first = i
		case schema.ReviewDecided:
			decided++
		}
	}
	require.Equal(t, 7, decided)
	for i, r := range results {
		if i != first {
			require.Equal(t, fmt.Sprintf("%s by operator:%d", r.State, first), r.Why)
		}
	}
	require.Equal(t, 1, w.count("memory_history", "metadata->>'reviewed' = 'true' AND event = 'none'"))
}

// Reviewers of one claim and the pipeline run concurrently: one fact is active at the end, and no call fails.
func TestConcurrentApprovalsOfOneClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.source("first talk",
		idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
	w.write(r)
	var items []schema.ReviewItem
	for i := range 8 {
		_, item := w.proposed(fmt.Sprintf("talk %d", i),
			idea{fact: lives(fmt.Sprintf("Alice lives in town %d", i), "Alice", fmt.Sprint("town ", i)),
				action: schema.ActionAdd})
		items = append(items, item)
	}
	errs := make([]error, len(items))
	results := make([]schema.ReviewResult, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() {
			results[i], errs[i] = w.DecideProposal(ctx, w.decisionKey(), w.decision(item, schema.DecisionApprove))
		})
	}
	wg.Wait()
	for i := range items {
		require.NoError(t, errs[i])
		require.Equal(t, schema.ReviewApplied, results[i].Status)
		require.Len(t, results[i].Superseded, 1)
	}
	require.Equal(t, 1, w.count("memories", "functional AND live AND status = 'active'"))
	w.requireExactStats()
}

func TestADecisionIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	_, item := w.proposed("about the sky",
		idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
	op := w.decisionKey()
	first, err := w.DecideProposal(ctx, op, w.decision(item, schema.DecisionApprove))
	require.NoError(t, err)
	before := w.snapshot()
	again, err := w.DecideProposal(ctx, op, pipeline.DecideInput{Now: w.now.Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, before, w.snapshot())
}

func TestADecisionIsAtomic(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	_, r := w.source("first talk",
		idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
	w.write(r)
	other := w.memory("critical: Alice was seen in Rome, XyzzyCanary")
	_, item := w.proposed("second talk",
		idea{fact: lives("Alice dwells in Rome, XyzzyCanary", "Alice", "Rome"), action: schema.ActionUpdate,
			target: other})
	for _, table := range []string{"memories", "memory_versions", "memory_links", "memory_embeddings", "entity_claims",
		"memory_history", "index_outbox", "proposals",
		"operations", "lexeme_stats", "corpus_stats"} {
		for _, decision := range []schema.Decision{schema.DecisionApprove, schema.DecisionReject} {
			if decision == schema.DecisionReject && table != "memory_history" && table != "proposals" &&
				table != "operations" {
				continue
			}
			in := w.decision(item, decision)
			in.Embedding = &pg.Embedding{Model: hash, Vector: embed(t, "x")}
			before := w.snapshot()
			w.breaking(table, func() {
				_, err := w.DecideProposal(ctx, w.decisionKey(), in)
				require.Error(t, err, table)
				require.NotContains(t, err.Error(), "XyzzyCanary", "errors never quote content")
			})
			require.Equal(t, before, w.snapshot(), table)
		}
	}
	require.Equal(t, schema.ReviewApplied, w.settle(item, schema.DecisionApprove).Status)
}

func TestReviewsAreVisibleToTheirAgent(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	_, item := w.proposed("about the sky",
		idea{fact: fact("the sky is not blue"), action: schema.ActionUpdate, target: target})
	require.True(t, item.ContradictionRisk)
	stranger := func(p schema.Principal) {
		t.Helper()
		for _, state := range []schema.ReviewFilter{schema.ReviewsWaiting, schema.ReviewsAll} {
			items, err := w.ListReviews(ctx, p, pipeline.ReviewFilter{State: state}, pg.Page{})
			require.NoError(t, err)
			require.Empty(t, items)
		}
		_, err := w.GetReview(ctx, p, uuid.MustParse(item.ProposalID))
		require.ErrorIs(t, err, pg.ErrNotFound)
		found, err := w.Contradictions(ctx, p, pg.Page{})
		require.NoError(t, err)
		require.Empty(t, found)
		in := w.decision(item, schema.DecisionApprove)
		in.Principal = p
		op := w.decisionKey()
		op.Tenant = p.Tenant
		result, err := w.DecideProposal(ctx, op, in)
		require.NoError(t, err)
		require.Equal(t, schema.ReviewNotFound, result.Status)
		require.Empty(t, result.Why)
	}
	stranger(schema.Principal{Tenant: "t", Agent: "b"})
	stranger(schema.Principal{Tenant: "t2", Agent: "a"})
	result, err := w.DecideProposal(ctx, w.decisionKey(), func() pipeline.DecideInput {
		in := w.decision(item, schema.DecisionApprove)
		in.BatchID = uuid.New()
		return in
	}())
	require.NoError(t, err)
	require.Equal(t, schema.ReviewNotFound, result.Status, "a proposal of another batch")

	// A shared batch is visible to everyone in the project, unless a private target would be shown.
	w.p.Project, w.vis = "p", schema.VisibilityShared
	_, shared := w.proposed("about the sea",
		idea{fact: fact("the sea is not calm"), action: schema.ActionUpdate, target: target})
	other := schema.Principal{Tenant: "t", Agent: "b", Project: "p"}
	_, err = w.GetReview(ctx, other, uuid.MustParse(shared.ProposalID))
	require.ErrorIs(t, err, pg.ErrNotFound)
	open := w.memory("the sea is calm")
	_, shared = w.proposed("about the sea again",
		idea{fact: fact("the sea is not calm at all"), action: schema.ActionUpdate, target: open})
	got, err := w.GetReview(ctx, other, uuid.MustParse(shared.ProposalID))
	require.NoError(t, err)
	require.Equal(t, shared, got)
}

func TestReviewsInPages(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	var want []string
	target := w.memory("the sky is blue")
	for i := range 5 {
		_, item := w.proposed(fmt.Sprintf("talk %d", i),
			idea{fact: fact(fmt.Sprintf("the sky is %d", i)), action: schema.ActionUpdate, target: target})
		want = append([]string{item.ProposalID}, want...)
	}
	require.Equal(t, schema.ReviewRejected, w.settle(w.review(want[1]), schema.DecisionReject).Status)
	collect := func(f pipeline.ReviewFilter) (out []string) {
		for before := ""; ; {
			items, err := w.ListReviews(ctx, w.p, f, pg.Page{Before: before, Limit: 2})
			require.NoError(t, err)
			if len(items) == 0 {
				return out
			}
			for _, item := range items {
				out = append(out, item.ProposalID)
			}
			before = out[len(out)-1]
		}
	}
	require.Equal(t, []string{want[0], want[2], want[3], want[4]}, collect(pipeline.ReviewFilter{}))
	require.Equal(t, want[1:2], collect(pipeline.ReviewFilter{State: schema.ReviewsDecided}))
	require.Equal(t, want, collect(pipeline.ReviewFilter{State: schema.ReviewsAll}),
		"all were decided at the same time, so that the id orders them")
	require.Empty(t, collect(pipeline.ReviewFilter{Contradictions: true}))
	var invalid *schema.ValidationError
	// Neither a malformed cursor nor one that names no proposal looks like the end of the list.
	for _, cursor := range []string{"x", uuid.NewString()} {
		_, err := w.ListReviews(ctx, w.p, pipeline.ReviewFilter{}, pg.Page{Before: cursor})
		require.ErrorAs(t, err, &invalid, cursor)
	}
}

func TestUndecidedProposalsExpire(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	ack, r := w.stage(say("about the sky", "about the sea")...)
	for i, id := range ack.MemoryIDs {
		w.decided(r, uuid.MustParse(id),
			idea{fact: fact(fmt.Sprintf("the sky is %d", i)), action: schema.ActionUpdate, target: target})
	}
	require.Equal(t, schema.WriteCounts{Blocked: 2}, w.write(r))
	n, err := w.ToReview(ctx, r)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = w.ToReview(ctx, schema.Range{Tenant: "t", BatchID: r.BatchID, From: 1, To: 2})
	require.NoError(t, err)
	require.Equal(t, 1, n)

	st, err := w.OpenReview(ctx, "t", r.BatchID, time.Hour, w.now)
	require.NoError(t, err)
	next := w.now.Add(time.Hour)
	require.True(t, st.NextAt.Equal(next))
	require.Equal(t, pipeline.ReviewState{Agent: "a", Open: 2, NextAt: st.NextAt}, st)
	again, err := w.OpenReview(ctx, "t", r.BatchID, 2*time.Hour, w.now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, again.NextAt.Equal(next), "reading it again does not extend the time")
	items := w.reviews(pipeline.ReviewFilter{})
	require.True(t, items[0].ExpiresAt.Equal(next))
	require.Equal(t, schema.ReviewRejected, w.settle(items[0], schema.DecisionReject).Status)

	expired, err := w.expire(r, next.Add(-time.Second))
	require.NoError(t, err)
	require.Zero(t, expired)
	for want := 1; want >= 0; want-- {
		expired, err = w.expire(r, next)
		require.NoError(t, err)
		require.Equal(t, want, expired)
	}
	h := w.history(uuid.MustParse(items[1].SourceID))
	require.Equal(t, "review-policy", h[len(h)-1].ChangedBy)
	require.Equal(t, "no one decided in time", h[len(h)-1].Reason)
	result := w.settle(items[1], schema.DecisionApprove)
	require.Equal(t, schema.ReviewExpired, result.Status)
	require.Equal(t, schema.ProposalExpired, result.State)
	st, err = w.OpenReview(ctx, "t", r.BatchID, time.Hour, next)
	require.NoError(t, err)
	require.Equal(t, pipeline.ReviewState{Agent: "a", Rejected: 1, Expired: 1}, st)
	st, err = w.OpenReview(ctx, "t", uuid.New(), time.Hour, next)
	require.NoError(t, err)
	require.Zero(t, st, "of a batch that does not exist")
	require.Equal(t, schema.StatusActive, w.get(target).Status)
}

func TestContradictionsShowBothSides(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	contest := func(from, to uuid.UUID, reason string) {
		w.exec(`UPDATE memories SET status = 'contested' WHERE id IN ($1, $2)`, from, to)
		w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, reason, created_at)
			VALUES ('t', $1, 'contradicts', $2, $3, $4)`, from, to, reason, w.now)
	}
	a, b, c, d := w.memory("tabs are better"), w.memory("spaces are better"), w.memory("the earth is "+
		"flat"), w.memory("the earth is round")
	contest(b, a, "taste")
	contest(a, b, "taste")
	contest(c, d, "proof")
	target := w.memory("the flag is enabled in production")
	_, item := w.proposed("about the flag",
		idea{fact: fact("the flag is disabled in production"), action: schema.ActionUpdate, target: target})
	_, r := w.source("where", idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
	w.write(r)
	_, claim := w.proposed("where now",
		idea{fact: lives("Alice lives in Rome", "Alice", "Rome"), action: schema.ActionAdd})

	var out []schema.Contradiction
	for before := ""; ; {
		page, err := w.Contradictions(ctx, w.p, pg.Page{Before: before, Limit: 1})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		require.Len(t, page, 1)
		out = append(out, page[0])
		before = page[0].Cursor
	}
	whole, err := w.Contradictions(ctx, w.p, pg.Page{})
	require.NoError(t, err)
	require.Equal(t, whole, out)
	require.Len(t, out, 4)
	sides := func(c schema.Contradiction) []string { return []string{c.Kind, c.Left.Content, c.Right.Content} }
	require.Equal(t, []string{"memories", "the earth is round", "the earth is flat"}, sides(out[0]))
	require.Equal(t, "proof", out[0].Reason)
	require.Equal(t, d.String(), out[0].Left.ID)
	require.Equal(t, schema.StatusContested, out[0].Right.Status)
	require.Equal(t, []string{"memories", "spaces are better", "tabs are better"}, sides(out[1]),
		"listed once, although each names the other")
	require.Equal(t, []string{"proposal", "Alice lives in Rome", "Alice lives in Paris"}, sides(out[2]))
	require.Equal(t, claim.ProposalID, out[2].ProposalID)
	require.Equal(t, []string{"proposal", "the flag is disabled in production", "the flag is enabled in production"},
		sides(out[3]))
	require.Equal(t, item.ProposalID, out[3].ProposalID)
	require.Equal(t, target.String(), out[3].Right.ID)
	require.Len(t, w.reviews(pipeline.ReviewFilter{Contradictions: true}), 2)

	// A resolved or forgotten contradiction is not listed.
	w.exec(`UPDATE memories SET status = 'active' WHERE id IN ($1, $2)`, a, b)
	w.forget(c)
	w.settle(item, schema.DecisionReject)
	out, err = w.Contradictions(ctx, w.p, pg.Page{})
	require.NoError(t, err)
	require.Len(t, out, 1)
	var invalid *schema.ValidationError
	for _, cursor := range []string{"x", "a+b", "+", uuid.NewString(),
		uuid.NewString() + "+" + uuid.NewString() + "+" + uuid.NewString()} {
		_, err = w.Contradictions(ctx, w.p, pg.Page{Before: cursor})
		require.ErrorAs(t, err, &invalid, cursor)
	}
}
