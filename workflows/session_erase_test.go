package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows"
)

// carrying lists the runs of a tenant's sessions whose histories contain a text.
func carrying(t testing.TB, c client.Client, ref api.SessionRef, text string) (out []string) {
	t.Helper()
	ctx := context.Background()
	for _, id := range []string{api.SessionWorkflowID(ref), api.RecordWorkflowID(ref)} {
		listed, err := c.ListWorkflow(ctx,
			&workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", id)})
		require.NoError(t, err)
		for _, e := range listed.GetExecutions() {
			history := c.GetWorkflowHistory(ctx, id, e.GetExecution().GetRunId(), false, 0)
			for history.HasNext() {
				event, err := history.Next()
				if err != nil {
					break // deleted since it was listed
				}
				if bares(t, event, text) {
					out = append(out, id+" "+e.GetExecution().GetRunId()+" "+event.GetEventType().String())
				}
			}
		}
	}
	return out
}

func canaryEvent(id, text string) ledger.Event {
	e := stateUpdated(id, text)
	e.Payload, _ = json.Marshal(map[string]any{"context_summary": text, "state": "executing"})
	return e
}

// After an event is erased, no history of its session contains it, whether the session is open or closed; the state of
// the work is recomputed without it, and the session continues.
func TestErasedEventsAreInNoHistory(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	open, over := sessionRef("open"), sessionRef("over")
	over.Principal = open.Principal
	const text = "the canary sings at dawn"
	hand := func(ref api.SessionRef, e ledger.Event) {
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
			api.AppendRequest{SessionRef: ref, Events: []ledger.Event{e}})
		require.NoError(t, err)
	}
	hand(open, stateUpdated("o1", "before"))
	hand(open, canaryEvent("o2", text))
	hand(over, canaryEvent("c1", text))
	require.NoError(t, mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: over, Events: []ledger.Event{canaryEvent("c2", text)}}))
	closed, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
		api.CloseRequest{SessionRef: over, Outcome: schema.OutcomeSuccess})
	require.NoError(t, err)
	require.NoError(t, testkit.Eventually(ctx, func() error {
		if len(carrying(t, h.Temporal, open, text)) == 0 || len(carrying(t, h.Temporal, over, text)) == 0 {
			return fmt.Errorf("not listed yet")
		}
		return nil
	}))

	out, err := mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue,
		api.EraseEventsRequest{Tenant: open.Principal.Tenant, IDs: []string{"o2", "c1", "c2"}})
	require.NoError(t, err)
	require.Equal(t, 3, out.Erased)
	require.Equal(t, 2, out.Sessions)
	require.GreaterOrEqual(t, out.Runs, 2)
	require.Equal(t, []string{closed.EpisodeID}, out.Episodes, "it contains the events, and is erased on its own")
	require.NoError(t, testkit.Eventually(ctx, func() error {
		if found := append(carrying(t, h.Temporal, open, text),
			carrying(t, h.Temporal, over, text)...); len(found) > 0 {
			return fmt.Errorf("still carried: %v", found)
		}
		return nil
	}))
	holding := func() []string {
		return testkit.Strings(t, testkit.Owner(t, h.DatabaseURL), `
			SELECT id::text FROM memories WHERE payload::text LIKE '%canary sings%' OR content LIKE '%canary sings%'`)
	}
	require.Equal(t, []string{closed.EpisodeID}, holding())
	everywhere := api.EraseEventsRequest{Tenant: open.Principal.Tenant, IDs: []string{"c1"}, Everywhere: true}
	_, err = mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue, everywhere)
	require.ErrorContains(t, err, "reason")
	everywhere.Actor, everywhere.Reason = "person:mia", "asked for"
	out, err = mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue, everywhere)
	require.NoError(t, err)
	require.Len(t, out.Receipts, 1)
	require.Equal(t, []string{closed.EpisodeID}, out.Receipts[0].IDs)
	require.Empty(t, out.Episodes)
	require.Empty(t, holding())
	hand(open, thought("o3"))
	working, err := mneme.SessionWorking(ctx, h.Temporal, open)
	require.NoError(t, err)
	require.Equal(t, int64(3), working.Seq)
	require.Equal(t, "before", working.Working.ContextSummary, "as if it had never been said")
}

