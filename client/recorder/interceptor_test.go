package recorder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// plain is an agent without a recorder. It runs sequential and parallel activities, a local activity, a child workflow,
// and an activity that fails.
func plain(ctx workflow.Context) error {
	act := doing(ctx)
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Second})
	var out output
	if err := workflow.ExecuteActivity(act, "shell", command{Line: "one"}).Get(ctx, &out); err != nil {
		return err
	}
	if workflow.ExecuteActivity(act, "shell", command{Line: "two", Fail: true}).Get(ctx, nil) == nil {
		return errors.New("two did not fail")
	}
	var both [2]string
	selector := workflow.NewSelector(ctx)
	for i := range both {
		selector.AddFuture(workflow.ExecuteActivity(act, "secret", "the word", i), func(f workflow.Future) {
			_ = f.Get(ctx, &both[i])
		})
	}
	selector.Select(ctx)
	selector.Select(ctx)
	if err := workflow.ExecuteLocalActivity(local, shell, command{Line: "three"}).Get(ctx, nil); err != nil {
		return err
	}
	var greeting string
	if err := workflow.ExecuteChildWorkflow(ctx, "child", both[0]).Get(ctx, &greeting); err != nil {
		return err
	}
	if greeting != "hello the word" {
		return errors.New(greeting)
	}
	workflow.GetSignalChannel(ctx, "go on").Receive(ctx, nil)
	return workflow.ExecuteActivity(act, "shell", command{Line: "last"}).Get(ctx, nil)
}

// recorded is the same agent with a recorder.
func (d *desk) recorded(ctx workflow.Context) error {
	rec := recorder.Open(ctx, d.options(nil))
	err := plain(ctx)
	rec.Close(ctx, schema.OutcomeSuccess, "")
	return err
}

func (d *desk) everyRun() interceptor.WorkerInterceptor {
	return recorder.Interceptor(recorder.InterceptorOptions{Open: func(info *workflow.Info) *recorder.Options {
		if info.WorkflowType.Name != "agent" {
			return nil
		}
		o := d.options(nil)
		return &o
	}})
}

func (d *desk) goOn(run client.WorkflowRun) error {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	require.NoError(d.t, d.temporal.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), "go on", nil))
	return run.Get(ctx, nil)
}

func (d *desk) history(run client.WorkflowRun) *history.History {
	d.t.Helper()
	out := &history.History{}
	events := d.temporal.GetWorkflowHistory(context.Background(), run.GetID(), run.GetRunID(), false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(d.t, err)
		out.Events = append(out.Events, e)
	}
	return out
}

func replay(t *testing.T, h *history.History, agent any, interceptors ...interceptor.WorkerInterceptor) error {
	t.Helper()
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: interceptors})
	require.NoError(t, err)
	replayer.RegisterWorkflowWithOptions(agent, workflow.RegisterOptions{Name: "agent"})
	return replayer.ReplayWorkflowHistory(nil, h)
}

func calls(events []ledger.Event) (tools []string) {
	for _, e := range events {
		if call, ok := ledger.Payload[ledger.ToolCall](e); ok && e.Kind == ledger.KindToolCalled {
			tools = append(tools, call.Tool)
		}
	}
	return tools
}

// The interceptor records every run of an agent without a recorder from its beginning to its end.
func TestInterceptEveryRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.work(plain, d.everyRun())
	run := d.start("every")
	require.NoError(t, d.goOn(run))
	events := d.events(run.GetID())
	require.Equal(t, []string{"shell", "shell", "secret", "secret", "shell", "child", "shell"}, calls(events))
	require.Equal(t, ledger.KindOutcome, events[len(events)-1].Kind)
	answered := map[string]ledger.ToolResult{}
	for _, e := range events {
		if r, ok := ledger.Payload[ledger.ToolResult](e); ok && e.Kind != ledger.KindToolCalled {
			answered[r.CallID] = r
		}
	}
	var results []string
	for _, e := range events {
		if call, ok := ledger.Payload[ledger.ToolCall](e); ok && e.Kind == ledger.KindToolCalled {
			r := answered[call.CallID]
			results = append(results, string(call.Args)+" "+string(r.Result)+r.Error)
		}
	}
	require.Equal(t, []string{
		`{"line": "one"} {"text": "did one"}`, `{"fail": true, "line": "two"} exit 1: two`,
		`{"arg1": "the word", "arg2": 0} "the word"`, `{"arg1": "the word", "arg2": 1} "the word"`,
		`{"line": "three"} {"text": "did three"}`, `{"value": "the word"} "hello the word"`,
		`{"line": "last"} {"text": "did last"}`}, results)
}

