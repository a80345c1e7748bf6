package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema/ledger"
)

// appendTwice is another program's workflow that appends events with Mneme's activity, the last of them twice.
func appendTwice(ctx workflow.Context, taskQueue string, req api.AppendRequest) (out [2]api.AppendResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: taskQueue,
		StartToCloseTimeout: 30 * time.Second})
	for i := range out {
		if err := workflow.ExecuteActivity(ctx, api.ActivityAppendEvents, req).Get(ctx, &out[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// A workflow on another worker appends with the activity AppendEvents: the events are in the ledger once, the session
// is started with them, and it closes.
func TestAnotherWorkflowAppendsByActivity(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	w := worker.New(h.Temporal, h.TaskQueue+"-others", worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterWorkflow(appendTwice)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	ref := sessionRef("others")
	run := func(events ...ledger.Event) (out [2]api.AppendResult, err error) {
		started, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: h.TaskQueue + "-others"},
			appendTwice,
			h.TaskQueue, api.AppendRequest{SessionRef: ref, Events: events})
		require.NoError(t, err)
		err = started.Get(ctx, &out)
		return out, err
	}
	out, err := run(thought("a"), stateUpdated("b", "by another workflow"))
	require.NoError(t, err)
	require.Equal(t, api.AppendResult{LastSeq: 2,
		Appended: []ledger.Appended{{ID: "a", Stream: "run/others", Seq: 1, Added: true},
			{ID: "b", Stream: "run/others", Seq: 2, Added: true}}}, out[0])
	require.Equal(t, int64(2), out[1].LastSeq)
	require.False(t, out[1].Appended[0].Added)
	require.Eventually(t, func() bool {
		working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
		return err == nil && working.Seq == 2 && working.Working.ContextSummary == "by another workflow"
	}, 20*time.Second, 50*time.Millisecond, "the session is signalled")

	malformed := thought("c")
	malformed.Kind = "Not A Kind"
	_, err = run(malformed)
	require.ErrorContains(t, err, "events[0].kind")

	_, err = run(runEnded("d"))
	require.NoError(t, err)
	var closed api.SessionResult
	require.NoError(t, h.Temporal.GetWorkflow(ctx, api.SessionWorkflowID(ref), "").Get(ctx, &closed))
	require.Equal(t, 3, closed.Events)
	require.Equal(t, []string{"a", "b", "d"}, requireGapless(t, h, ref))

	// A second announcement of stored events starts a run that answers with the same episode and completes.
	_, err = run(runEnded("d"))
	require.NoError(t, err)
	var again api.SessionResult
	require.NoError(t, h.Temporal.GetWorkflow(ctx, api.SessionWorkflowID(ref), "").Get(ctx, &again))
	require.Equal(t, closed, again)
}

// A session starts the reflection of its agent when the agent has seen as many events as the threshold, and not before.
func TestSessionStartsReflection(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("reflecting")
	settings := api.SessionSettings{ReflectionThreshold: 4}
	decided := thought("decided")
	decided.Payload = []byte(`{"text":"From now on I read the log first."}`)
	hand := func(events ...ledger.Event) {
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
			api.AppendRequest{SessionRef: ref, Settings: settings, Events: events})
		require.NoError(t, err)
	}
	hand(thought("a"), decided, thought("b"))
	id := api.ReflectWorkflowID(ref.Principal, ref.StreamName())
	_, err := h.Temporal.DescribeWorkflowExecution(ctx, id, "")
	require.Error(t, err, "three events are not enough")
	hand(thought("c"))
	var out api.ReflectResult
	require.Eventually(t, func() bool { return h.Temporal.GetWorkflow(ctx, id, "").Get(ctx, &out) == nil },
		20*time.Second, 50*time.Millisecond)
	require.Equal(t, 1, out.Beliefs)
	require.Equal(t, 4, out.Covers)
	page, err := h.Store.Page(ctx, ref.Principal.Tenant, ref.StreamName(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, ledger.KindAgentReflected, page[4].Kind)
}
