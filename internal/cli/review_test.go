package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/flow"
)

func (c *cli) reviews(args ...string) app.Page[schema.ReviewItem] {
	c.t.Helper()
	var p app.Page[schema.ReviewItem]
	c.run(append([]string{"review", "list", "--json"}, args...)...).is(app.ExitOK).json(&p)
	return p
}

func (c *cli) showReview(id string) memories.ShownReview {
	c.t.Helper()
	var r memories.ShownReview
	c.run("review", "show", id, "--json").is(app.ExitOK).json(&r)
	return r
}

func (c *cli) decision(code int, verb string, args ...string) []memories.Reviewed {
	c.t.Helper()
	var p app.Page[memories.Reviewed]
	c.run(append([]string{"review", verb, "--json", "--reason", "she told me herself", "--by", "operator:rita"},
		args...)...).is(code).json(&p)
	return p.Items
}

func (c *cli) contradictions(args ...string) app.Page[schema.Contradiction] {
	c.t.Helper()
	var p app.Page[schema.Contradiction]
	c.run(append([]string{"contradictions", "--json"}, args...)...).is(app.ExitOK).json(&p)
	return p
}

// preference ingests a preference and then another one, so that the change waits for review.
func (c *cli) preference(who string) schema.ReviewItem {
	c.t.Helper()
	c.remember(who + " prefers Go for backend services.")
	c.remember(who+" prefers Rust for backend services.", "--ref", "event=chat/17", "--no-update-delete")
	item := c.reviews("--limit", "1").Items[0]
	require.Equal(c.t, who+" prefers Rust for backend services.", item.Fact)
	// The review of the batch may not have started yet.
	require.Eventually(c.t, func() bool { return !c.showReview(item.ProposalID).ExpiresAt.IsZero() }, time.Minute,
		50*time.Millisecond)
	return item
}

func TestReviewCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	require.Empty(t, c.reviews().Items)
	require.Empty(t, c.contradictions().Items)
	before := time.Now()
	item := c.preference("Dana")
	id := item.ProposalID

	// Both memories, the reason, and the expiry.
	shown := c.showReview(id)
	require.Equal(t, []any{schema.ProposalBlocked, schema.ActionUpdate, 1},
		[]any{shown.State, shown.Action, shown.TargetVersion})
	require.Equal(t, "Dana prefers Go for backend services.", shown.TargetNow.Content)
	require.Equal(t, item.TargetID, shown.TargetNow.ID)
	require.NotEmpty(t, shown.Reason)
	require.Equal(t, []schema.Ref{{Kind: "event", Ref: "chat/17"}}, shown.Evidence)
	require.WithinRange(t, shown.ExpiresAt, before.Add(flow.ReviewWindow), time.Now().Add(flow.ReviewWindow))
	text := c.run("review", "show", id).is(app.ExitOK).out
	for _, want := range []string{"Dana prefers Go", "Dana prefers Rust", "version 1, active", item.TargetID,
		shown.Reason, "event=chat/17", app.When(shown.ExpiresAt),
		"http://ui.test/namespaces/", "held back by"} {
		require.Contains(t, text, want)
	}
	text = c.run("review", "list").is(app.ExitOK).out
	require.Contains(t, text, "Dana prefers Go for backend services. → Dana prefers Rust for backend services.")
	require.Contains(t, text, "waiting")
	require.Len(t, c.list().Items, 2, "nothing is changed")

	// The reviewer saw an old version.
	c.run("modify", item.TargetID, "--who", "Dana", "--reason", "a test").is(app.ExitOK)
	stale := c.decision(app.ExitConflict, "approve", id)
	require.Equal(t, []any{schema.ReviewVersionConflict, 2}, []any{stale[0].Status, stale[0].CurrentVersion})
	require.Contains(t, stale[0].Why, "version 2, not 1")
	require.Contains(t, c.run("review", "approve", id, "--reason", "r").is(app.ExitConflict).err, "version_conflict")
	require.Contains(t, c.run("review", "show", id).is(app.ExitOK).out, "version 2, active")
	require.Equal(t, schema.ReviewVersionConflict,
		c.decision(app.ExitConflict, "approve", id, "--target-version", "7")[0].Status)
	require.Len(t, c.reviews().Items, 1, "it still waits")

	r := c.decision(app.ExitOK, "approve", id, "--target-version", "2", "--operation-id", "op-1")[0]
	require.Equal(t, []any{schema.ReviewApplied, schema.ProposalApplied, []string{item.TargetID}},
		[]any{r.Status, r.State, r.Superseded})
	require.Equal(t, api.ReviewWorkflowID(c.cfg.Principal.Tenant, item.BatchID), r.WorkflowID)
	require.Equal(t, []string{"Dana prefers Rust for backend services."}, contents(c.list()))
	for _, found := range c.recall("What does Dana prefer for backend services?").Results {
		require.NotEqual(t, item.TargetID, found.ID)
	}
	require.Equal(t, r.MemoryID, c.get(item.TargetID).SupersededBy)
	for _, memory := range []string{r.MemoryID, item.TargetID} {
		var steps app.Page[schema.HistoryEntry]
		c.run("history", memory, "--json").is(app.ExitOK).json(&steps)
		last := steps.Items[len(steps.Items)-1]
		require.Equal(t, []string{"operator:rita", "she told me herself"}, []string{last.ChangedBy, last.Reason})
	}
	require.Contains(t, c.run("history", item.TargetID).is(app.ExitOK).out, "operator:rita")

	// A second decision is refused unless it is the same operation.
	again := c.decision(app.ExitOK, "approve", id, "--target-version", "2", "--operation-id", "op-1")[0]
	require.Equal(t, r, again)
	for _, verb := range []string{"approve", "reject"} {
		again = c.decision(app.ExitConflict, verb, id)[0]
		require.Equal(t, schema.ReviewDecided, again.Status)
		require.Equal(t, "applied by operator:rita", again.Why)
	}
	require.Empty(t, c.reviews().Items)
	decided := c.reviews("--state", "decided").Items
	require.Len(t, decided, 1)
	require.Equal(t, []string{"operator:rita", "she told me herself"},
		[]string{decided[0].ReviewedBy, decided[0].ReviewReason})
	require.Contains(t, c.run("review", "show", id).is(app.ExitOK).out, "operator:rita")
}