// The result and the error of a run are the same with the interceptor and in the ledger.
func TestInterceptAFailingRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.work(func(workflow.Context) error {
		return temporal.NewNonRetryableApplicationError("the oven is cold; password: hunter2hunter2", "cold", nil)
	}, d.everyRun())
	run, err := d.run("failing")
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, "cold", app.Type())
	events := d.events(run.GetID())
	require.JSONEq(t, `{"outcome":"failure","summary":"[withheld: password]"}`, string(events[0].Payload))
}

// Denied activities are not recorded. Of hidden ones, only the call is recorded.
func TestInterceptLists(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.work(d.recorded, recorder.Interceptor(recorder.InterceptorOptions{Allow: []string{"s*", "child"},
		Deny: []string{"shell"}, Hide: []string{"secret"}}))
	run := d.start("lists")
	require.NoError(t, d.goOn(run))
	events := d.events(run.GetID())
	require.Equal(t, []string{"secret", "secret", "child"}, calls(events))
	for _, e := range events[:4] {
		require.NotContains(t, string(e.Payload), "the word")
	}
}

// A worker with a recorder continues and replays runs of a worker without one. Runs also survive changed options and
// Options.Off.
func TestToggle(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	stop := d.work(plain)
	before := d.start("before")
	done := d.start("done")
	require.NoError(t, d.goOn(done))
	d.reaches(before, "child")
	stop()

	stop = d.work(d.recorded, d.everyRun())
	require.NoError(t, d.goOn(before))
	require.Empty(t, d.events(before.GetID()), "a run that began without the recorder is not recorded")
	for _, with := range [][]interceptor.WorkerInterceptor{nil, {d.everyRun()}} {
		for _, run := range []client.WorkflowRun{before, done} {
			require.NoError(t, replay(t, d.history(run), d.recorded, with...))
		}
	}
	after := d.start("after")
	d.reaches(after, "child")
	stop()

	off := recorder.Options{Off: true}
	changed := func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, off)
		err := plain(ctx)
		rec.Close(ctx, schema.OutcomeSuccess, "")
		return err
	}
	denies := recorder.Interceptor(recorder.InterceptorOptions{Deny: []string{"*"},
		Open: func(*workflow.Info) *recorder.Options { return &off }})
	d.work(changed, denies)
	require.NoError(t, d.goOn(after))
	require.Len(t, calls(d.events(after.GetID())), 7, "the options of a run are fixed at its start")
	require.NoError(t, replay(t, d.history(after), changed, denies))
	fresh := d.start("fresh")
	require.NoError(t, d.goOn(fresh))
	require.Empty(t, d.events(fresh.GetID()))
	require.NoError(t, replay(t, d.history(fresh), d.recorded, d.everyRun()))
}

// reaches waits until a run has recorded that its child completed.
func (d *desk) reaches(run client.WorkflowRun, _ string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		for _, e := range d.history(run).Events {
			if e.EventType == enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED {
				return true
			}
		}
		return false
	}, 2*time.Minute, 50*time.Millisecond)
}

// If a worker is killed between two steps, no event is lost or duplicated.
func TestRecordOnAnotherWorker(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	stop := d.work(d.recorded, recorder.Interceptor(recorder.InterceptorOptions{}))
	run := d.start("another")
	d.reaches(run, "child")
	stop()
	d.work(d.recorded, recorder.Interceptor(recorder.InterceptorOptions{}))
	require.NoError(t, d.goOn(run))
	require.Equal(t, []string{"shell", "shell", "secret", "secret", "shell", "child", "shell"},
		calls(d.events(run.GetID())))
}

// The captured history of a run with recorder and interceptor replays. MNEME_UPDATE_HISTORIES records a missing
// history.
func TestReplay(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "recorded.json")
	intercept := recorder.Interceptor(recorder.InterceptorOptions{})
	if _, err := os.Stat(file); err != nil && os.Getenv("MNEME_UPDATE_HISTORIES") != "" {
		d := newDesk(t)
		d.work(d.recorded, intercept)
		run := d.start("captured")
		require.NoError(t, d.goOn(run))
		encoded, err := protojson.MarshalOptions{Indent: " "}.Marshal(d.history(run))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, append(encoded, '\n'), 0o644))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var captured history.History
	require.NoError(t, protojson.Unmarshal(data, &captured))
	d := &desk{t: t}
	require.NoError(t, replay(t, &captured, d.recorded, intercept))

	// The replay detects differences: without the recorder, the same history does not replay.
	require.Error(t, replay(t, &captured, plain))
}
