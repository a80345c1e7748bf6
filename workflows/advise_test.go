package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

func linkerError(n int) string {
	return fmt.Sprintf("ld: cache mismatch in /home/dev%d/.cache/build (expected %d, got %d)", n, n, n+7)
}

// repairs records the events of a session: linking fails, a command repairs it, linking succeeds.
func repairs(t testing.TB, h *harness.Harness, p schema.Principal, n int) string {
	t.Helper()
	return repairsWith(t, h, p, n, "make app", linkerError(n), fmt.Sprintf("rm -rf /home/dev%d/.cache/build", n))
}

// repairsWith records a session as it happens: a command fails, another one repairs it, the first passes.
func repairsWith(t testing.TB, h *harness.Harness, p schema.Principal, n int, cmd, problem, repair string) string {
	t.Helper()
	ctx := context.Background()
	ref := api.SessionRef{Principal: p, Session: fmt.Sprintf("repair-%d-%s", n, uuid.NewString()[:8])}
	at := time.Now().UTC().Add(-time.Hour)
	add := func(id, kind string, payload any) ledger.Event {
		encoded, err := json.Marshal(payload)
		require.NoError(t, err)
		at = at.Add(time.Second)
		return ledger.Event{ID: ref.Session + id, Kind: kind, Payload: encoded, OccurredAt: at}
	}
	call := func(id, cmd string) ledger.Event {
		args, _ := json.Marshal(map[string]string{"cmd": cmd})
		return add("c"+id, ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: "shell", Args: args})
	}
	_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{
			add("u", ledger.KindUserInjected, ledger.Text{Text: "Build the app please"}),
			add("e", ledger.KindEnvironment, schema.Environment{OS: "linux", WorkingDir: fmt.Sprintf("/w/app%d", n)}),
			call("1", cmd), add("r1", ledger.KindToolFailed, ledger.ToolResult{CallID: "1", Error: problem}),
			call("2", repair),
			add("r2", ledger.KindToolReturned, ledger.ToolResult{CallID: "2", Result: json.RawMessage(`"ok"`)}),
			call("3", cmd), add("r3", ledger.KindToolReturned,
				ledger.ToolResult{CallID: "3", Result: json.RawMessage(`"ok"`)}),
		}})
	require.NoError(t, err)
	closed, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
		api.CloseRequest{SessionRef: ref, Outcome: schema.OutcomeSuccess})
	require.NoError(t, err)
	require.NotEmpty(t, closed.EpisodeID)
	return closed.EpisodeID
}

func asksAbout(p schema.Principal, n int) api.AdviseRequest {
	return api.AdviseRequest{Principal: p, Task: "build the app", Error: linkerError(n),
		Context: map[string]string{"os": "linux"}}
}