func TestReviewsOfSeveralProposals(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	var ids []string
	for _, who := range []string{"Alice", "Dana", "Karl", "Maria", "Tom"} {
		ids = append([]string{c.preference(who).ProposalID}, ids...)
	}
	paged := func(args ...string) (out []string) {
		for before := ""; ; {
			p := c.reviews(append(args, "--limit", "2", "--before", before)...)
			for _, item := range p.Items {
				out = append(out, item.ProposalID)
			}
			if before = p.Next; before == "" {
				return out
			}
		}
	}
	require.Equal(t, ids, paged())
	require.Contains(t, c.run("review", "list", "--limit", "2").is(app.ExitOK).out, "more: --before "+ids[1])

	// Several decisions, each with its own result.
	rows := c.decision(app.ExitPartial, "reject", ids[0], uuid.NewString(), ids[1], ids[0])
	var status []schema.ReviewStatus
	for _, r := range rows {
		status = append(status, r.Status)
	}
	require.Equal(t, []schema.ReviewStatus{schema.ReviewRejected, schema.ReviewNotFound, schema.ReviewRejected,
		schema.ReviewDecided}, status)
	o := c.run("review", "approve", ids[2], ids[3], "--by", "human:dana").is(app.ExitOK)
	require.Equal(t, "approved by human:dana", c.showReview(ids[2]).ReviewReason,
		"a decision needs no reason on the command line")
	require.Equal(t, 2, strings.Count(o.out, "applied"))
	require.Contains(t, o.out, "supersedes ")
	require.Equal(t, ids[4:], paged())
	require.Equal(t, ids[:4], paged("--state", "decided"))
	require.Equal(t, ids, paged("--state", "all"))
	stand := strings.Join(contents(c.list()), "\n")
	require.Equal(t, 5, strings.Count(stand, "prefers Rust"))
	require.Equal(t, 3, strings.Count(stand, "prefers Go"))
	for _, who := range []string{"Alice", "Maria", "Tom"} {
		require.Contains(t, stand, who+" prefers Go", "rejected, or not decided")
	}
	require.Contains(t, c.run("review", "list", "--state", "decided").is(app.ExitOK).out, "rejected")

	// Proposals of others, and unknown ones, are not found.
	mine := c.cfg.Principal
	for _, stranger := range []schema.Principal{{Tenant: "other-" + uuid.NewString(), Agent: mine.Agent},
		{Tenant: mine.Tenant, Agent: "stranger"}} {
		c.cfg.Principal = stranger
		require.Empty(t, c.reviews("--state", "all").Items)
		require.Contains(t, c.run("review", "show", ids[4], "--json").is(app.ExitNotFound).problem().Message,
			"not found")
		require.Equal(t, schema.ReviewNotFound, c.decision(app.ExitNotFound, "approve", ids[4])[0].Status)
		require.Equal(t, schema.ReviewNotFound, c.decision(app.ExitNotFound, "reject", ids[4])[0].Status)
	}
	c.cfg.Principal = mine
	require.Equal(t, schema.ProposalBlocked, c.showReview(ids[4]).State)
	c.run("review", "show", uuid.NewString()).is(app.ExitNotFound)
	require.Contains(t, c.run("review", "approve", uuid.NewString(), "--reason", "r").is(app.ExitNotFound).out,
		"not_found")

	for _, test := range []struct {
		field string
		args  []string
	}{
		{"id", []string{"show", "x"}}, {"state", []string{"list", "--state", "odd"}},
		{"limit", []string{"list", "--limit", "0"}}, {"limit", []string{"list", "--limit", "501"}},
		{"before", []string{"list", "--before", "x"}}, {"reason", []string{"reject", ids[4], "--reason", " "}},
		{"proposal_id", []string{"approve", ids[4], "x", "--reason", "r"}},
		{"target_version", []string{"approve", ids[4], "--reason", "r", "--target-version", "-1"}},
		{"target-version", []string{"approve", ids[4], uuid.NewString(), "--reason", "r", "--target-version", "2"}},
	} {
		require.Equal(t, test.field, c.run(append([]string{"review", "--json"},
			test.args...)...).is(app.ExitUsage).problem().Fields[0].Field, test.args)
	}
	require.Equal(t, schema.ProposalBlocked, c.showReview(ids[4]).State, "nothing is decided when one of them is bad")
	c.run("review").is(app.ExitUsage)
	c.run("review", "approve").is(app.ExitUsage)
	c.run("review", "reject", ids[4], "--target-version", "1", "--reason", "r").is(app.ExitUsage)

	// Without a worker, the command says how to proceed.
	run := api.ReviewWorkflowID(mine.Tenant, c.showReview(ids[4]).BatchID)
	require.NoError(t, harness.Temporal(t).TerminateWorkflow(t.Context(), run, "", "a careless operator"))
	c.cfg.TaskQueue = "nobody-" + uuid.NewString()
	require.Contains(t, c.run("review", "reject", ids[4], "--reason", "r", "--timeout",
		"2s").is(app.ExitUnavailable).err, "deciding again is harmless")
	require.NoError(t, harness.Temporal(t).TerminateWorkflow(t.Context(), run, "", "no one takes it"))
}

// adding decides that every fact is new.
type adding struct{ inference.Decider }

