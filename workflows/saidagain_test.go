package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

// mindful is a decider that detects a certain change of preference from Go to Python.
type mindful struct{ inference.Decider }

func (d mindful) Decide(ctx context.Context, fact memory.Fact,
	neighbors []memory.Neighbor) (memory.Proposal, inference.Usage, error) {
	for _, n := range neighbors {
		if strings.Contains(fact.Content, "Go now") && strings.Contains(n.Content, "Python") {
			return memory.Proposal{Action: schema.ActionUpdate, TargetID: n.ID, Confidence: 0.9,
				Reason: "another preference"}, inference.Usage{}, nil
		}
	}
	return d.Decider.Decide(ctx, fact, neighbors)
}

// spoken ingests Maya's statement in a session, and returns the memory of its fact.
func spoken(t *testing.T, h *harness.Harness, p schema.Principal, session, text string) (string, api.IngestResult) {
	t.Helper()
	started, result := h.Ingest(t, schema.IngestRequest{Principal: p,
		Candidates: []schema.Candidate{{Content: text, Speaker: "Maya", Session: session,
			SourceKind: schema.SourceUserInput}}})
	require.Zero(t, result.Dead)
	return started.Ack.MemoryIDs[0], result
}

// A statement that is made three times is one fact with three sources. After the fact is superseded, none of its
// sources is shown as current.
func TestSupersededFactMarksAllItsSources(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain.Decider = mindful{d.Brain.Decider} })
	o := onlooker{t, h, testkit.Principal()}
	ctx := context.Background()
	sources := map[string]bool{}
	for session, text := range map[string]string{"s1": "I prefer Python.", "s2": "I prefer Python!",
		"s3": "I really prefer Python."} {
		id, _ := spoken(t, h, o.p, session, text)
		sources[id] = true
	}
	require.Len(t, sources, 2, "the same words are one live memory, similar words are another")
	records := o.live(schema.TypeSemantic)
	require.Len(t, records, 1)
	var drawn []string
	for _, r := range o.get(records[0]).Relations {
		require.Equal(t, "derived_from", r.Predicate)
		drawn = append(drawn, r.TargetID)
	}
	require.Len(t, drawn, 2)

	req := schema.RecallRequest{Query: "Does Maya prefer Python?", Limit: 10}
	before := o.recall(req).Results
	require.Len(t, before, 1, "stored once for all speakers: %v", before)
	require.True(t, before[0].ID == records[0] || sources[before[0].ID], "the fact or its source")

	fourth, result := spoken(t, h, o.p, "s4", "I prefer Go now.")
	reviews, err := h.Store.ListReviews(ctx, o.p, pipeline.ReviewFilter{}, pg.Page{})
	require.NoError(t, err)
	for _, item := range reviews {
		require.Equal(t, schema.ReviewApplied,
			decide(t, h, decision(o.p, item, schema.DecisionApprove), result.BatchID).Status)
	}
	require.Equal(t, schema.StatusSuperseded, o.get(records[0]).Status)

	after := o.recall(req).Results
	require.NotEmpty(t, after)
	for _, r := range after {
		switch {
		case sources[r.ID]:
			require.Equal(t, schema.CurrentnessSuperseded, r.Currentness, r.Content)
		case strings.Contains(r.Content, "Python"):
			require.Failf(t, "it is shown as if it held", "%s", r.Content)
		}
		require.False(t, r.ID == fourth && r.Currentness == schema.CurrentnessSuperseded)
	}
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// A fact and a source with the same words are one result, shown as the record that lasts longer; a query for one type
// returns the record of that type.
func TestSameWordsAreReturnedOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	source, result := spoken(t, h, o.p, "s1", "The launch is planned for May 3.")
	require.Equal(t, schema.WriteCounts{Added: 1}, result.Written)
	outcomes, err := h.Store.FactOutcomes(context.Background(), o.p.Tenant, uuid.MustParse(result.BatchID))
	require.NoError(t, err)
	require.Equal(t, []any{schema.ActionAdd, schema.ProposalApplied, ""},
		[]any{outcomes[0].Action, outcomes[0].State, outcomes[0].Skipped})

	found := o.recall(schema.RecallRequest{Query: "When is the launch planned?", Limit: 10}).Results
	require.Len(t, found, 1)
	require.Equal(t, outcomes[0].MemoryID, found[0].ID)
	require.Equal(t, schema.TypeSemantic, found[0].Type)
	require.Equal(t, "Maya", found[0].Who)
	require.Equal(t, "memory:"+source, found[0].Ref)
	require.Equal(t, []string{source}, o.found("When is the launch planned?", "", schema.TypeEpisodic))

	// The same statement, asked to be remembered, and observed by another agent for all.
	_, again := h.Ingest(t, testkit.Request(o.p, schema.SourceMemory, "The launch is planned for May 3."))
	require.Equal(t, []int{0}, again.Deduped)
	other := o.p
	other.Agent = "another"
	shared := testkit.Request(other, schema.SourceObservation, "The launch is planned for May 3.")
	shared.Visibility = schema.VisibilityGlobal
	_, again = h.Ingest(t, shared)
	require.Equal(t, 1, again.Written.Added)
	found = o.recall(schema.RecallRequest{Query: "When is the launch planned?", Limit: 10,
		ReadPolicy: schema.ReadShared}).Results
	require.Len(t, found, 2, "stored once for each agent: %v", found)
	for _, r := range found {
		require.Equal(t, schema.TypeSemantic, r.Type)
	}
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// When a fact with a restricted audience is stated again for a wider one, it is stored for the wider one, too.
func TestPrivateFactIsStoredForAWiderAudience(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	spoken(t, h, o.p, "s1", "Our standup is at 9:30.")
	shared := testkit.Request(o.p, schema.SourceObservation, "Our standup is at 9:30.")
	shared.Visibility = schema.VisibilityGlobal
	_, result := h.Ingest(t, shared)
	require.Equal(t, schema.WriteCounts{Added: 1}, result.Written)
	_, result = h.Ingest(t, testkit.Request(o.p, schema.SourceObservation, "So our standup is at 9:30."))
	require.Zero(t, result.Dead)
	other := o
	other.p.Agent = "another"
	require.Len(t, other.recall(schema.RecallRequest{Query: "When is our standup?",
		ReadPolicy: schema.ReadShared}).Results, 1)
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}
