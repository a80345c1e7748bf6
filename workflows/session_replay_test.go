package workflows_test

import (
	"context"
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

// recordSessions runs the workflows of these histories: a session that continues as new, with events by update, by
// signal and through the ledger, and is closed; one that is recorded whole; and the erasing of an event.
func recordSessions(t *testing.T) {
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("captured")
	id := api.SessionWorkflowID(ref)
	hand := func(list ...ledger.Event) {
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue, api.AppendRequest{SessionRef: ref, Events: list})
		require.NoError(t, err)
	}
	hand(thought("a"), stateUpdated("b", "looking at the build"))
	first := runOf(t, h.Temporal, id)
	require.NoError(t, mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("c")}}))
	require.NoError(t, mneme.TellSession(ctx, h.Temporal, h.TaskQueue, api.SessionInput{SessionRef: ref}, 3))
	hand(thought("d"))
	require.NoError(t, h.Temporal.SignalWorkflow(ctx, id, "", api.SignalRenew, nil))
	require.Eventually(t, func() bool { return runOf(t, h.Temporal, id) != first }, 2*time.Minute, 50*time.Millisecond)
	hand(thought("e"), runEnded("f"), thought("g"))
	hand(thought("h"))
	_, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
		api.CloseRequest{SessionRef: ref, Outcome: schema.OutcomeSuccess})
	require.NoError(t, err)
	require.NoError(t, h.Temporal.GetWorkflow(ctx, id, "").Get(ctx, nil))
	record(t, h, "session-continued", id, first)
	record(t, h, "session-continues", id, runOf(t, h.Temporal, id))

	whole := api.RecordRequest{SessionRef: sessionRef("whole"),
		Events: append(sessionThoughts("w", 0, 3), runEnded("end"))}
	_, err = mneme.RecordSession(ctx, h.Temporal, h.TaskQueue, whole)
	require.NoError(t, err)
	id = api.RecordWorkflowID(whole.SessionRef)
	record(t, h, "session-recorded", id, runOf(t, h.Temporal, id))

	erase := api.EraseEventsRequest{Tenant: ref.Principal.Tenant, IDs: []string{"a"}}
	_, err = mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue, erase)
	require.NoError(t, err)
	id = api.EraseEventsWorkflowID(erase)
	record(t, h, "erase-events", id, runOf(t, h.Temporal, id))
	recordErasedAndRebuilt(t, h, ref)
}

// recordErasedAll runs the workflow that erases all events of a user.
func recordErasedAll(t *testing.T, h *harness.Harness) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	erase := newTalks(t, h).request()
	_, err := mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue, erase)
	require.NoError(t, err)
	id := api.EraseEventsWorkflowID(erase)
	record(t, h, "erase-events-all", id, runOf(t, h.Temporal, id)) // of a worker that passed over the events once
	record(t, h, "erase-events-all-again", id, runOf(t, h.Temporal, id))
}

// recordErasedAndRebuilt runs the workflows of these histories: erasing an event that no session had, and a rebuild
// that compares and restores what was lost.
func recordErasedAndRebuilt(t *testing.T, h *harness.Harness, ref api.SessionRef) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	lone := says("lone", ref.Principal.Agent, ledger.KindAgentThought, "on a stream without a session")
	appendEvents(t, h.Store, ref.Principal, lone)
	erase := api.EraseEventsRequest{Tenant: ref.Principal.Tenant, IDs: []string{lone.ID}}
	_, err := mneme.EraseEvents(ctx, h.Temporal, h.TaskQueue, erase)
	require.NoError(t, err)
	id := api.EraseEventsWorkflowID(erase)
	record(t, h, "erase-events-shown", id, runOf(t, h.Temporal, id))
	recordErasedAll(t, h)

	whole := api.RecordRequest{SessionRef: sessionRef("lost"),
		Events: append(sessionThoughts("l", 0, 3), runEnded("lost end"))}
	closed, err := mneme.RecordSession(ctx, h.Temporal, h.TaskQueue, whole)
	require.NoError(t, err)
	_, err = testkit.Owner(t, h.DatabaseURL).Exec(ctx, `DELETE FROM memories WHERE id = $1`, closed.EpisodeID)
	require.NoError(t, err)
	in := api.RebuildRequest{Tenant: whole.Principal.Tenant}
	run, err := mneme.StartRebuild(ctx, h.Temporal, h.TaskQueue, in)
	require.NoError(t, err)
	var out api.RebuildResult
	require.NoError(t, run.Get(ctx, &out))
	require.Equal(t, 1, out.Rebuilt)
	id = api.RebuildWorkflowID(in)
	record(t, h, "rebuild", id, runOf(t, h.Temporal, id))
}

// The histories of a session contain each event once: it is in the update or the signal that delivered it, and a
// continued run gets only sequence numbers.
func TestSessionHistoriesHoldEventsOnce(t *testing.T) {
	continued, continues := capturedHistory(t, "session-continued"), capturedHistory(t, "session-continues")
	holding := 0
	for _, e := range continued.Events {
		if bares(t, e, "what d says") {
			holding++
		}
	}
	require.Equal(t, 1, holding)
	require.False(t, bares(t, continues.Events[0], "says"), "the input of a run has no content")
}