func (adding) Decide(context.Context, memory.Fact, []memory.Neighbor) (memory.Proposal, inference.Usage, error) {
	return memory.Proposal{Action: schema.ActionAdd, Confidence: 0.9, Reason: "nothing like it"}, inference.Usage{}, nil
}

func TestContradictionsCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, func(d *workflows.Dependencies) { d.Brain.Decider = adding{d.Brain.Decider} }))
	golang := c.putFact("go")
	r := c.revise(app.ExitOK, "contest", golang, "--object", "python", "--evidence", "human=Mia", "--reason",
		"she said both")
	python := r.Created[0]
	c.remember("I live in Lisbon.", "--source-kind", "user_input", "--speaker", "Dana")
	c.remember("I live in Porto.", "--source-kind", "user_input", "--speaker", "Dana")

	found := c.contradictions().Items
	require.Len(t, found, 2)
	pair, proposal := found[0], found[1]
	require.Equal(t, []string{schema.ContradictionOfMemories, python, golang, "she said both"},
		[]string{pair.Kind, pair.Left.ID, pair.Right.ID, pair.Reason})
	require.Equal(t, []any{schema.StatusContested, schema.StatusContested, 1, 2},
		[]any{pair.Left.Status, pair.Right.Status, pair.Left.Version, pair.Right.Version})
	require.Contains(t, pair.Left.Content, "python")
	require.Contains(t, pair.Right.Content, "go")
	require.WithinDuration(t, time.Now(), pair.Since, time.Minute)
	require.Equal(t, schema.ContradictionOfProposal, proposal.Kind)
	require.Equal(t, "Dana lives in Porto.", proposal.Left.Content)
	require.Equal(t, []any{"Dana lives in Lisbon.", 1, schema.StatusActive},
		[]any{proposal.Right.Content, proposal.Right.Version, proposal.Right.Status})
	require.NotEmpty(t, proposal.Reason)
	require.Equal(t, proposal.ProposalID, c.reviews("--contradictions").Items[0].ProposalID)
	shown := c.showReview(proposal.ProposalID)
	require.Equal(t, &proposal.Right, shown.Stands)
	require.Contains(t, c.run("review", "show", proposal.ProposalID).is(app.ExitOK).out,
		"memory "+proposal.Right.ID+" has the claim, version 1, active")
	text := c.run("contradictions").is(app.ExitOK).out
	for _, want := range []string{golang, python, "python", "she said both", "contested", proposal.ProposalID,
		"Dana lives in Porto.", "Dana lives in Lisbon.", app.When(pair.Since)} {
		require.Contains(t, text, want)
	}

	first := c.contradictions("--limit", "1")
	require.Equal(t, []schema.Contradiction{pair}, first.Items)
	second := c.contradictions("--limit", "1", "--before", first.Next)
	require.Equal(t, []schema.Contradiction{proposal}, second.Items)
	require.Equal(t, app.Page[schema.Contradiction]{Items: []schema.Contradiction{}},
		c.contradictions("--limit", "1", "--before", second.Next))
	require.Contains(t, c.run("contradictions", "--limit", "1").is(app.ExitOK).out, "more: --before "+first.Next)
	require.Empty(t, c.contradictions("--agent", "stranger").Items)
	require.Equal(t, "before", c.run("contradictions", "--before", "x",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "limit", c.run("contradictions", "--limit", "0",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)

	// A resolved contradiction is no longer listed.
	c.revise(app.ExitOK, "resolve", golang, python, "--winner", python, "--evidence", "human=Mia", "--reason",
		"she decided")
	require.Equal(t, []schema.Contradiction{proposal}, c.contradictions().Items)
	c.decision(app.ExitOK, "approve", proposal.ProposalID)
	require.Empty(t, c.contradictions().Items)
	require.Equal(t, []string{"Dana lives in Porto.", "user prefers language python"},
		contents(c.list("--type", "semantic")))
}
