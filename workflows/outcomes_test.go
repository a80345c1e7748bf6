package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/learn"
)

// reportsIn reports an outcome from the session with a number.
func reportsIn(t testing.TB, h *harness.Harness, p schema.Principal, session int, used string,
	outcome schema.Outcome) []string {
	t.Helper()
	out := advise(t, h, asksAbout(p, 900+session))
	result, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, api.ReportRequest{Principal: p,
		AdviceID: out.AdviceID, Used: used, Outcome: outcome, Context: map[string]string{"os": "linux"},
		Session: fmt.Sprintf("%s-%d", p.Agent, session)})
	require.NoError(t, err)
	return result.Changed
}

func outcomesOf(k learning.Known) [2]int64 {
	return [2]int64{k.Stats.All.Successes, k.Stats.All.Failures}
}

// Advice on a learned procedure uses its outcomes, and reports change them: after a few failures its rank falls, and
// after successes it rises again. Failures in one environment do not hide successes in another.
func TestReportsChangeWhatWasLearned(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	for n := range 3 {
		testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
	}
	consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	id := learnedBy(t, h, p)[0].ID.String()
	first := advise(t, h, asksAbout(p, 99))
	require.NotNil(t, first.Best)
	require.Equal(t, id, first.Best.MemoryID)
	require.False(t, first.Best.Tentative)
	require.Equal(t, "rm -rf /home/dev99/.cache/build", first.Best.Steps[0].Args["cmd"])

	require.Equal(t, []string{id}, reportsIn(t, h, p, 10, id, schema.OutcomeFailure))
	require.Equal(t, [2]int64{3, 1}, outcomesOf(learnedBy(t, h, p)[0]))
	next := advise(t, h, asksAbout(p, 98))
	require.NotNil(t, next.Best)
	require.Less(t, next.Best.Confidence, first.Best.Confidence)
	reportsIn(t, h, p, 11, id, schema.OutcomeFailure)
	reportsIn(t, h, p, 12, id, schema.OutcomeFailure)
	out := advise(t, h, asksAbout(p, 97))
	require.True(t, out.Best == nil || out.Best.MemoryID != id, "no longer recommended")
	for session := 13; session < 17; session++ {
		reportsIn(t, h, p, session, id, schema.OutcomeSuccess)
	}
	out = advise(t, h, asksAbout(p, 96))
	require.NotNil(t, out.Best)
	require.Equal(t, id, out.Best.MemoryID, "recommended again")
	require.Equal(t, [2]int64{7, 3}, outcomesOf(learnedBy(t, h, p)[0]))
}

// An outcome that is both reported and shown by the session's episode counts once, whichever comes first. A report
// without an episode is not lost when consolidation recomputes the counts.
func TestAnOutcomeCountsOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	record := func(n int) { testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store) }
	for n := range 3 {
		record(n)
	}
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	consolidate(t, h, in)
	id := learnedBy(t, h, p)[0].ID.String()
	require.Equal(t, []string{id}, reportsIn(t, h, p, 3, id, schema.OutcomeSuccess))
	require.Equal(t, [2]int64{4, 0}, outcomesOf(learnedBy(t, h, p)[0]))
	require.Equal(t, []string{id}, reportsIn(t, h, p, 50, id, schema.OutcomeFailure))

	record(3)
	_, out := consolidate(t, h, in)
	require.Equal(t, 1, out.Updated)
	require.Equal(t, [2]int64{4, 1}, outcomesOf(learnedBy(t, h, p)[0]),
		"session 3 counts once, and session 50 still counts")
	record(4)
	consolidate(t, h, in)
	require.Equal(t, [2]int64{5, 1}, outcomesOf(learnedBy(t, h, p)[0]))
	require.Empty(t, reportsIn(t, h, p, 4, id, schema.OutcomeSuccess), "already shown by the episode of session 4")
	require.Equal(t, [2]int64{5, 1}, outcomesOf(learnedBy(t, h, p)[0]))
	record(5)
	consolidate(t, h, in)
	require.Equal(t, [2]int64{6, 1}, outcomesOf(learnedBy(t, h, p)[0]))
}

// The outcomes reported for a tentative solution count, once, for the procedure that it becomes.
func TestReportsOfATentativeSolutionAreCarriedOver(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	episode := testkit.Build(p, 0, "linux", testkit.ClearCache(0)).Record(t, h.Store).String()
	require.Equal(t, []string{episode}, reportsIn(t, h, p, 1, episode, schema.OutcomeSuccess))
	require.Equal(t, []string{episode}, reportsIn(t, h, p, 40, episode, schema.OutcomeFailure))
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	for n := 1; n < 3; n++ {
		testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
	}
	for range 2 {
		consolidate(t, h, in)
		require.Equal(t, [2]int64{3, 1}, outcomesOf(learnedBy(t, h, p)[0]))
		in.Full = true
	}
	id := learnedBy(t, h, p)[0].ID.String()
	require.Equal(t, []string{id}, reportsIn(t, h, p, 41, id, schema.OutcomeFailure))
	require.Equal(t, [2]int64{3, 2}, outcomesOf(learnedBy(t, h, p)[0]))
}

