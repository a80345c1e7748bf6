package learning_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/recall/advising"
	"github.com/mneme/mneme/schema"
	storelearning "github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/pg"
)

// crew is agents that follow a procedure that was learned from shared sessions.
type crew struct {
	*world
	adviser *advising.Adviser
	shared  schema.Principal
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	w := newWorld(t)
	return &crew{world: w, shared: schema.Principal{Tenant: "t"},
		adviser: &advising.Adviser{Store: w.store, Recaller: &recall.Recaller{Store: w.store}}}
}

func named(agent string) schema.Principal { return schema.Principal{Tenant: "t", Agent: agent} }

// share records a session that all agents of the project may read.
func (w *crew) share(p schema.Principal, n int) {
	w.t.Helper()
	id := testkit.Build(p, n, "linux", testkit.ClearCache(n)).Record(w.t, w.store)
	_, err := w.owner.Exec(ctx, `UPDATE memories SET visibility = 'shared' WHERE id = $1`, id)
	require.NoError(w.t, err)
}

func (w *crew) asks(p schema.Principal) api.AdviseResponse {
	w.t.Helper()
	out, err := w.adviser.Advise(ctx, api.AdviseRequest{Principal: p, Task: "build the app", Error: testkit.Mismatch(77),
		Context: map[string]string{"os": "linux"}, ReadPolicy: schema.ReadShared})
	require.NoError(w.t, err)
	return out
}

func (w *crew) best(p schema.Principal) string {
	w.t.Helper()
	if out := w.asks(p); out.Best != nil {
		return out.Best.MemoryID
	}
	return ""
}

func (w *crew) reports(p schema.Principal, id string, outcome schema.Outcome, session string) api.ReportResult {
	w.t.Helper()
	asked := w.asks(p)
	out, err := w.adviser.Report(ctx, api.ReportRequest{Principal: p, AdviceID: asked.AdviceID, Used: id,
		Outcome: outcome, Context: map[string]string{"os": "linux"}, Session: session, ReadPolicy: schema.ReadShared})
	require.NoError(w.t, err)
	return out
}

// run takes the reports in and learns, as a run of Consolidate does.
func (w *crew) run() {
	w.t.Helper()
	_, err := w.store.Learning.TakeReports(ctx, storelearning.Scope{Tenant: "t"}, time.Now())
	require.NoError(w.t, err)
	w.learn(w.shared, schema.TypeCompetence)
}

// the returns the only procedure.
func (w *crew) the(p schema.Principal) storelearning.Known {
	w.t.Helper()
	known, err := w.store.Learning.List(ctx, pg.Filter{Principal: p, ReadPolicy: schema.ReadShared}, uuid.Nil, 9)
	require.NoError(w.t, err)
	require.Len(w.t, known, 1)
	return known[0]
}

// Runs keep what reports have come to: the reports of one agent do not sink a procedure that was learned for all, and
// that agent's own advice follows them. Those of two agents sink it.
func TestRunsCountReportsBySource(t *testing.T) {
	t.Parallel()
	w := newCrew(t)
	one, mia, zoe, new := named("ana"), named("mia"), named("zoe"), named("new")
	for n := range 3 {
		w.share(one, n)
		w.share(mia, 10+n)
	}
	w.run()
	id := w.the(new).ID.String()
	require.Equal(t, schema.VisibilityShared, w.the(new).Visibility)
	before := w.the(new).Stats.All
	for n := range 6 {
		w.reports(zoe, id, schema.OutcomeFailure, fmt.Sprint("z", n))
		if n == 3 {
			w.run()
		}
	}
	for range 2 {
		require.Empty(t, w.best(zoe))
		require.Equal(t, id, w.best(new))
		require.EqualValues(t, 1, w.the(new).Stats.All.Failures)
		w.run()
	}
	require.InDelta(t, w.the(new).Stats.All.Chance(), w.the(new).Confidence, 1e-9)
	require.EqualValues(t, before.Successes, procedureOf(t, w.the(new)).Performance.SuccessCount)
	require.EqualValues(t, 1, procedureOf(t, w.the(new)).Performance.FailureCount)

	require.Equal(t, schema.ReachAll, w.reports(mia, id, schema.OutcomeFailure, "m0").CountsFor)
	require.Equal(t, schema.ReachAll, w.reports(mia, id, schema.OutcomeFailure, "m1").CountsFor)
	for range 2 {
		require.Empty(t, w.best(new))
		require.EqualValues(t, 4, w.the(new).Stats.All.Failures, "two of each")
		w.run()
	}
	require.InDelta(t, w.the(new).Stats.All.Chance(), w.the(new).Confidence, 1e-9)
	testkit.CheckInvariants(t, testkit.Owner(t, w.url))
}

// The reports of one agent on its own procedure count for it at once. If the procedure becomes one for all, they count
// there like those of any agent.
func TestReportsOfAPrivateProcedureThatIsWidened(t *testing.T) {
	t.Parallel()
	w := newCrew(t)
	one, mia := named("ana"), named("mia")
	for n := range 3 {
		w.share(one, n)
	}
	w.run()
	own := w.known(one)[0]
	require.Equal(t, schema.VisibilityPrivate, own.Visibility)
	for n := range 3 {
		out := w.reports(one, own.ID.String(), schema.OutcomeFailure, fmt.Sprint("x", n))
		require.Equal(t, schema.ReachAll, out.CountsFor)
	}
	require.Empty(t, w.best(one), "its own failures count at once")
	for n := range 2 {
		w.share(mia, 20+n)
	}
	w.run()
	wide := w.the(mia)
	require.Equal(t, schema.VisibilityShared, wide.Visibility)
	require.EqualValues(t, 1, wide.Stats.All.Failures)
	require.Equal(t, wide.ID.String(), w.best(mia))
}

// One failure of an agent counts against a tentative solution of a shared session, and its further ones do not. When
// the solution is promoted, they count by their source as well.
func TestReportsOnASharedTentativeSolution(t *testing.T) {
	t.Parallel()
	w := newCrew(t)
	one, mia, zoe, new := named("ana"), named("mia"), named("zoe"), named("new")
	w.share(one, 0)
	id := w.best(new)
	require.True(t, w.asks(new).Best.Tentative)
	var after []float64 // the confidence for another agent after each report
	for n := range 4 {
		out := w.reports(zoe, id, schema.OutcomeFailure, fmt.Sprint("z", n))
		require.Equal(t, n == 0, out.CountsFor == schema.ReachAll, n)
		after = append(after, w.asks(new).Others[0].Confidence)
	}
	require.InDeltaSlice(t, []float64{after[0], after[0], after[0], after[0]}, after, 1e-9)
	require.Less(t, w.asks(zoe).Others[0].Confidence, after[0]/2)
	for n := range 2 {
		w.share(one, 1+n)
		w.share(mia, 10+n)
	}
	w.run()
	require.False(t, w.asks(new).Best.Tentative)
	require.EqualValues(t, 1, w.the(new).Stats.All.Failures)
}