func advise(t testing.TB, h *harness.Harness, req api.AdviseRequest) api.AdviseResponse {
	t.Helper()
	out, err := mneme.Advise(context.Background(), h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	return out
}

func reportOn(p schema.Principal, a api.AdviseResponse, outcome schema.Outcome) api.ReportRequest {
	return api.ReportRequest{Principal: p, AdviceID: a.AdviceID, Used: a.Best.MemoryID, Outcome: outcome,
		Context: map[string]string{"os": "linux"}}
}

// procedureFor returns the payload of a procedure for the linker's problem.
func procedureFor(t testing.TB, name, cmd string) json.RawMessage {
	t.Helper()
	payload, err := json.Marshal(schema.CompetencePayload{Kind: schema.TypeCompetence, SkillName: name,
		Triggers: []schema.Trigger{{Signal: linkerError(1)}},
		Recipe: []schema.Step{{Step: cmd, Tool: "shell", ArgsSchema: json.RawMessage(
			fmt.Sprintf(`{"type":"object","properties":{"cmd":{"const":%q}}}`, cmd))}},
		Performance: &schema.Performance{SuccessCount: 5}})
	require.NoError(t, err)
	return payload
}

// putProcedure puts a procedure for the linker's problem.
func putProcedure(t testing.TB, h *harness.Harness, p schema.Principal, name, cmd string) string {
	t.Helper()
	payload := procedureFor(t, name, cmd)
	run, err := mneme.StartPut(context.Background(), h.Temporal, h.TaskQueue, schema.PutRequest{
		Operation: schema.Operation{Principal: p, Reason: "taught"},
		Records: []schema.MemoryRecord{{Type: schema.TypeCompetence, Content: name, Payload: payload, Confidence: 0.9,
			Salience: schema.DefaultSalience, Importance: schema.DefaultImportance,
			SourceTrust: schema.DefaultSourceTrust}}})
	require.NoError(t, err)
	out, err := mneme.Outcome[schema.PutResult](context.Background(), run)
	require.NoError(t, err)
	require.True(t, out.Items[0].Status.Stands(), out.Items[0].Status)
	return out.Items[0].ID
}

// A single repair in the evidence is enough for advice, with its names and paths replaced by those of the request.
// Reports of failures lower its rank, and reports of successes raise it. A repeated report counts once.
func TestOneRepairIsAdvisedAndReported(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	first := advise(t, h, asksAbout(p, 9))
	require.Nil(t, first.Best, "nothing is known")
	nothing, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, api.ReportRequest{Principal: p,
		AdviceID: first.AdviceID, Outcome: schema.OutcomeSuccess})
	require.NoError(t, err, "an agent may report after advice without an option")
	require.Empty(t, nothing.Changed)
	episode := repairs(t, h, p, 1)
	out := advise(t, h, asksAbout(p, 99))
	require.NotNil(t, out.Best)
	require.True(t, out.Best.Tentative)
	require.Equal(t, []string{episode}, out.Best.Evidence)
	require.Equal(t, "rm -rf /home/dev99/.cache/build", out.Best.Steps[0].Args["cmd"])

	for range 3 {
		result, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue,
			reportOn(p, out, schema.OutcomeFailure))
		require.NoError(t, err)
		require.Equal(t, []string{episode}, result.Changed)
	}
	again := advise(t, h, asksAbout(p, 98))
	require.Nil(t, again.Best, "as many successes as failures")
	require.InDelta(t, statsOf(true, false).Chance("linux")/statsOf(true).Chance("linux"),
		again.Others[0].Confidence/out.Best.Confidence,
		1e-9, "one failure, reported three times")
	_, err = mneme.Report(context.Background(), h.Temporal, h.TaskQueue, reportOn(p, out, schema.OutcomeSuccess))
	require.ErrorContains(t, err, "outcome")
	for range 4 {
		next := advise(t, h, asksAbout(p, 96))
		report := reportOn(p, api.AdviseResponse{AdviceID: next.AdviceID, Best: &api.AdviceOption{MemoryID: episode}},
			schema.OutcomeSuccess)
		_, err = mneme.Report(context.Background(), h.Temporal, h.TaskQueue, report)
		require.NoError(t, err)
	}
	require.NotNil(t, advise(t, h, asksAbout(p, 95)).Best, "recommended again")
}

// A value that only the call that failed has is known to advice, from one success and from a procedure. Without the
// call, the caller is told that a value is missing.
func TestAdviceKnowsTheCallThatFailed(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	const problem = "fatal: refusing to merge unrelated histories"
	repair := func(n int) string { return fmt.Sprintf("git merge --allow-unrelated-histories topic%d", n) }
	call := func(n int) string { return fmt.Sprintf("git merge -q topic%d", n) }
	asks := func(n int) api.AdviseRequest {
		args, err := json.Marshal(map[string]string{"cmd": call(n)})
		require.NoError(t, err)
		return api.AdviseRequest{Principal: p, Task: "join the branches", Error: problem,
			Context: map[string]string{"os": "linux"}, Failed: &api.FailedCall{Tool: "shell", Args: args}}
	}
	repairsWith(t, h, p, 1, call(1), problem, repair(1))
	out := advise(t, h, asks(99))
	require.NotNil(t, out.Best)
	require.True(t, out.Best.Tentative)
	require.Equal(t, repair(99), out.Best.Steps[0].Args["cmd"])

	repairsWith(t, h, p, 2, call(2), problem, repair(2))
	repairsWith(t, h, p, 3, call(3), problem, repair(3))
	consolidate(t, h, api.LearnInput{LearnScope: scopeOfPrincipal(p)})
	out = advise(t, h, asks(98))
	require.NotNil(t, out.Best)
	require.False(t, out.Best.Tentative)
	require.Equal(t, repair(98), out.Best.Steps[0].Args["cmd"])
	require.Empty(t, out.Best.Missing)
	without := asks(97)
	without.Failed = nil
	out = advise(t, h, without)
	require.NotNil(t, out.Best)
	require.NotEmpty(t, out.Best.Missing)
	require.Equal(t, "git merge --allow-unrelated-histories {"+out.Best.Missing[0]+"}", out.Best.Steps[0].Args["cmd"])

	wrong := asks(96)
	wrong.Failed.Tool = ""
	_, err := mneme.Advise(context.Background(), h.Temporal, h.TaskQueue, wrong)
	require.ErrorContains(t, err, "failed.tool")
	// A client that does not check is refused by the workflow.
	run, err := h.Temporal.ExecuteWorkflow(context.Background(), mneme.AdviseStart(h.TaskQueue, wrong),
		api.WorkflowAdvise, wrong)
	require.NoError(t, err)
	_, err = mneme.Outcome[api.AdviseResponse](context.Background(), run)
	require.ErrorContains(t, err, "failed.tool")
}