// replaced supersedes a procedure with one that has another name and a command, and returns the id of the new version.
func replaced(t testing.TB, h *harness.Harness, p schema.Principal, id, name, cmd string) string {
	t.Helper()
	record := schema.MemoryRecord{Type: schema.TypeCompetence, Content: name, Payload: procedureFor(t, name, cmd),
		Confidence: 0.9, Salience: schema.DefaultSalience, Importance: schema.DefaultImportance,
		SourceTrust: schema.DefaultSourceTrust}
	run, err := mneme.StartRevise(context.Background(), h.Temporal, h.TaskQueue,
		reviseRequest(p, schema.ReviseSupersede, &record, schema.Target{ID: id, IfVersion: 1}))
	require.NoError(t, err)
	out, err := mneme.Outcome[schema.ReviseResult](context.Background(), run)
	require.NoError(t, err)
	require.Equal(t, schema.ReviseApplied, out.Status, out.Why)
	return out.Record.ID
}

// A procedure is superseded between the advice and the report. The outcome counts for the version that was used, and
// for the new version only if that has the same steps. The agent is told.
func TestAReportOnASupersededProcedure(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	report := func(a api.AdviseResponse, used string, outcome schema.Outcome) api.ReportResult {
		t.Helper()
		req := reportOn(p, a, outcome)
		req.Used = used
		out, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, req)
		require.NoError(t, err)
		again, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, req)
		require.NoError(t, err)
		require.Equal(t, out, again, "it counts once")
		return out
	}
	figures := func(id string) [2]int64 {
		t.Helper()
		rows := testkit.Strings(t, testkit.Owner(t, h.DatabaseURL), `
			SELECT coalesce(stats->'all'->>'successes', '0') || ' ' || coalesce(stats->'all'->>'failures', '0')
			FROM (SELECT memory_id, stats FROM solution_outcomes UNION ALL SELECT memory_id, stats FROM learned) x
			WHERE memory_id::text = '`+id+`'`)
		if len(rows) == 0 {
			return [2]int64{}
		}
		require.Len(t, rows, 1)
		var out [2]int64
		_, err := fmt.Sscan(rows[0], &out[0], &out[1])
		require.NoError(t, err)
		return out
	}
	first := putProcedure(t, h, p, "the fix", "the-fix")
	asked := advise(t, h, asksAbout(p, 1))
	require.Equal(t, schema.ReportCounted, report(advise(t, h, asksAbout(p, 2)), first, schema.OutcomeSuccess).Status)
	second := replaced(t, h, p, first, "the fix, renamed", "the-fix")
	out := report(asked, first, schema.OutcomeFailure)
	require.Equal(t, api.ReportResult{Changed: []string{first, second}, Status: schema.ReportCarried, Successor: second,
		CountsFor: schema.ReachAll}, out)
	require.Equal(t, [2]int64{6, 1}, figures(first))
	require.Equal(t, [2]int64{5, 1}, figures(second))

	asked = advise(t, h, asksAbout(p, 3))
	late := advise(t, h, asksAbout(p, 4))
	third := replaced(t, h, p, second, "another fix", "another-fix")
	out = report(asked, second, schema.OutcomeFailure)
	require.Equal(t, api.ReportResult{Changed: []string{second}, Status: schema.ReportSuperseded, Successor: third,
		CountsFor: schema.ReachAll}, out)
	require.Equal(t, [2]int64{5, 2}, figures(second))
	require.Equal(t, [2]int64{}, figures(third), "the steps that failed are not its steps")
	require.Equal(t, schema.ReportUndecided, report(late, second, schema.OutcomePartial).Status)

	asked = advise(t, h, asksAbout(p, 5))
	forgetNow(t, h, p, third)
	require.Equal(t, api.ReportResult{Status: schema.ReportGone}, report(asked, third, schema.OutcomeFailure))
}

