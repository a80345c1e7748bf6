package advising_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/recall/advising"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
)

// team is a store with agents that ask about one problem and report.
type team struct {
	t       *testing.T
	store   *store.Store
	adviser *advising.Adviser
	now     time.Time
	url     string
}

const locked = "builder: cannot lock the cache of kword"

func newTeam(t *testing.T) *team {
	t.Helper()
	t.Parallel()
	url := testkit.DatabaseURL(t)
	out := &team{t: t, store: testkit.OpenStore(t, url), url: url,
		now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	out.restart()
	return out
}

// restart replaces the adviser, as a new worker does.
func (m *team) restart() {
	m.adviser = inprocess.NewAdviser(inprocess.Options{Store: m.store, Now: func() time.Time { return m.now }})
}

func (m *team) agent(name string) schema.Principal {
	return schema.Principal{Tenant: "t", Agent: name, Project: "app"}
}

func (m *team) userOf(agent, user string) schema.Principal {
	p := m.agent(agent)
	p.User = user
	return p
}

// procedure puts a procedure that claims successes.
func (m *team) procedure(p schema.Principal, v schema.Visibility, cmd string, successes int64) string {
	m.t.Helper()
	payload, err := json.Marshal(schema.CompetencePayload{Kind: schema.TypeCompetence, SkillName: cmd,
		Triggers: []schema.Trigger{{Signal: locked}},
		Recipe: []schema.Step{{Step: cmd, Tool: "shell", ArgsSchema: json.RawMessage(
			fmt.Sprintf(`{"type":"object","properties":{"cmd":{"const":%q}}}`, cmd))}},
		Performance: &schema.Performance{SuccessCount: successes}})
	require.NoError(m.t, err)
	record := schema.MemoryRecord{ID: uuid.NewString(), Type: schema.TypeCompetence, Payload: payload, Content: cmd,
		Confidence: 0.9, Salience: schema.DefaultSalience, Importance: schema.DefaultImportance,
		SourceTrust: schema.DefaultSourceTrust, Visibility: v}
	out, err := m.store.Put(context.Background(), edit.PutInput{
		Operation: schema.OperationRef{Tenant: "t", ID: record.ID, WorkflowID: "w"},
		Request: schema.PutRequest{Operation: schema.Operation{Principal: p, Reason: "taught"},
			Records: []schema.MemoryRecord{record}},
		Policy: proposals.DefaultWritePolicy(), Now: m.now})
	require.NoError(m.t, err)
	require.Equal(m.t, schema.PutCreated, out.Items[0].Status, out.Items[0].Problem)
	return out.Items[0].ID
}

// asks returns the advice for an agent.
func (m *team) asks(p schema.Principal) api.AdviseResponse {
	m.t.Helper()
	m.now = m.now.Add(time.Minute)
	out, err := m.adviser.Advise(context.Background(), api.AdviseRequest{Principal: p, Task: "build the app",
		Error: locked, Context: map[string]string{"os": "linux"}, ReadPolicy: schema.ReadShared})
	require.NoError(m.t, err)
	return out
}

// best returns the memory that an agent is advised to follow, or "".
func (m *team) best(p schema.Principal) string {
	m.t.Helper()
	if out := m.asks(p); out.Best != nil {
		return out.Best.MemoryID
	}
	return ""
}

// confidence returns the confidence of a procedure in the advice for an agent.
func (m *team) confidence(p schema.Principal, id string) float64 {
	m.t.Helper()
	out := m.asks(p)
	if out.Best != nil {
		out.Others = append(out.Others, *out.Best)
	}
	for _, o := range out.Others {
		if o.MemoryID == id {
			return o.Confidence
		}
	}
	return 0
}

// reports asks and reports an outcome of a procedure, in a session that may be empty.
func (m *team) reports(p schema.Principal, id string, outcome schema.Outcome, session string) api.ReportResult {
	m.t.Helper()
	asked := m.asks(p)
	m.now = m.now.Add(time.Minute)
	out, err := m.adviser.Report(context.Background(), api.ReportRequest{Principal: p, AdviceID: asked.AdviceID,
		Used: id, Outcome: outcome, Context: map[string]string{"os": "linux"}, Session: session,
		ReadPolicy: schema.ReadShared})
	require.NoError(m.t, err)
	return out
}

// counts returns the outcomes of a procedure that count for everyone.
func (m *team) counts(id string) (successes, failures int64) {
	m.t.Helper()
	require.NoError(m.t, testkit.Owner(m.t, m.url).QueryRow(context.Background(), `
		SELECT (stats->'all'->>'successes')::bigint, (stats->'all'->>'failures')::bigint
		FROM solution_outcomes
		WHERE memory_id = $1`, id).Scan(&successes, &failures))
	return successes, failures
}

// One agent that fails repeatedly is no longer advised to follow a shared procedure, and others still are.
func TestOneAgentCannotSinkASharedProcedure(t *testing.T) {
	m := newTeam(t)
	a, b := m.agent("a"), m.agent("b")
	id := m.procedure(a, schema.VisibilityShared, "unlock", 3)
	before := m.confidence(b, id)
	first := m.reports(a, id, schema.OutcomeFailure, "s1")
	require.Equal(t, schema.ReachAll, first.CountsFor)
	require.Empty(t, first.Held)
	for n := range 9 {
		if n == 5 {
			m.restart()
		}
		session := ""
		if n%2 == 0 {
			session = fmt.Sprint("session", n)
		}
		out := m.reports(a, id, schema.OutcomeFailure, session)
		require.Equal(t, schema.ReportCounted, out.Status)
		require.Equal(t, schema.ReachOwn, out.CountsFor)
		if n == 3 || n == 5 || n == 7 {
			require.Equal(t, schema.HeldRepeated, out.Held, "the same day")
		} else {
			require.Equal(t, schema.HeldOneSource, out.Held, n)
		}
	}
	require.Empty(t, m.best(a), "its own advice follows its reports")
	require.Equal(t, id, m.best(b))
	require.Greater(t, m.confidence(b, id), 0.6*before, "one failure")
	_, failures := m.counts(id)
	require.EqualValues(t, 1, failures)

	// The agent recovers as soon as with a procedure of its own.
	occurrences := 0
	for ; m.best(a) == ""; occurrences++ {
		m.reports(a, id, schema.OutcomeSuccess, "")
	}
	require.LessOrEqual(t, occurrences, 10)
}

// Two agents that fail sink a shared procedure for all, and two that succeed lift it again.
func TestTwoAgentsSinkASharedProcedure(t *testing.T) {
	m := newTeam(t)
	a, b, c := m.agent("a"), m.agent("b"), m.agent("c")
	id := m.procedure(c, schema.VisibilityShared, "unlock", 50)
	for n := range 3 {
		m.reports(a, id, schema.OutcomeFailure, fmt.Sprint("a", n))
		require.Equal(t, id, m.best(c))
	}
	m.restart()
	require.Equal(t, schema.ReachAll, m.reports(b, id, schema.OutcomeFailure, "b0").CountsFor)
	require.Equal(t, schema.ReachAll, m.reports(b, id, schema.OutcomeFailure, "b1").CountsFor)
	require.Empty(t, m.best(c))
	_, failures := m.counts(id)
	require.EqualValues(t, 4, failures, "two of each")

	for n := range 5 {
		m.reports(a, id, schema.OutcomeSuccess, fmt.Sprint("later", n))
	}
	require.Equal(t, id, m.best(a))
	require.Empty(t, m.best(c), "one agent cannot lift it")
	for n := range 2 {
		m.reports(b, id, schema.OutcomeSuccess, fmt.Sprint("later", n))
	}
	require.Equal(t, id, m.best(c))
}

// An agent cannot put its procedure before a better one by reports of successes, or by reports that it tried something
// else than the better one.
func TestOneAgentCannotLiftAProcedure(t *testing.T) {
	m := newTeam(t)
	a, c := m.agent("a"), m.agent("c")
	good := m.procedure(m.agent("b"), schema.VisibilityShared, "unlock", 50)
	bad := m.procedure(a, schema.VisibilityShared, "run-evil", 0)
	require.Equal(t, good, m.best(c))
	for n := range 30 {
		m.reports(a, bad, schema.OutcomeSuccess, fmt.Sprint("s", n))
		if n%10 == 0 {
			require.Equal(t, good, m.best(c), n)
		}
	}
	require.Equal(t, bad, m.best(a), "in its own advice its reports count")
	for n := range 30 {
		m.reports(a, "", schema.OutcomeSuccess, fmt.Sprint("t", n))
	}
	require.Equal(t, good, m.best(c))
}

// A session counts once, whatever the number of its reports.
func TestASessionCountsOnce(t *testing.T) {
	m := newTeam(t)
	a, b, c := m.agent("a"), m.agent("b"), m.agent("c")
	id := m.procedure(c, schema.VisibilityShared, "unlock", 50)
	for range 4 {
		m.reports(a, id, schema.OutcomeFailure, "one")
	}
	for n := range 4 {
		require.Equal(t, n > 0, m.reports(b, id, schema.OutcomeFailure, "one").Held == schema.HeldRepeated, n)
	}
	_, failures := m.counts(id)
	require.EqualValues(t, 2, failures, "a session of another agent with the same name is another session")
}

// The reports of a user change the advice for that user. They change the advice for the agent and its other users only
// together with those of another user. The agent's own reports count at once.
func TestReportsOfAUser(t *testing.T) {
	m := newTeam(t)
	solo, maya, tom, eva := m.agent("solo"), m.userOf("solo", "maya"), m.userOf("solo", "tom"), m.userOf("solo", "eva")
	id := m.procedure(solo, schema.VisibilityPrivate, "unlock", 50)
	for n := range 5 {
		m.now = m.now.AddDate(0, 0, 1)
		out := m.reports(maya, id, schema.OutcomeFailure, fmt.Sprint("s", n))
		require.Equal(t, n == 0, out.CountsFor == schema.ReachAll, n)
	}
	require.Empty(t, m.best(maya))
	require.Equal(t, id, m.best(tom))
	require.Equal(t, id, m.best(solo))
	for range 2 {
		m.now = m.now.AddDate(0, 0, 1)
		m.reports(tom, id, schema.OutcomeFailure, "")
	}
	require.Empty(t, m.best(eva), "two users")
	require.Empty(t, m.best(solo))
	keys := testkit.Strings(t, testkit.Owner(t, m.url), `SELECT DISTINCT user_key || session FROM outcome_reports`)
	require.Len(t, keys, 2)
	require.NotContains(t, keys[0]+keys[1], "maya", "names of users are not kept with a memory that others read")

	mine := m.procedure(solo, schema.VisibilityPrivate, "unlock-mine", 3)
	for range 3 {
		require.Equal(t, schema.ReachAll, m.reports(solo, mine, schema.OutcomeFailure, "").CountsFor)
	}
	require.Empty(t, m.best(tom))
	own := m.procedure(maya, schema.VisibilityPrivate, "unlock-maya", 3)
	for range 3 {
		require.Equal(t, schema.ReachAll, m.reports(maya, own, schema.OutcomeFailure, "").CountsFor, "only she reads it")
	}
}

// Users of one agent are one source for a procedure that other agents follow.
func TestUsersOfOneAgentAndASharedProcedure(t *testing.T) {
	m := newTeam(t)
	c := m.agent("c")
	id := m.procedure(c, schema.VisibilityShared, "unlock", 3)
	for n := range 4 {
		for _, user := range []string{"maya", "tom", "eva"} {
			m.now = m.now.AddDate(0, 0, 1)
			m.reports(m.userOf("a", user), id, schema.OutcomeFailure, fmt.Sprint(n))
		}
	}
	require.Equal(t, id, m.best(c))
	require.Empty(t, m.best(m.userOf("a", "new")), "the users of that agent")
	require.Empty(t, m.best(m.agent("a")))
}

// Advice of another agent or user cannot be reported on, and advice cannot be reported on twice.
func TestAdviceIsReportedOnByItsReceiverOnce(t *testing.T) {
	m := newTeam(t)
	a := m.agent("a")
	id := m.procedure(a, schema.VisibilityShared, "unlock", 3)
	asked := m.asks(m.userOf("a", "maya"))
	report := func(p schema.Principal, outcome schema.Outcome) (api.ReportResult, error) {
		return m.adviser.Report(context.Background(), api.ReportRequest{Principal: p, AdviceID: asked.AdviceID, Used: id,
			Outcome: outcome, ReadPolicy: schema.ReadShared})
	}
	for _, p := range []schema.Principal{a, m.agent("b"), m.userOf("a", "tom"), m.userOf("b", "maya")} {
		_, err := report(p, schema.OutcomeFailure)
		require.ErrorContains(t, err, "advice_id", p)
	}
	first, err := report(m.userOf("a", "maya"), schema.OutcomeFailure)
	require.NoError(t, err)
	for range 5 {
		again, err := report(m.userOf("a", "maya"), schema.OutcomeFailure)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	_, err = report(m.userOf("a", "maya"), schema.OutcomeSuccess)
	require.ErrorContains(t, err, "outcome")
	_, failures := m.counts(id)
	require.EqualValues(t, 1, failures)
}

// Many reports of one agent remove its own earlier reports, and not those of another agent.
func TestManyReportsRemoveNoneOfOthers(t *testing.T) {
	m := newTeam(t)
	a, b := m.agent("a"), m.agent("b")
	id := m.procedure(a, schema.VisibilityShared, "unlock", 3)
	m.reports(b, id, schema.OutcomeFailure, "s")
	m.now = m.now.Add(time.Hour)
	_, err := testkit.Owner(t, m.url).Exec(context.Background(), `
		INSERT INTO outcome_reports (tenant, memory_id, advice_id, agent_id, session, ok, at)
		SELECT 't', $1, gen_random_uuid(), 'a', n::text, true, $2::timestamptz + n * interval '1 second'
		FROM generate_series(1, 150) n`, id, m.now)
	require.NoError(t, err)
	m.now = m.now.Add(time.Hour)
	m.reports(a, id, schema.OutcomeFailure, "s")
	require.Equal(t, []string{"a 100", "b 1"}, testkit.Strings(t, testkit.Owner(t, m.url), `
		SELECT agent_id || ' ' || count(*) FROM outcome_reports GROUP BY agent_id ORDER BY 1`))
	require.Empty(t, m.best(b), "the failure of each agent counts")
}

// An agent with many users removes no report of another agent, either.
func TestManyUsersRemoveNoReportOfAnotherAgent(t *testing.T) {
	m := newTeam(t)
	a, b := m.agent("a"), m.agent("b")
	id := m.procedure(a, schema.VisibilityShared, "unlock", 3)
	m.reports(b, id, schema.OutcomeFailure, "s")
	m.now = m.now.Add(time.Hour)
	_, err := testkit.Owner(t, m.url).Exec(context.Background(), `
		INSERT INTO outcome_reports (tenant, memory_id, advice_id, agent_id, user_key, session, ok, at)
		SELECT 't', $1, gen_random_uuid(), 'a', 'user' || n % 15, n::text, true, $2::timestamptz + n * interval '1 second'
		FROM generate_series(1, 1200) n`, id, m.now)
	require.NoError(t, err)
	m.now = m.now.Add(time.Hour)
	m.reports(a, id, schema.OutcomeSuccess, "s")
	require.Equal(t, []string{"a 999", "b 1"}, testkit.Strings(t, testkit.Owner(t, m.url), `
		SELECT agent_id || ' ' || count(*) FROM outcome_reports GROUP BY agent_id ORDER BY 1`))
}
