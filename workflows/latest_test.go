package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows/flow"
)

// told ingests a statement of Maya on a day, and returns the outcome of its fact.
func told(t *testing.T, o onlooker, day time.Time, text string, more func(*schema.IngestRequest)) schema.FactOutcome {
	t.Helper()
	req := schema.IngestRequest{Principal: o.p,
		Candidates: []schema.Candidate{{Content: text, Speaker: "Maya", Session: day.Format(time.DateOnly),
			SourceKind: schema.SourceUserInput, OccurredAt: &day,
			Refs: []schema.Ref{{Kind: "event", Ref: "turn " + day.Format(time.DateOnly)}}}}}
	if more != nil {
		more(&req)
	}
	_, result := o.h.Ingest(t, req)
	facts, err := o.h.Store.FactOutcomes(context.Background(), o.p.Tenant, uuid.MustParse(result.BatchID))
	require.NoError(t, err)
	require.Len(t, facts, 1)
	return facts[0]
}

// The latest statement replaces the one that it changes. Nothing is deleted: the older one is kept, marked with who
// changed it and why, and a question about the past returns it with its validity period. Clients of the workflow read
// the same.
func TestTheLatestFactWins(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	first, later := time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	old := told(t, o, first, "I live in Lyon.", nil)
	change := told(t, o, later, "I moved from Lyon to Oslo.", nil)
	require.Equal(t, []any{schema.ActionUpdate, schema.ProposalApplied, old.MemoryID},
		[]any{change.Action, change.State, change.TargetID})

	was := o.get(old.MemoryID)
	require.Equal(t, schema.StatusSuperseded, was.Status)
	require.Equal(t, change.MemoryID, was.SupersededBy)
	require.NotEmpty(t, o.lastStep(old.MemoryID).Reason)
	require.Contains(t, o.get(change.MemoryID).Provenance.Sources, schema.Ref{Kind: "event", Ref: "turn 2026-03-10"})

	_, now := recallBy(t, h, schema.RecallRequest{Principal: o.p, Query: "where does Maya live?"})
	require.NotEmpty(t, now.Results)
	require.Equal(t, change.MemoryID, now.Results[0].ID)
	for _, r := range now.Results {
		require.NotEmpty(t, r.Currentness)
		require.NotEqual(t, old.MemoryID, r.ID)
	}
	require.Equal(t, schema.CurrentnessCurrent, now.Results[0].Currentness)

	_, past := recallBy(t, h, schema.RecallRequest{Principal: o.p, Query: "where did Maya live before Oslo?"})
	require.NotEmpty(t, past.Results)
	require.Contains(t, []string{old.MemoryID, old.SourceID}, past.Results[0].ID, "the fact or its turn")
	require.Equal(t, schema.CurrentnessSuperseded, past.Results[0].Currentness)
	require.Equal(t, change.MemoryID, past.Results[0].Newer)
	require.NotNil(t, past.Results[0].HeldUntil)
	require.True(t, past.Results[0].HeldUntil.Equal(later))

	_, unknown := recallBy(t, h, schema.RecallRequest{Principal: o.p, Query: "what does a quasar emit?"})
	require.Empty(t, unknown.Results)
	require.True(t, unknown.Meta.Unknown)
	floor := 0.0
	_, all := recallBy(t, h, schema.RecallRequest{Principal: o.p, Query: "what does a quasar emit?", MinScore: &floor})
	require.NotEmpty(t, all.Results, "0 is no floor, and not the default")
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// What was sold is replaced by what was bought, and a value by a more exact one, also within one batch.
func TestWhatIsSurelyReplaced(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	first, later := time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	for _, c := range [][2]string{
		{"I drive a Clio.", "I sold the Clio and bought a Tesla."},
		{"My favourite colour is green.", "My favourite colour is dark green."},
	} {
		o := onlooker{t, h, testkit.Principal()}
		old := told(t, o, first, c[0], nil)
		change := told(t, o, later, c[1], nil)
		require.Equal(t, []any{schema.ProposalApplied, old.MemoryID, false},
			[]any{change.State, change.TargetID, change.Contested}, c[1])
		require.Equal(t, change.MemoryID, o.get(old.MemoryID).SupersededBy)

		o = onlooker{t, h, testkit.Principal()}
		req := schema.IngestRequest{Principal: o.p}
		for _, text := range c {
			req.Candidates = append(req.Candidates, schema.Candidate{Content: text, Speaker: "Maya",
				SourceKind: schema.SourceUserInput})
		}
		_, result := h.Ingest(t, req)
		require.Equal(t, schema.WriteCounts{Added: 1, Updated: 1}, result.Written, c[1])
	}
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// A fact that has probably changed is kept together with the new one, and both are marked. If the request asks for
// reviews, it waits for one.
func TestChangesThatAreNotApplied(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	first, later := time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	skoda := told(t, o, first, "I drive a Skoda.", nil)
	volvo := told(t, o, later, "I drive a Volvo.", nil)
	require.True(t, volvo.Contested)
	for _, id := range []string{skoda.MemoryID, volvo.MemoryID} {
		require.Equal(t, schema.StatusContested, o.get(id).Status)
	}
	cars := o.recall(schema.RecallRequest{Query: "which car does Maya drive?"}).Results
	require.GreaterOrEqual(t, len(cars), 2)
	require.Equal(t, []string{volvo.MemoryID, skoda.MemoryID}, []string{cars[0].ID, cars[1].ID})
	require.Equal(t, []any{schema.CurrentnessOlder, volvo.MemoryID}, []any{cars[1].Currentness, cars[1].Newer})

	roth := told(t, o, first, "My dentist is Dr. Roth.", nil)
	waits := told(t, o, later, "My dentist is Dr. Lund.", func(req *schema.IngestRequest) { req.NoUpdateDelete = true })
	require.Equal(t, schema.ProposalBlocked, waits.State)
	require.Equal(t, schema.StatusActive, o.get(roth.MemoryID).Status)
	reviews, err := h.Store.ListReviews(context.Background(), o.p, pipeline.ReviewFilter{}, pg.Page{})
	require.NoError(t, err)
	require.Len(t, reviews, 1)
	require.Equal(t, roth.MemoryID, reviews[0].TargetID)
}

// A batch whose statements change one value more often than a decision is repeated: all changes are applied in their
// order, and none waits for a person.
func TestABatchThatChangesAValueOften(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	day := time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC)
	req := schema.IngestRequest{Principal: p}
	cities := []string{"Porto", "Oslo", "Rome", "Lima", "Cairo", "Kyoto", "Quito", "Lyon", "Bergen", "Hanoi", "Accra"}
	require.Greater(t, len(cities), flow.MaxDecideRounds)
	for i, city := range cities {
		at := day.AddDate(0, 0, i)
		req.Candidates = append(req.Candidates, schema.Candidate{Content: "I live in " + city + " now.",
			Speaker: "Maya", SourceKind: schema.SourceUserInput, OccurredAt: &at})
	}
	_, result := h.Ingest(t, req)
	require.Zero(t, result.Written.Blocked)
	require.Equal(t, 1, result.Written.Added)
	require.Equal(t, len(cities)-1, result.Written.Updated)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, []string{"Maya lives in Accra now."}, testkit.Strings(t, db,
		`SELECT content FROM memories WHERE type = 'semantic' AND live AND status = 'active'`))
	require.Zero(t, testkit.Rows(t, db, "proposals", "state <> 'applied'"))
	testkit.CheckInvariants(t, db)
}