// A tentative solution becomes a procedure between the advice and the report. The outcome counts for the procedure, at
// once and once.
func TestAReportOnATentativeSolutionAfterItsPromotion(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	episode := testkit.Build(p, 0, "linux", testkit.ClearCache(0)).Record(t, h.Store).String()
	asked := advise(t, h, asksAbout(p, 99))
	require.Equal(t, episode, asked.Best.MemoryID)
	for n := 1; n < 3; n++ {
		testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
	}
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	consolidate(t, h, in)
	id := learnedBy(t, h, p)[0].ID.String()
	req := reportOn(p, asked, schema.OutcomeFailure)
	req.Session = "late"
	for range 2 {
		out, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, req)
		require.NoError(t, err)
		require.Equal(t, api.ReportResult{Changed: []string{id, episode}, Status: schema.ReportCarried, Successor: id,
			CountsFor: schema.ReachAll}, out)
		require.Equal(t, [2]int64{3, 1}, outcomesOf(learnedBy(t, h, p)[0]))
	}
	for range 2 {
		consolidate(t, h, in)
		require.Equal(t, [2]int64{3, 1}, outcomesOf(learnedBy(t, h, p)[0]))
		in.Full = true
	}
	testkit.Build(p, 3, "linux", testkit.ClearCache(3)).Record(t, h.Store)
	consolidate(t, h, in)
	require.Equal(t, [2]int64{4, 1}, outcomesOf(learnedBy(t, h, p)[0]))
}

// A procedure gets a condition, so a new version with the same steps supersedes it. What was reported on the former
// version where the condition holds counts for the new one.
func TestReportsOutliveANewCondition(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	for n := 0; n < 10; n += 2 {
		testkit.Build(p, n, "darwin", testkit.ClearCache(n)).Record(t, h.Store)
	}
	consolidate(t, h, in)
	former := learnedBy(t, h, p)[0]
	for n, os := range []string{"darwin", "darwin", "linux"} {
		asked := asksAbout(p, 900+n)
		asked.Context = map[string]string{"os": os}
		req := reportOn(p, advise(t, h, asked), schema.OutcomeSuccess)
		req.Context, req.Session = asked.Context, fmt.Sprint("elsewhere ", n)
		_, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, req)
		require.NoError(t, err)
	}
	require.Equal(t, [2]int64{8, 0}, outcomesOf(learnedBy(t, h, p)[0]))
	for n := 1; n < 10; n += 2 { // in between, so that they are not from after a change
		s := testkit.NewStory(p, n).Says("Build the app please").In("linux", fmt.Sprintf("/w/app%d", n), nil)
		s.Does("make app", testkit.Mismatch(n)).Does(testkit.ClearCache(n), "").Does("make app", testkit.Mismatch(n))
		s.Ends(schema.OutcomeFailure).Record(t, h.Store)
	}
	for range 2 {
		consolidate(t, h, in)
		now := learnedBy(t, h, p)
		require.Len(t, now, 1)
		require.NotEqual(t, former.ID, now[0].ID)
		require.Contains(t, string(now[0].Payload), "darwin")
		require.Equal(t, [2]int64{7, 0}, outcomesOf(now[0]))
		in.Full = true
	}
}

// The tentative solution is named by its newest episode, which repeats an earlier one word for word. The repetition is
// no evidence, but the outcome that was reported on it counts after the promotion.
func TestAReportOnARepetitionIsCarriedOver(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	testkit.Build(p, 0, "linux", testkit.ClearCache(0)).Record(t, h.Store)
	again := testkit.NewStory(p, 7).Says("Build the app please").In("linux", "/w/app0", nil)
	again.Does("make app", testkit.Mismatch(0)).Does(testkit.ClearCache(0), "").Does("make app", "")
	episode := again.Ends(schema.OutcomeSuccess).Record(t, h.Store).String()
	require.Equal(t, []string{episode}, reportsIn(t, h, p, 40, episode, schema.OutcomeFailure))
	for n := 1; n < 3; n++ {
		testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
	}
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	for range 2 {
		consolidate(t, h, in)
		require.Equal(t, [2]int64{3, 1}, outcomesOf(learnedBy(t, h, p)[0]))
		in.Full = true
	}
}

// A procedure that was put has the outcomes that it states and those that were reported, both before a run adopts it
// and afterwards.
func TestReportsOfAPutProcedureAreCarriedOver(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	id := putProcedure(t, h, p, "the fix", "the-fix")
	require.Equal(t, []string{id}, reportsIn(t, h, p, 1, id, schema.OutcomeFailure))
	before := advise(t, h, asksAbout(p, 9))
	testkit.Build(p, 0, "linux", "other").Record(t, h.Store)
	consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	require.Len(t, learnedBy(t, h, p), 1)
	require.Equal(t, [2]int64{5, 1}, outcomesOf(learnedBy(t, h, p)[0]))
	require.InDelta(t, before.Best.Confidence, advise(t, h, asksAbout(p, 9)).Best.Confidence, 1e-9)
	require.Contains(t, reportsIn(t, h, p, 2, id, schema.OutcomeFailure), id, "the other option was not used")
	require.Equal(t, [2]int64{5, 2}, outcomesOf(learnedBy(t, h, p)[0]))
	require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "solution_outcomes", "true"))
}

