package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

func sessionRef(name string) api.SessionRef {
	return api.SessionRef{Principal: testkit.Principal(), Session: name}
}

// thought is an event of a session's agent.
func thought(id string) ledger.Event {
	return ledger.Event{ID: id, Kind: ledger.KindAgentThought, OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Payload: json.RawMessage(fmt.Sprintf(`{"text":"what %s says"}`, id))}
}

func sessionThoughts(prefix string, from, to int) []ledger.Event {
	var out []ledger.Event
	for i := from; i < to; i++ {
		out = append(out, thought(fmt.Sprintf("%s-%06d", prefix, i)))
	}
	return out
}

func stateUpdated(id, summary string) ledger.Event {
	e := thought(id)
	e.Kind, e.Payload = ledger.KindWorkingUpdated, json.RawMessage(fmt.Sprintf(`{"context_summary":%q,"next_actions":["go on"],"state":"executing"}`, summary))
	return e
}

func runEnded(id string) ledger.Event {
	e := thought(id)
	e.Kind, e.Payload = ledger.KindOutcome, json.RawMessage(`{"outcome":"success","summary":"it works"}`)
	return e
}

// requireGapless reads a stream and checks that its sequence numbers have no gaps and each id occurs once. It returns
// the ids in order.
func requireGapless(t testing.TB, h *harness.Harness, ref api.SessionRef) []string {
	t.Helper()
	var ids []string
	for after := int64(0); ; {
		page, err := h.Store.Page(context.Background(), ref.Principal.Tenant, ref.StreamName(), after, 1000)
		require.NoError(t, err)
		if len(page) == 0 {
			sorted := slices.Sorted(slices.Values(ids))
			require.Len(t, slices.Compact(sorted), len(ids), "duplicate event")
			return ids
		}
		for _, e := range page {
			after++
			require.Equal(t, after, e.Seq, "gap in the stream")
			ids = append(ids, e.ID)
		}
	}
}

// Events arrive by update, by signal and through the ledger; the state of the work can be queried, and the session
// closes into one episode when the agent ends it.
func TestSessionAppendsAndCloses(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("build-1")
	out, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref,
			Events: []ledger.Event{thought("a"), stateUpdated("b", "looking at the build")}})
	require.NoError(t, err)
	require.Equal(t, api.AppendResult{LastSeq: 2,
		Appended: []ledger.Appended{{ID: "a", Stream: "run/build-1", Seq: 1, Added: true},
			{ID: "b", Stream: "run/build-1", Seq: 2, Added: true}}}, out)
	again, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("c"), thought("a")}})
	require.NoError(t, err)
	require.Equal(t, []ledger.Appended{{ID: "c", Stream: "run/build-1", Seq: 3, Added: true},
		{ID: "a", Stream: "run/build-1", Seq: 1}}, again.Appended)

	working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
	require.NoError(t, err)
	require.Equal(t, int64(3), working.Seq)
	require.Equal(t, "looking at the build", working.Working.ContextSummary)
	require.Equal(t, schema.TaskExecuting, working.Working.State)

	require.NoError(t, mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("d")}}))
	closed, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
		api.CloseRequest{SessionRef: ref, Outcome: schema.OutcomeFailure, Summary: "it is red"})
	require.NoError(t, err)
	require.Equal(t, "finished", closed.Closed)
	require.Equal(t, schema.OutcomeFailure, closed.Outcome)
	require.Equal(t, 5, closed.Events, "with the event that ends it")
	require.NotEmpty(t, closed.EpisodeID)
	twice, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue, api.CloseRequest{SessionRef: ref})
	require.NoError(t, err)
	require.Equal(t, closed, twice)
	require.Len(t, requireGapless(t, h, ref), 5)

	require.NoError(t, h.Temporal.GetWorkflow(ctx, api.SessionWorkflowID(ref), "").Get(ctx, nil), "it completes")
	_, err = mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("e"), runEnded("f")}})
	require.NoError(t, err)
	var next api.SessionResult
	require.NoError(t, h.Temporal.GetWorkflow(ctx, api.SessionWorkflowID(ref), "").Get(ctx, &next),
		"the agent has ended it")
	require.NotEqual(t, closed.EpisodeID, next.EpisodeID)
	require.Equal(t, []int64{6, 7}, []int64{next.FirstSeq, next.LastSeq})
	require.Equal(t, schema.OutcomeSuccess, next.Outcome)
}

// A session refuses a belief that cites events which its agent cannot see, and names the field.
func TestSessionRefusesABeliefWithoutEvidence(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("beliefs")
	belief := func(id, on string) ledger.Event {
		e := thought(id)
		e.Kind, e.Payload = ledger.KindAgentReflected, json.RawMessage(fmt.Sprintf(`{"belief":"x","based_on":[%q]}`,
			on))
		return e
	}
	var invalid *schema.ValidationError
	_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("a"), belief("b", "unseen")}})
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "events[1].payload.based_on[0]", invalid.Fields[0].Field)
	require.NoError(t, mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{belief("c", "unseen")}}))
	_, err = mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("e"), belief("f", "e")}})
	require.NoError(t, err)
	value, err := h.Temporal.QueryWorkflow(ctx, api.SessionWorkflowID(ref), "", api.QueryProgress)
	require.NoError(t, err)
	var progress api.SessionProgress
	require.NoError(t, value.Get(&progress))
	require.Equal(t, 1, progress.Refused)
	require.Equal(t, []string{"e", "f"}, requireGapless(t, h, ref))

	_, err = mneme.RecordSession(ctx, h.Temporal, h.TaskQueue, api.RecordRequest{SessionRef: sessionRef("whole"),
		Events: []ledger.Event{belief("d", "unseen"), runEnded("end")}})
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "events[0].payload.based_on[0]", invalid.Fields[0].Field)
}

// A whole session is one request and one episode, however often it is delivered.
func TestRecordSession(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	req := api.RecordRequest{SessionRef: sessionRef("whole"),
		Events: append(sessionThoughts("w", 0, 20), runEnded("end"))}
	first, err := mneme.RecordSession(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	require.Equal(t, 21, first.Events)
	second, err := mneme.RecordSession(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Len(t, requireGapless(t, h, req.SessionRef), 21)
	req.Events[3].Kind = "other.kind"
	_, err = mneme.RecordSession(ctx, h.Temporal, h.TaskQueue, req)
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "events[3].id", invalid.Fields[0].Field)
}

// Sixteen writers append to one session at once: the stream has no gap, and each writer's events are in its order.
func TestSixteenWritersAppendToOneSession(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("busy")
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 10 {
				id := fmt.Sprintf("w%02d-%02d", w, i)
				if _, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
					api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought(id)}}); err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
			}
		})
	}
	wg.Wait()
	ids := requireGapless(t, h, ref)
	require.Len(t, ids, 160)
	last := map[string]string{}
	for _, id := range ids {
		require.Greater(t, id, last[id[:3]], "out of order")
		last[id[:3]] = id
	}
}
