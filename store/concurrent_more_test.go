package store_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/sweeping"
	"github.com/mneme/mneme/store/tidying"
)

// changes makes some proposals certain changes, which also affect another memory that the decision was offered.
func (c *caller) changes(d *pipeline.Decided) error {
	switch d.Proposal.Action {
	case schema.ActionUpdate:
		d.Proposal.Change = one(c, []memory.Change{"", memory.ChangeSupersede, memory.ChangeContest})
	case schema.ActionDelete:
		d.Proposal.Change = one(c, []memory.Change{"", memory.ChangeRetract})
		d.Fact.Retracts = d.Proposal.Change != ""
	default:
		return nil
	}
	also, err := c.pickLive()
	if err != nil || d.Proposal.Change == "" || also.ID == d.Proposal.TargetID || also.ID == d.CandidateID.String() {
		return err
	}
	d.Offered = append(d.Offered, memory.Neighbor{ID: also.ID, Version: also.Version, Content: also.Content, Score: 0.5})
	d.Proposal.Also = []string{also.ID}
	return nil
}

// expires ends the proposals of a batch that were not reviewed.
func (c *caller) expires() error {
	waiting, err := c.ListReviews(ctx, c.p, pipeline.ReviewFilter{}, pg.Page{Limit: 5})
	if err != nil || len(waiting) == 0 {
		return err
	}
	batch := uuid.MustParse(one(c, waiting).BatchID)
	if _, err := c.OpenReview(ctx, c.p.Tenant, batch, time.Second, c.tick()); err != nil {
		return err
	}
	in := pipeline.ExpireInput{Tenant: c.p.Tenant, BatchID: batch, Before: c.tick().Add(time.Hour), Policy: c.policy,
		Now: c.tick()}
	expire := func() (any, error) {
		out, err := c.ExpireProposals(ctx, in)
		return out.Ended, err
	}
	if _, err := expire(); err != nil {
		return err
	}
	return nil
}

// merges unites two facts of the caller's own.
func (c *caller) merges() error {
	scope := tidying.Scope{Tenant: c.p.Tenant, Agent: c.p.Agent, Project: c.p.Project}
	if c.chance(50) {
		scope.Agent = ""
	}
	if c.chance(30) {
		if _, err := c.FindDuplicates(ctx, scope, tidying.Place{}, c.tick().AddDate(1, 0, 0), 50, c.tick()); err != nil {
			return fmt.Errorf("find: %w", err)
		}
	}
	found, err := c.SameAs(ctx, scope, c.pick(8))
	if err != nil {
		return err
	}
	for i := range found {
		for _, other := range found[i+1:] {
			if found[i].Type != other.Type || found[i].Type != schema.TypeSemantic {
				continue
			}
			in := tidying.MergeInput{Writes: tidying.Writes{Key: uuid.NewString(), WorkflowID: "wf", Evidence: "e",
				Now: c.tick()}, Scope: scope, Records: []tidying.Same{found[i], other}, Policy: c.policy,
				Plan: duplicates.Merge{Keep: found[i].ID, Away: []string{other.ID}, Kind: duplicates.Restated,
					Confidence: max(found[i].Confidence, other.Confidence), Tags: found[i].Tags}}
			_, err := carry(c, "merge", func() (schema.ReviseResult, error) { return c.Merge(ctx, in) })
			return err
		}
	}
	return nil
}

// decays removes the two memories that fade first.
func (c *caller) decays() error {
	_, err := c.DecayBatch(ctx, sweeping.DecayInput{Tenant: c.p.Tenant, Run: uuid.NewString(),
		Until: c.tick().AddDate(10, 0, 0), Limit: 2, Now: c.tick()})
	return err
}

// purges removes a few tombstones, long after their window.
func (c *caller) purges() error {
	for _, step := range []schema.PurgeStep{lifecycle.PurgeExpire, lifecycle.PurgeGraphLinks, lifecycle.PurgeEmbeddings,
		lifecycle.PurgeTombstones} {
		for more := true; more; {
			out, err := c.Purge(ctx, sweeping.PurgeInput{Tenant: c.p.Tenant, Run: "run", Step: step, Limit: 2,
				At: c.tick().AddDate(1, 0, 0), Now: c.tick()})
			if err != nil {
				return fmt.Errorf("%s: %w", step, err)
			}
			more = out.More
		}
	}
	return nil
}

// feedsBack says how useful a few memories were.
func (c *caller) feedsBack() error {
	ids, retrieval := c.pick(3), uuid.New()
	if err := c.TrackRetrieval(ctx, search.Retrieval{ID: retrieval, Principal: c.p,
		MemoryIDs: ids}, c.tick()); err != nil {
		return err
	}
	in := pipeline.FeedbackInput{Operation: c.operation(), Policy: c.policy, Now: c.tick(),
		Request: schema.FeedbackRequest{Operation: c.asks("used it"), RetrievalID: retrieval.String(),
			Items: []schema.FeedbackItem{{MemoryID: ids[0].String(), Verdict: one(c, []schema.Verdict{"succeeded",
				"failed", "unused"})}}, AllOthersUnused: true}}
	_, err := carry(c, "feedback", func() (schema.FeedbackResult, error) { return c.Feedback(ctx, in) })
	return err
}

// requireRoundTrip restores an export of everything into another tenant and requires that nothing is lost.
func (a *arena) requireRoundTrip() {
	a.t.Helper()
	w := *a.world
	w.p = schema.Principal{Tenant: a.agents[0].Tenant}
	lines, want := w.export(w.whole()), w.dump(w.p.Tenant)
	got := w.restore("restored", lines, 7)
	require.Empty(a.t, got.Conflicts)
	require.Zero(a.t, got.Relations, "relations without an end")
	testkit.CheckInvariants(a.t, a.owner)
	restored := w.dump("restored")
	for _, unordered := range []string{"lexeme_stats"} { // words of erased texts are not restored
		delete(want, unordered)
		delete(restored, unordered)
	}
	require.Equal(a.t, want, restored)
}