// Learned and refused items are counted once, by step and verdict; a shadow run counts nothing.
func TestLearnedItemsAreCounted(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 100)
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.ObserveLearned = func(step, verdict string, n int) { seen <- fmt.Sprintf("%s %s %d", step, verdict, n) }
	})
	p := testkit.Principal()
	for n := range 3 {
		testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
		story := testkit.NewStory(p, 100+n).Says("Ship it").In("linux", "/w", nil)
		story.Does(fmt.Sprintf("unrelated-%c --with %d", 'a'+n, n), "").Ends(schema.OutcomeSuccess).Record(t, h.Store)
	}
	consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p), Shadow: true})
	require.Empty(t, seen)
	consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	insert(t, h, p, schema.VisibilityPrivate, states("The office opens at 8.", 0.5, "evt://1"),
		states("office opens at 8", 0.9, "evt://2"))
	learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	close(seen)
	var got []string
	for s := range seen {
		got = append(got, s)
	}
	require.Contains(t, got, "ExtractCompetence added 1")
	require.Contains(t, got, "ResolveDuplicates merged 1")
	require.True(t, slices.ContainsFunc(got, func(s string) bool {
		return strings.HasPrefix(s, "ExtractCompetence too_few")
	}), got)
}

// A session that is recorded as a whole is an unverified account: nothing is learned from such sessions alone.
func TestSessionsRecordedWholeAreAccounts(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	hand := func(n int) {
		story := testkit.Build(p, n, "linux", testkit.ClearCache(n))
		for i := range story.Events {
			story.Events[i].Stream, story.Events[i].Agent = "", ""
		}
		_, err := mneme.RecordSession(context.Background(), h.Temporal, h.TaskQueue, api.RecordRequest{
			SessionRef: api.SessionRef{Principal: p, Session: story.Session}, Events: story.Events})
		require.NoError(t, err)
	}
	for n := range 4 {
		hand(n)
	}
	in := api.LearnInput{LearnScope: scopeOfPrincipal(p)}
	_, out := consolidate(t, h, in)
	require.Equal(t, 1, out.Refused["too_few_independent_successes"], "%+v", out)
	require.Empty(t, learnedBy(t, h, p))
	require.Nil(t, advise(t, h, asksAbout(p, 9)).Best, "not even a tentative solution")
	for n := 4; n < 6; n++ {
		testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
	}
	consolidate(t, h, in)
	require.Equal(t, [2]int64{3, 0}, outcomesOf(learnedBy(t, h, p)[0]),
		"together with two verified sessions they count as one")
}

// recordLearning captures the histories of learning.
func recordLearning(t *testing.T) {
	h := harness.New(t, nil)
	p := testkit.Principal()
	for n := range 3 {
		testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(t, h.Store)
		s := testkit.NewStory(p, 50+n).Says("Set up my project").In("linux", fmt.Sprintf("/w/p%d", n), nil)
		for _, c := range []string{"git init", fmt.Sprintf("go mod init /w/p%d", n), "gofmt -l ."} {
			s.Does(c, "")
		}
		s.Ends(schema.OutcomeSuccess).Record(t, h.Store)
	}
	insert(t, h, p, schema.VisibilityPrivate, states("The office opens at 8.", 0.5, "evt://1"),
		states("office opens at 8", 0.9, "evt://2"))
	for _, of := range []struct {
		name     string
		workflow any
	}{{"extract-competence", learn.ExtractCompetence}, {"extract-plans", learn.ExtractPlans},
		{"resolve-duplicates", learn.ResolveDuplicates}, {"compress-episodes", learn.CompressEpisodes},
		{"update-facts", learn.UpdateFacts}} {
		run, _ := learnNow(t, h, of.workflow, privateOf(p))
		record(t, h, of.name, run.GetID(), run.GetRunID())
	}
	testkit.Build(p, 9, "linux", testkit.ClearCache(9)).Record(t, h.Store)
	run, _ := consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	record(t, h, "consolidate", run.GetID(), run.GetRunID())
	testkit.Build(p, 10, "linux", testkit.ClearCache(10)).Record(t, h.Store)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartConsolidateAll(ctx, h.Temporal, h.TaskQueue, api.ConsolidateAllInput{Tenant: p.Tenant})
	require.NoError(t, err)
	_, err = mneme.Outcome[api.ConsolidateAllResult](ctx, run)
	require.NoError(t, err)
	record(t, h, "consolidate-all", run.GetID(), run.GetRunID())
	recordQuiet(t)
}
