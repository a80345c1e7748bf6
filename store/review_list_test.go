package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

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