// A statement that is repeated word for word after it was replaced is true again: the fact is restored as the latest.
func TestAStatementIsTrueAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	day := time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC)
	told(t, o, day, "I live in Porto.", nil)
	lima := told(t, o, day.AddDate(0, 1, 0), "I live in Lima now.", nil)
	back := told(t, o, day.AddDate(0, 2, 0), "I live in Porto.", nil)
	require.Equal(t, []any{schema.ActionUpdate, schema.ProposalApplied, lima.MemoryID},
		[]any{back.Action, back.State, back.TargetID})
	once := day.AddDate(0, 3, 0)
	_, again := h.Ingest(t, schema.IngestRequest{Principal: o.p, Candidates: []schema.Candidate{
		{Content: "I live in Porto.", Speaker: "Maya", SourceKind: schema.SourceUserInput, OccurredAt: &once},
		{Content: "I live in Lima now.", Speaker: "Maya", SourceKind: schema.SourceUserInput}}})
	require.Equal(t, schema.WriteCounts{}, again.Written, "Porto is current, and Lima may be an old transcript")
	_, now := recallBy(t, h, schema.RecallRequest{Principal: o.p, Query: "where does Maya live?"})
	require.Equal(t, "Maya lives in Porto.", now.Results[0].Content)
	require.Equal(t, schema.CurrentnessCurrent, now.Results[0].Currentness)
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// A value that changes and changes back within one batch ends as the last statement says, also if this repeats an
// earlier statement word for word.
func TestAValueThatChangesBackWithinABatch(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC)
	home := []string{"I live in Porto.", "I live in Lima now.", "I live in Porto."}
	standup := []string{"Our standup is at 9:30.", "Our standup moved to 10:00.", "Our standup moved back to 9:30."}
	for name, c := range map[string]struct {
		stored int // statements that are ingested one by one before
		said   []string
		want   string
	}{
		"other words":                {0, []string{home[0], home[1], "I live in Porto again."}, "Porto"},
		"without a claim":            {0, standup, "9:30"},
		"one by one":                 {3, standup, "9:30"},
		"the same words":             {0, home, "Porto"},
		"the same words, one stored": {1, home, "Porto"},
		"the same words, two stored": {2, home, "Porto"},
		"taken back": {0, []string{home[0], "It is not true that I live in Porto.", "I live in Lima."},
			"Lima"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, nil)
			p := testkit.Principal()
			var batch []schema.Candidate
			for i, text := range c.said {
				at := day.AddDate(0, 0, i)
				batch = append(batch, schema.Candidate{Content: text, Speaker: "Maya",
					SourceKind: schema.SourceUserInput, OccurredAt: &at})
				if i < c.stored || i == len(c.said)-1 {
					h.Ingest(t, schema.IngestRequest{Principal: p, Candidates: batch})
					batch = nil
				}
			}
			db := testkit.Owner(t, h.DatabaseURL)
			current := testkit.Strings(t, db,
				`SELECT content FROM memories WHERE type = 'semantic' AND live AND status = 'active'`)
			require.Len(t, current, 1)
			require.Contains(t, current[0], c.want)
			testkit.CheckInvariants(t, db)
		})
	}
}