func statsOf(seen ...bool) (s evidence.Stats) {
	for _, ok := range seen {
		s.Observe("linux", ok, time.Time{})
	}
	return s
}

// A procedure that was put is advised with its own figures and replaces the single repair. Private procedures of
// another agent or user are never advised.
func TestAdviceUsesOnlyVisibleMemories(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	other := p
	other.Agent = "another"
	repairs(t, h, other, 1)
	foreign := putProcedure(t, h, other, "their fix", "their-secret-fix")
	for _, policy := range []schema.ReadPolicy{schema.ReadIsolated, schema.ReadShared} {
		req := asksAbout(p, 3)
		req.ReadPolicy = policy
		out := advise(t, h, req)
		require.Nil(t, out.Best)
		require.Empty(t, out.Others)
	}
	theirs := advise(t, h, asksAbout(other, 3))
	require.Equal(t, foreign, theirs.Best.MemoryID)
	require.Empty(t, theirs.Others, "single repairs are not used")
	_, err := mneme.Report(context.Background(), h.Temporal, h.TaskQueue, reportOn(p, theirs, schema.OutcomeFailure))
	require.ErrorContains(t, err, "advice_id", "advice of another agent")

	mine := putProcedure(t, h, p, "my fix", "my-fix")
	out := advise(t, h, asksAbout(p, 3))
	require.Equal(t, mine, out.Best.MemoryID)
	require.Empty(t, out.Others)
	report := reportOn(p, out, schema.OutcomeSuccess)
	report.Used = foreign
	_, err = mneme.Report(context.Background(), h.Temporal, h.TaskQueue, report)
	require.ErrorContains(t, err, "used")
}

// A report on a procedure that was erased after the advice is not counted and leaves no figures, also if the worker
// stops in between.
func TestAReportAfterAnEraseAndAnotherWorker(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx := context.Background()
	p := testkit.Principal()
	id := putProcedure(t, h, p, "the fix", "the-fix")
	out := advise(t, h, asksAbout(p, 3))
	require.Equal(t, id, out.Best.MemoryID)
	h.StopWorker()
	run, err := mneme.StartReport(ctx, h.Temporal, h.TaskQueue, reportOn(p, out, schema.OutcomeFailure))
	require.NoError(t, err, "a report waits for a worker")
	h.StartWorker(t)
	result, err := mneme.Outcome[api.ReportResult](ctx, run)
	require.NoError(t, err)
	require.Equal(t, []string{id}, result.Changed)

	out = advise(t, h, asksAbout(p, 3))
	forgetNow(t, h, p, id)
	result, err = mneme.Report(ctx, h.Temporal, h.TaskQueue, reportOn(p, out, schema.OutcomeSuccess))
	require.NoError(t, err)
	require.Empty(t, result.Changed)
	require.Nil(t, advise(t, h, asksAbout(p, 3)).Best)
}

func forgetNow(t testing.TB, h *harness.Harness, p schema.Principal, id string) {
	t.Helper()
	run, err := mneme.StartForget(context.Background(), h.Temporal, h.TaskQueue, schema.ForgetRequest{
		Operation: schema.Operation{Principal: p, Reason: "asked"}, Selector: schema.Selector{IDs: []string{id}},
		Execute: true})
	require.NoError(t, err)
	_, err = mneme.Outcome[schema.ForgetReceipt](context.Background(), run)
	require.NoError(t, err)
}

// recordAdvice captures the histories of advice and reports.
func recordAdvice(t *testing.T) {
	h := harness.New(t, nil)
	p := testkit.Principal()
	putProcedure(t, h, p, "the fix", "the-fix")
	ctx := context.Background()
	captured := func(name string, run client.WorkflowRun, err error) {
		require.NoError(t, err)
		_ = run.Get(ctx, nil)
		record(t, h, name, run.GetID(), run.GetRunID())
	}
	run, err := mneme.StartAdvise(ctx, h.Temporal, h.TaskQueue, asksAbout(p, 3))
	captured("advise", run, err)
	var out api.AdviseResponse
	require.NoError(t, run.Get(ctx, &out))
	run, err = mneme.StartReport(ctx, h.Temporal, h.TaskQueue, reportOn(p, out, schema.OutcomeFailure))
	captured("report", run, err)
	unknown := reportOn(p, out, schema.OutcomeFailure)
	unknown.AdviceID = uuid.NewString()
	run, err = mneme.StartReport(ctx, h.Temporal, h.TaskQueue, unknown)
	captured("report-refused", run, err)
}