// After an event is erased, no run of Context that showed it is left, even if no session had the event. The sweep of
// the hosted index is retried until it succeeds.
func TestErasedEventsAreInNoContext(t *testing.T) {
	t.Parallel()
	var sweeps []string
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.SweepMemoryIndex = func(_ context.Context, tenant string) (int, error) {
			if sweeps = append(sweeps, tenant); len(sweeps) == 1 {
				return 0, errors.New("the service answered 503")
			}
			return 7, nil
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	p := testkit.Principal()
	const text = "the third canary sings at dusk"
	e := canaryEvent("a", text)
	e.Stream, e.Agent, e.Kind, e.Payload = "world/cage", p.Agent, ledger.KindWorldObserved, json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))
	appendEvents(t, h.Store, p, e)
	req := ledger.ContextRequest{Principal: p, Streams: []string{"world/cage"}}
	run, err := mneme.StartContext(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	var shown ledger.ContextResponse
	require.NoError(t, run.Get(ctx, &shown))
	gone := func() error {
		_, err := h.Temporal.DescribeWorkflowExecution(ctx, run.GetID(), "")
		if err == nil {
			return errors.New("the run is there")
		}
		return nil
	}
	require.Error(t, gone())
	require.NoError(t, testkit.Eventually(ctx, func() error {
		listed, err := h.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Completed'", run.GetID())})
		if err == nil && len(listed.GetExecutions()) == 0 {
			err = errors.New("not listed yet")
		}
		return err
	}))
	out, err := mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue,
		api.EraseEventsRequest{Tenant: p.Tenant, IDs: []string{"z", "y", "z"}})
	require.NoError(t, err)
	require.Equal(t, api.EraseEventsResult{Unknown: []string{"y", "z"}}, out)
	require.Empty(t, sweeps, "there is nothing to erase")
	require.Error(t, gone(), "so the runs that read stay")
	out, err = mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue,
		api.EraseEventsRequest{Tenant: p.Tenant, IDs: []string{"a", "z"}})
	require.NoError(t, err)
	require.Equal(t, 1, out.Erased)
	require.Equal(t, []string{"z"}, out.Unknown)
	require.Zero(t, out.Sessions)
	require.Equal(t, 7, out.Indexed)
	require.Equal(t, []string{p.Tenant, p.Tenant}, sweeps)
	require.NoError(t, testkit.Eventually(ctx, gone))
}

// After the episode of a session is erased, no history of the session contains its content, and the session continues.
func TestErasedEpisodeIsInNoHistory(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("told")
	const text = "the second canary sings at noon"
	_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{canaryEvent("a", text), runEnded("b"), thought("c")}})
	require.NoError(t, err)
	var episode string
	require.NoError(t, testkit.Eventually(ctx, func() error {
		found := testkit.Strings(t, testkit.Owner(t, h.DatabaseURL), `SELECT memory_id::text FROM session_episodes`)
		if len(found) == 0 || len(carrying(t, h.Temporal, ref, text)) == 0 {
			return fmt.Errorf("not closed yet")
		}
		episode = found[0]
		return nil
	}))
	req := forgetRequest(ref.Principal, schema.ForgetErase, schema.Selector{IDs: []string{episode}})
	run, preview := startForget(t, h, req)
	confirmForget(t, h, ref.Principal, preview)
	receipt := receiptOf(t, run)
	require.Equal(t, 1, receipt.Forgotten)
	require.Empty(t, receipt.Pending)
	require.NoError(t, testkit.Eventually(ctx, func() error {
		if found := carrying(t, h.Temporal, ref, text); len(found) > 0 {
			return fmt.Errorf("still carried: %v", found)
		}
		return nil
	}))
	_, err = mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("d")}})
	require.NoError(t, err)
	working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
	require.NoError(t, err)
	require.Equal(t, int64(4), working.Seq)
}
